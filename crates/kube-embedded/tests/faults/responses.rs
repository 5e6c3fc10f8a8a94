//! Faults of all responses: dropped, delayed, failed, cut, invalid, of another kind.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube_embedded::{Fault, On};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::wire::{Answer, MAPS, Transport, Wire, put, server_with_objects, soon};

#[tokio::test]
async fn drop_sends_no_response() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        let rule = server.faults().add(On::list("configmaps").once(), Fault::Drop);
        let mut wire = Wire::connect(&server, transport).await;
        let refused = wire.send(Method::GET, MAPS, &[], "").await;
        assert!(refused.is_err(), "{transport:?}: {refused:?}");
        assert_eq!(rule.hits(), 1);
        let dropped = server.requests().pop().expect("a request");
        assert_eq!(
            (dropped.status, dropped.faults.clone()),
            (None, vec!["Drop".to_owned()])
        );
        let mut again = Wire::connect(&server, transport).await;
        assert_eq!(again.get(MAPS).await.names(), ["a", "b", "c"], "{transport:?}");
    }
}

#[tokio::test]
async fn over_http2_drop_resets_only_its_stream() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Https2).await;
    let mut watch = wire
        .watch(&crate::wire::watch_from(server.resource_version()))
        .await;
    server.faults().add(On::list("configmaps").once(), Fault::Drop);
    assert!(wire.send(Method::GET, MAPS, &[], "").await.is_err());
    put(&server, "d", "1");
    assert_eq!(watch.expect().await, "ADDED d");
    assert_eq!(wire.get(MAPS).await.names().len(), 4);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn failures_have_their_code_and_status() {
    let server = server_with_objects().await;
    let own = Fault::Fail {
        code: 418,
        reason: "Teapot",
        message: "short and stout".into(),
        retry_after: None,
    };
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        for (fault, code, reason, retry_after) in [
            (Fault::unauthorized(), 401, "Unauthorized", None),
            (Fault::forbidden(), 403, "Forbidden", None),
            (Fault::not_found(), 404, "NotFound", None),
            (Fault::conflict(), 409, "Conflict", None),
            (Fault::expired(), 410, "Expired", None),
            (Fault::too_many_requests(7), 429, "TooManyRequests", Some("7")),
            (Fault::internal_error(), 500, "InternalError", None),
            (Fault::unavailable(), 503, "ServiceUnavailable", None),
            (own.clone(), 418, "Teapot", None),
        ] {
            let rule = server.faults().add(On::resource("configmaps").once(), fault);
            let answer = wire.get(MAPS).await;
            assert_eq!(answer.failure(), (code, reason.to_owned()), "{transport:?}");
            let header = answer
                .headers
                .get("retry-after")
                .map(|h| h.to_str().expect("a header"));
            assert_eq!(header, retry_after, "{reason}");
            let seconds = retry_after.map_or(Value::Null, |s| json!(s.parse::<u32>().expect("seconds")));
            assert_eq!(answer.json()["details"]["retryAfterSeconds"], seconds);
            assert_eq!(rule.hits(), 1);
            let seen = server.requests().pop().expect("a request");
            assert_eq!((seen.status, seen.faults.len()), (Some(code), 1));
        }
        assert_eq!(wire.get(MAPS).await.code, 200);
    }
}

#[tokio::test]
async fn a_failing_write_writes_nothing() {
    let server = server_with_objects().await;
    let before = server.resource_version();
    server.faults().add(On::write("configmaps"), Fault::unavailable());
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let object = json!({ "metadata": { "name": "d" } }).to_string();
    assert_eq!(wire.request_json(Method::POST, MAPS, object).await.code, 503);
    assert_eq!(
        wire.request_json(Method::DELETE, &format!("{MAPS}/a"), "")
            .await
            .code,
        503
    );
    assert_eq!(wire.request_json(Method::DELETE, MAPS, "").await.code, 503);
    assert_eq!(wire.get(MAPS).await.names(), ["a", "b", "c"]);
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn any_version_is_too_large() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::list("configmaps").once(), Fault::TooLargeVersion);
    let mut wire = Wire::connect(&server, Transport::Http2).await;
    let answer = wire.get(MAPS).await;
    assert_eq!(answer.failure(), (504, "Timeout".into()));
    assert_eq!(
        answer.json()["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn a_response_is_cut_after_some_bytes() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        let whole = Wire::connect(&server, transport).await.get(MAPS).await;
        for limit in [1, 100, whole.bytes.len() - 1] {
            server
                .faults()
                .add(On::list("configmaps").once(), Fault::CutAfterBytes(limit));
            let answer = Wire::connect(&server, transport).await.get(MAPS).await;
            assert!(!answer.whole, "{transport:?} {limit}");
            assert_eq!(answer.bytes, whole.bytes.slice(..limit), "{transport:?} {limit}");
        }
        server.faults().add(
            On::list("configmaps").once(),
            Fault::CutAfterBytes(whole.bytes.len() + 1),
        );
        assert_eq!(
            Wire::connect(&server, transport).await.get(MAPS).await.json(),
            whole.json(),
            "{transport:?}"
        );
    }
}

