//! Tests of list pages and watch events in JSON.

use std::sync::Arc;

use bytes::Bytes;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::core::{DynamicObject, PartialObjectMeta};
use serde_json::{Value, json};

use crate::error::{Error, ErrorChain};
use crate::object::Kind;
use crate::pipeline::wire::events::json_event;
use crate::pipeline::wire::expected::ExpectedKind;
use crate::pipeline::wire::pages::JsonPage;
use crate::pipeline::wire::{Limits, ListPart, RawObject, WatchEvent};

/// Parses all parts of a page, or returns the first error. Objects are decoded as by a cache.
fn parts_of<K: Kind>(body: &[u8], expected: &Arc<ExpectedKind>) -> Result<Vec<ListPart<K>>, Error> {
    let mut page = JsonPage::new(Arc::clone(expected), Limits::default());
    page.push(Bytes::copy_from_slice(body));
    let mut parts = Vec::new();
    while let Some(item) = page.item()? {
        parts.push(ListPart::Object(decoded(item)?));
    }
    parts.push(page.end()?);
    Ok(parts)
}

fn decoded<K: Kind>(item: RawObject<K>) -> Result<RawObject<K>, Error> {
    let (_, _, object) = item.into_parts()?;
    RawObject::decoded(object)
}

fn parts<K: Kind<DynamicType = ()>>(body: &[u8]) -> Result<Vec<ListPart<K>>, Error> {
    parts_of(body, &Arc::new(ExpectedKind::of::<K>(&())))
}

/// Formats a page: its objects, then its version and token; or the first error.
fn page(body: &Value) -> Result<Vec<String>, String> {
    page_text(body.to_string().as_bytes())
}

fn page_text(body: &[u8]) -> Result<Vec<String>, String> {
    let parts = parts::<Pod>(body);
    let words = |part| match part {
        ListPart::Object(item) => format!("{}@{}", item.key(), item.version()),
        ListPart::Progress => "arriving".to_owned(),
        ListPart::End {
            version,
            continue_token,
        } => format!("end at {version}, {continue_token:?}"),
    };
    match parts {
        Ok(parts) => Ok(parts.into_iter().map(words).collect()),
        Err(error) => {
            assert!(error.is_bad_data());
            Err(ErrorChain(&error).to_string())
        }
    }
}

fn pods(metadata: &Value, items: &Value) -> Value {
    json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"namespace": "shop", "name": name, "resourceVersion": "7"}})
}

#[test]
fn a_page_consists_of_its_items_and_its_end() {
    let body = pods(&json!({"resourceVersion": "10"}), &json!([pod("a"), pod("b")]));
    assert_eq!(
        page(&body).expect("good"),
        ["shop/a@7", "shop/b@7", "end at 10, None"]
    );
    let more = pods(
        &json!({"resourceVersion": "10", "continue": "t1"}),
        &json!([pod("a")]),
    );
    assert_eq!(
        page(&more).expect("good"),
        ["shop/a@7", "end at 10, Some(\"t1\")"]
    );
    let last = pods(&json!({"resourceVersion": "10", "continue": ""}), &json!([]));
    assert_eq!(page(&last).expect("good"), ["end at 10, None"]);
}

#[test]
fn null_items_are_an_empty_list() {
    let body = pods(&json!({"resourceVersion": "10"}), &Value::Null);
    assert_eq!(page(&body).expect("good"), ["end at 10, None"]);
}

#[test]
fn missing_items_are_not_an_empty_list() {
    let body = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "10"}});
    assert!(
        page(&body)
            .expect_err("it would empty the cache")
            .contains("invalid list: `items` is missing")
    );
}

#[test]
fn a_page_without_a_version_is_rejected() {
    for metadata in [
        json!({}),
        json!({"resourceVersion": ""}),
        json!({"resourceVersion": null}),
        json!({"resourceVersion": "0"}),
    ] {
        let error = page(&pods(&metadata, &json!([]))).expect_err("no version");
        assert!(
            error.contains("invalid list: `metadata.resourceVersion` is missing"),
            "{error}"
        );
    }
    let no_metadata = json!({"kind": "PodList", "apiVersion": "v1", "items": []});
    let error = page(&no_metadata).expect_err("no metadata");
    assert!(
        error.contains("invalid list: `metadata.resourceVersion` is missing"),
        "{error}"
    );
}

#[test]
fn a_list_of_another_kind_is_rejected() {
    let rows = [
        (
            "v1",
            "ServiceList",
            "unexpected v1 ServiceList: expected v1 PodList",
        ),
        (
            "apps/v1",
            "PodList",
            "unexpected apps/v1 PodList: expected v1 PodList",
        ),
        ("v1", "Pod", "unexpected v1 Pod: expected v1 PodList"),
        ("v1", "Status", "unexpected v1 Status: expected v1 PodList"),
        ("v1", "List", "unexpected v1 List: expected v1 PodList"),
        (
            "meta.k8s.io/v1",
            "Table",
            "unexpected meta.k8s.io Table: expected objects",
        ),
        (
            "meta.k8s.io/v1beta1",
            "Table",
            "unexpected meta.k8s.io Table: expected objects",
        ),
    ];
    for (api_version, kind, expected) in rows {
        let metadata = json!({"resourceVersion": "10"});
        let with = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": []});
        let without = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "rows": []});
        for body in [with, without] {
            let error = page(&body).expect_err(kind);
            assert!(error.ends_with(expected), "{error}");
        }
    }
}

#[test]
fn a_page_may_omit_its_type() {
    let body = json!({"metadata": {"resourceVersion": "10"}, "items": [pod("a")]});
    assert_eq!(page(&body).expect("good"), ["shop/a@7", "end at 10, None"]);
}

#[test]
fn errors_of_invalid_items_contain_the_item() {
    let bad = |metadata: Value| json!({ "metadata": metadata });
    let rows = [
        (
            json!({"metadata": {"namespace": "shop", "name": "cart", "resourceVersion": "7"}, "spec": {"containers": 5}}),
            "cannot decode shop/cart",
        ),
        (
            json!({"metadata": {"name": "cart", "resourceVersion": "7", "labels": ["a"]}}),
            "cannot decode cart",
        ),
        (
            json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "cart"}}),
            "unexpected v1 Service: expected v1 Pod",
        ),
        (
            bad(json!({"resourceVersion": "7"})),
            "invalid object: `metadata.name` is missing",
        ),
        (
            bad(json!({"name": "", "resourceVersion": "7"})),
            "invalid object: `metadata.name` is missing",
        ),
        (
            bad(json!({"namespace": "shop", "name": "cart"})),
            "invalid object shop/cart: `metadata.resourceVersion` is missing",
        ),
        (
            bad(json!({"namespace": "shop", "name": "cart", "resourceVersion": "0"})),
            "invalid object shop/cart: `metadata.resourceVersion` is missing or zero",
        ),
        (json!(null), "invalid Kubernetes object"),
        (json!(5), "invalid Kubernetes object"),
    ];
    for (item, expected) in rows {
        let body = pods(&json!({"resourceVersion": "10"}), &json!([pod("good"), item]));
        let error = page(&body).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_truncated_page_is_rejected_wherever_it_ends() {
    let body = pods(&json!({"resourceVersion": "10"}), &json!([pod("a"), pod("b")])).to_string();
    for end in 0..body.len() {
        let error = page_text(&body.as_bytes()[..end]).expect_err("half a page");
        assert!(error.contains("invalid JSON list"), "{end}: {error}");
    }
    for rubbish in ["<html>", "[]", "\"text\"", "{\"items\": 5}", "\u{0}\u{1}"] {
        page_text(rubbish.as_bytes()).expect_err("rubbish");
    }
}

#[test]
fn metadata_lists_have_their_own_kind() {
    let list = |kind: &str| {
        json!({"kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "10"}, "items": [
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
             "metadata": {"name": "a", "resourceVersion": "7"}}]})
        .to_string()
    };
    let found = parts::<PartialObjectMeta<ConfigMap>>(list("PartialObjectMetadataList").as_bytes());
    assert_eq!(found.expect("good").len(), 2);
    parts::<PartialObjectMeta<ConfigMap>>(list("ConfigMapList").as_bytes()).expect_err("another kind");
}