#[tokio::test]
async fn a_response_can_be_cut_before_its_first_byte() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        server
            .faults()
            .add(On::list("configmaps").once(), Fault::CutAfterBytes(0));
        let mut wire = Wire::connect(&server, transport).await;
        let answer = Answer::read(wire.send(Method::GET, MAPS, &[], "").await.expect("a head")).await;
        assert_eq!(
            (answer.code, answer.whole, answer.bytes.len()),
            (200, false, 0),
            "{transport:?}"
        );
    }
}

#[tokio::test]
async fn a_long_response_is_cut_near_its_end() {
    let server = server_with_objects().await;
    for n in 0..40 {
        put(&server, &format!("long{n}"), &"x".repeat(100_000));
    }
    for transport in Transport::ALL {
        let whole = Wire::connect(&server, transport).await.get(MAPS).await;
        let limit = 3_500_000;
        server
            .faults()
            .add(On::list("configmaps").once(), Fault::CutAfterBytes(limit));
        let answer = Wire::connect(&server, transport).await.get(MAPS).await;
        assert_eq!(
            (answer.whole, answer.bytes.len()),
            (false, limit),
            "{transport:?}"
        );
        assert!(answer.bytes == whole.bytes.slice(..limit), "{transport:?}");
    }
}

/// Sends a request without a socket, so that time can be paused.
async fn direct(client: &kube::Client, path: &str) -> http::Response<Body> {
    let request = Request::get(path).body(Body::empty()).expect("a request");
    client.send(request).await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn a_delayed_request_is_processed_after_its_delay() {
    let server = server_with_objects().await;
    let client = server.direct_client();
    server.faults().add(
        On::list("configmaps").once(),
        Fault::Delay(Duration::from_secs(60 * 60)),
    );
    let begin = Instant::now();
    let (answer, ()) = tokio::join!(direct(&client, MAPS), async {
        let seen = server.wait_for_request(|r| r.resource == "configmaps").await;
        assert_eq!((seen.status, seen.at), (None, begin));
        tokio::time::sleep(Duration::from_secs(30 * 60)).await;
        put(&server, "late", "1");
    });
    assert_eq!(begin.elapsed(), Duration::from_secs(60 * 60));
    let list: Value =
        serde_json::from_slice(&answer.collect().await.expect("a body").to_bytes()).expect("a list");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(4));
}

#[tokio::test(start_paused = true)]
async fn a_drip_sends_pieces_with_delays() {
    let server = server_with_objects().await;
    let client = server.direct_client();
    let whole = direct(&client, MAPS)
        .await
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    server.faults().add(
        On::list("configmaps").once(),
        Fault::Drip(100, Duration::from_secs(60)),
    );
    let mut body = direct(&client, MAPS).await.into_body();
    let begin = Instant::now();
    let mut bytes = Vec::new();
    let mut drops = 0;
    while let Some(frame) = body.frame().await {
        let drop = frame.expect("a drop").into_data().expect("data");
        drops += 1;
        bytes.extend_from_slice(&drop);
        assert!(drop.len() == 100 || bytes.len() == whole.len());
        assert_eq!(begin.elapsed(), Duration::from_secs(60) * drops);
    }
    assert_eq!(bytes, whole);
    assert_eq!(drops as usize, whole.len().div_ceil(100));
}

#[tokio::test(start_paused = true)]
async fn responses_without_a_socket_are_cut() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::list("configmaps"), Fault::Drip(100, Duration::from_secs(60)));
    let mut body = direct(&server.direct_client(), MAPS).await.into_body();
    body.frame().await.expect("a drop").expect("a drop");
    server.cut_connections();
    assert!(body.frame().await.expect("an end").is_err());
}

#[tokio::test]
async fn pieces_of_a_drip_are_sent_separately() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        let whole = wire.get(MAPS).await;
        server.faults().add(
            On::list("configmaps").once(),
            Fault::Drip(1000, Duration::from_millis(1)),
        );
        let dripped = wire.get(MAPS).await;
        assert_eq!(dripped.json(), whole.json(), "{transport:?}");
        server.faults().add(
            On::list("configmaps").once(),
            Fault::Drip(7, Duration::from_millis(1)),
        );
        let response = wire.send(Method::GET, MAPS, &[], "").await.expect("a head");
        let first = soon(response.into_body().frame())
            .await
            .expect("a drop")
            .expect("a drop");
        assert_eq!(
            first.into_data().expect("data"),
            whole.bytes.slice(..7),
            "{transport:?}"
        );
    }
}