/// Parses an event of a watch and decodes its object as by a cache.
fn pod_event(line: &[u8]) -> Result<WatchEvent<Pod>, Error> {
    let line = Bytes::copy_from_slice(line);
    Ok(match json_event::<Pod>(&line, &ExpectedKind::of::<Pod>(&()))? {
        WatchEvent::Added(item) => WatchEvent::Added(decoded(item)?),
        WatchEvent::Modified(item) => WatchEvent::Modified(decoded(item)?),
        WatchEvent::Deleted(item) => WatchEvent::Deleted(decoded(item)?),
        other => other,
    })
}

/// Formats an event of a watch, or its error.
fn event(body: &Value) -> Result<String, String> {
    event_text(body.to_string().as_bytes())
}

fn event_text(line: &[u8]) -> Result<String, String> {
    match pod_event(line) {
        Ok(WatchEvent::Added(item)) => Ok(format!("added {}@{}", item.key(), item.version())),
        Ok(WatchEvent::Modified(item)) => Ok(format!("modified {}@{}", item.key(), item.version())),
        Ok(WatchEvent::Deleted(item)) => Ok(format!("deleted {}@{}", item.key(), item.version())),
        Ok(WatchEvent::Bookmark {
            version,
            initial_events_end,
        }) => Ok(format!("bookmark {version} {initial_events_end}")),
        Ok(WatchEvent::Failure(status)) => Ok(format!("failure {} {}", status.code, status.reason)),
        Err(error) => {
            assert!(error.is_bad_data());
            Err(ErrorChain(&error).to_string())
        }
    }
}

fn whole_pod() -> Value {
    json!({"kind": "Pod", "apiVersion": "v1",
           "metadata": {"namespace": "shop", "name": "cart", "resourceVersion": "7"}})
}

#[test]
fn events_of_each_kind_are_read() {
    let of = |kind: &str| json!({"type": kind, "object": whole_pod()});
    assert_eq!(event(&of("ADDED")).expect("good"), "added shop/cart@7");
    assert_eq!(event(&of("MODIFIED")).expect("good"), "modified shop/cart@7");
    assert_eq!(event(&of("DELETED")).expect("good"), "deleted shop/cart@7");
    let failure = json!({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "message": "too old", "reason": "Expired", "code": 410}});
    assert_eq!(event(&failure).expect("good"), "failure 410 Expired");
}

#[test]
fn only_the_word_true_ends_the_initial_events() {
    let of = |metadata: Value| {
        event(
            &json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}}),
        )
    };
    assert_eq!(
        of(json!({"resourceVersion": "9"})).expect("good"),
        "bookmark 9 false"
    );
    for (value, ends) in [
        ("true", true),
        ("false", false),
        ("True", false),
        ("1", false),
        ("", false),
    ] {
        let annotated = json!({"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": value}});
        assert_eq!(of(annotated).expect("good"), format!("bookmark 9 {ends}"));
    }
    for missing in [
        json!({}),
        json!({"resourceVersion": ""}),
        json!({"resourceVersion": "0"}),
    ] {
        let error = of(missing).expect_err("no version");
        assert!(
            error.contains("invalid bookmark: `metadata.resourceVersion` is missing"),
            "{error}"
        );
    }
    let error = event(&json!({"type": "BOOKMARK", "object": {"kind": "Pod"}})).expect_err("no metadata");
    assert!(error.contains("invalid bookmark metadata"), "{error}");
}