#[tokio::test]
async fn broken_json_is_invalid() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::resource("configmaps").times(2), Fault::BrokenJson(0));
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    for path in [MAPS, "/api/v1/namespaces/default/configmaps/a"] {
        let answer = wire.get(path).await;
        assert_eq!((answer.code, answer.whole), (200, true));
        assert!(
            serde_json::from_slice::<Value>(&answer.bytes).is_err(),
            "{answer:?}"
        );
    }
    wire.get(MAPS).await.json();
}

#[tokio::test]
async fn broken_json_affects_long_lists_with_gzip() {
    let server = server_with_objects().await;
    put(&server, "long", &"x".repeat(300_000));
    put(&server, "longer", &"x".repeat(300_000));
    for headers in [&[][..], &[("accept-encoding", "gzip")]] {
        server
            .faults()
            .add(On::list("configmaps").once(), Fault::BrokenJson(0));
        let mut wire = Wire::connect(&server, Transport::Http1).await;
        let answer = Answer::read(
            wire.send(Method::GET, MAPS, headers, "")
                .await
                .expect("an answer"),
        )
        .await;
        assert_eq!(answer.headers.get("content-encoding"), None, "{headers:?}");
        assert!(answer.bytes.starts_with(b"{") && serde_json::from_slice::<Value>(&answer.bytes).is_err());
    }
}

#[tokio::test]
async fn objects_have_the_wrong_kind() {
    let server = server_with_objects().await;
    server.faults().add(On::resource("configmaps"), Fault::WrongKind);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    assert_eq!(wire.get(&format!("{MAPS}/a")).await.json()["kind"], "Wrong");
    let list = wire.get(MAPS).await.json();
    assert_eq!(list["kind"], "ConfigMapList");
    assert!(
        list["items"]
            .as_array()
            .expect("items")
            .iter()
            .all(|i| i["kind"] == "Wrong"),
        "{list}"
    );
}

#[tokio::test]
async fn objects_have_no_metadata() {
    let server = server_with_objects().await;
    server.faults().add(On::resource("configmaps"), Fault::NoMetadata);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    assert_eq!(wire.get(&format!("{MAPS}/a")).await.json().get("metadata"), None);
    let list = wire.get(MAPS).await.json();
    assert!(
        list["items"]
            .as_array()
            .expect("items")
            .iter()
            .all(|i| i.get("metadata").is_none()),
        "{list}"
    );
}

#[tokio::test]
async fn a_table_replaces_the_objects() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::resource("configmaps"), Fault::UnwantedTable);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    for path in [MAPS, "/api/v1/namespaces/default/configmaps/a"] {
        let table = wire.get(path).await.json();
        assert_eq!(
            (&table["kind"], &table["apiVersion"]),
            (&json!("Table"), &json!("meta.k8s.io/v1")),
            "{path}"
        );
        assert!(
            table["rows"].is_array() && table.get("items").is_none(),
            "{table}"
        );
    }
}

#[tokio::test]
async fn objects_are_oversized() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::resource("configmaps"), Fault::Oversized(1_000_000));
    let mut wire = Wire::connect(&server, Transport::Http2).await;
    assert!(wire.get(&format!("{MAPS}/a")).await.bytes.len() > 1_000_000);
    let list = wire.get(MAPS).await;
    assert_eq!(list.names(), ["a", "b", "c"]);
    assert!(list.bytes.len() > 3_000_000);
    server.faults().clear();
    assert!(wire.get(MAPS).await.bytes.len() < 10_000);
}

#[tokio::test]
async fn a_list_is_stale() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let before = wire.get(MAPS).await;
    put(&server, "d", "1");
    put(&server, "a", "2");
    server
        .faults()
        .add(On::list("configmaps").once(), Fault::StaleList(2));
    let stale = wire.get(MAPS).await;
    assert_eq!(
        (stale.version(), stale.names()),
        (before.version(), before.names())
    );
    assert_eq!(stale.json(), before.json());
    assert_eq!(wire.get(MAPS).await.version(), before.version() + 2);
}