#[test]
fn errors_of_invalid_events_contain_the_reason() {
    let with = |object: Value| json!({"type": "ADDED", "object": object});
    let rows = [
        (
            with(
                json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a", "resourceVersion": "1"}}),
            ),
            "unexpected v1 Service: expected v1 Pod",
        ),
        (
            with(
                json!({"kind": "Pod", "apiVersion": "v2", "metadata": {"name": "a", "resourceVersion": "1"}}),
            ),
            "unexpected v2 Pod: expected v1 Pod",
        ),
        (
            with(json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []})),
            "unexpected meta.k8s.io Table",
        ),
        (
            with(json!({"kind": "Pod", "apiVersion": "v1"})),
            "`object.metadata` is missing",
        ),
        (
            with(json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}})),
            "invalid object: `metadata.name` is missing",
        ),
        (
            with(json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}})),
            "invalid object a: `metadata.resourceVersion` is missing",
        ),
        (
            with(json!({"kind": "Pod", "apiVersion": "v1", "spec": 5,
                        "metadata": {"namespace": "shop", "name": "a", "resourceVersion": "1"}})),
            "cannot decode shop/a",
        ),
        (with(json!("text")), "invalid object in watch event"),
        (with(Value::Null), "invalid object in watch event"),
        (
            json!({"type": "RENAMED", "object": whole_pod()}),
            "unknown watch event type \"RENAMED\"",
        ),
        (json!({"type": "ADDED"}), "invalid JSON watch event"),
        (json!({"object": whole_pod()}), "invalid JSON watch event"),
        (
            json!({"type": "ERROR", "object": "down"}),
            "invalid Status in watch event of type ERROR",
        ),
    ];
    for (body, expected) in rows {
        let error = event(&body).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_truncated_event_is_rejected_wherever_it_ends() {
    let line = json!({"type": "ADDED", "object": whole_pod()}).to_string();
    for end in 0..line.len() {
        event_text(&line.as_bytes()[..end]).expect_err("half an event");
    }
}

#[test]
fn dynamic_objects_are_checked_against_the_requested_kind() {
    let gvk = kube::core::GroupVersionKind::gvk("example.com", "v1", "Widget");
    let resource = kube::core::ApiResource::from_gvk(&gvk);
    let expected = ExpectedKind::of::<DynamicObject>(&resource);
    let of = |kind: &str| {
        json!({"type": "ADDED", "object": {"kind": kind, "apiVersion": "example.com/v1",
               "metadata": {"name": "a", "resourceVersion": "1"}}})
        .to_string()
    };
    json_event::<DynamicObject>(&of("Widget").into(), &expected).expect("good");
    let error = json_event::<DynamicObject>(&of("Gadget").into(), &expected).expect_err("another kind");
    assert!(
        error
            .to_string()
            .contains("unexpected example.com/v1 Gadget: expected example.com/v1 Widget")
    );
}

/// The author of a custom resource may choose the name of its lists; then the items have a type.
#[test]
fn a_list_of_custom_resources_may_have_any_list_kind() {
    let expected = Arc::new(ExpectedKind {
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
    });
    let read = |kind: &str, item: &str| {
        let object = json!({"apiVersion": "example.com/v1", "kind": item,
            "metadata": {"name": "a", "resourceVersion": "1"}});
        let list = json!({"apiVersion": "example.com/v1", "kind": kind,
            "metadata": {"resourceVersion": "2"}, "items": [object]});
        parts_of::<DynamicObject>(list.to_string().as_bytes(), &expected)
    };
    assert!(read("WidgetList", "Widget").is_ok_and(|parts| parts.len() == 2));
    assert!(read("Workshop", "Widget").is_ok_and(|parts| parts.len() == 2));
    for (kind, item) in [
        ("Workshop", "Gadget"),
        ("Workshop", ""),
        ("Table", "Widget"),
        ("Widget", "Widget"),
    ] {
        assert!(
            read(kind, item).is_err_and(|error| error.is_bad_data()),
            "{kind} of {item}"
        );
    }
}