#[tokio::test]
async fn compaction_precedes_the_request() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let page = wire.get(&format!("{MAPS}?limit=1")).await.json();
    let token = page["metadata"]["continue"].as_str().expect("a token").to_owned();
    put(&server, "d", "1");
    server.faults().add(On::list("configmaps").once(), Fault::Compact);
    let answer = wire.get(&format!("{MAPS}?limit=1&continue={token}")).await;
    assert_eq!(answer.failure(), (410, "Expired".into()));
    let again = answer.json()["metadata"]["continue"]
        .as_str()
        .expect("a token")
        .to_owned();
    assert_eq!(
        wire.get(&format!("{MAPS}?continue={again}")).await.names(),
        ["b", "c", "d"]
    );
}

#[tokio::test]
async fn a_request_can_have_several_faults() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::any(), Fault::Delay(Duration::from_millis(1)));
    server.faults().add(On::list("configmaps"), Fault::WrongKind);
    server
        .faults()
        .add(On::resource("configmaps"), Fault::CutAfterBytes(50));
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let answer = wire.get(MAPS).await;
    assert_eq!((answer.whole, answer.bytes.len()), (false, 50));
    let seen = server.requests().pop().expect("a request");
    assert_eq!(seen.faults, ["Delay(1ms)", "WrongKind", "CutAfterBytes(50)"]);
}

#[tokio::test]
async fn a_request_without_response_ends_with_its_connection() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        let rule = server
            .faults()
            .add(On::watch("configmaps").once(), Fault::NoAnswer);
        let mut wire = Wire::connect(&server, transport).await;
        let path = crate::wire::watch_from(server.resource_version());
        let mut request = Box::pin(wire.send(Method::GET, &path, &[], ""));
        let arrived = server.wait_for_request(|request| request.faults == ["NoAnswer"]);
        tokio::select! {
            biased;
            answer = &mut request => panic!("{transport:?}: {answer:?}"),
            () = async { soon(arrived).await; } => {}
        }
        // Other requests still get a response.
        let mut other = Wire::connect(&server, transport).await;
        assert_eq!(other.get(MAPS).await.names(), ["a", "b", "c"], "{transport:?}");
        assert!(futures::poll!(&mut request).is_pending(), "{transport:?}");
        assert_eq!(rule.hits(), 1);
        server.cut_connections();
        assert!(soon(request).await.is_err(), "{transport:?}");
        server.forget_requests();
    }
}

#[tokio::test]
async fn lists_and_watches_contain_objects_of_another_namespace() {
    let server = server_with_objects().await;
    let elsewhere = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "elsewhere", "namespace": "kube-system" },
    });
    let version = server.resource_version();
    server.load([elsewhere]).expect("an object");
    let fault = Fault::OtherNamespace("kube-system".into());
    let rule = server.faults().add(On::list_or_watch("configmaps"), fault);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let list = wire.get(MAPS).await;
    assert_eq!(list.names(), ["elsewhere"]);
    assert_eq!(list.json()["items"][0]["metadata"]["namespace"], "kube-system");
    let all = wire.get("/api/v1/configmaps").await;
    assert_eq!(all.names(), ["a", "b", "c", "elsewhere"]);
    assert_eq!(wire.get(&format!("{MAPS}/a")).await.code, 200);
    let mut watch = wire.watch(&crate::wire::watch_from(version)).await;
    assert_eq!(watch.expect().await, "ADDED elsewhere");
    rule.end();
}

/// Clients could not detect the fault in these requests.
#[tokio::test]
async fn an_empty_list_of_another_namespace_is_not_sent() {
    let server = server_with_objects().await;
    let fault = Fault::OtherNamespace("kube-system".into());
    let rule = server.faults().add(On::list_or_watch("configmaps"), fault);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    assert_eq!(wire.get(MAPS).await.names(), ["a", "b", "c"]);
    let mut events = wire.watch(crate::wire::STREAMING_LIST).await;
    for expected in ["ADDED a", "ADDED b", "ADDED c"] {
        assert_eq!(events.expect().await, expected);
    }
    assert_eq!(rule.hits(), 2);
}

#[tokio::test]
async fn loading_a_custom_resource_again_replaces_it() {
    let server = server_with_objects().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    });
    let widget = |size: u32| {
        json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": { "name": "a", "namespace": "default" }, "size": size,
        })
    };
    server.load([definition, widget(1), widget(2)]).expect("objects");
    let stored = server
        .object("widgets.example.com", Some("default"), "a")
        .expect("a widget");
    assert_eq!(stored["size"], 2);
}

#[tokio::test]
async fn an_object_can_be_read_without_a_client() {
    let server = server_with_objects().await;
    let object = server
        .object("configmaps", Some("default"), "a")
        .expect("an object");
    assert_eq!(object["data"]["value"], "1");
    assert!(object["metadata"]["uid"].is_string());
    assert_eq!(server.object("configmaps", Some("default"), "none"), None);
    assert_eq!(server.object("unknown", None, "a"), None);
}
