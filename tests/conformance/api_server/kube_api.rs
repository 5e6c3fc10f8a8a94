//! Every verb of kube's client.

use std::collections::BTreeMap;
use std::pin::pin;

use conformance::TestServer;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::events::v1::Event as StoredEvent;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, EvictParams, GetParams, GroupVersionKind, ListParams,
    LogParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::discovery::{self, Discovery, Scope};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Error, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn decoded<K: DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("an object of this kind")
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: Some(BTreeMap::from([("value".into(), value.into())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".into(), value.into())])),
        ..ConfigMap::default()
    }
}

fn deployment(name: &str) -> Deployment {
    decoded(json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "example.com/image" }] },
            },
        },
    }))
}

fn pod(name: &str) -> Pod {
    decoded(json!({
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "example.com/image" }] },
    }))
}

/// Returns the code and reason of a refusal.
fn refusal<T: std::fmt::Debug>(outcome: Result<T, Error>) -> (u16, String) {
    match outcome {
        Err(Error::Api(status)) => (status.code, status.reason),
        other => panic!("no refusal but {other:?}"),
    }
}

fn value(object: &ConfigMap) -> Option<&str> {
    object.data.as_ref()?.get("value").map(String::as_str)
}

#[tokio::test]
async fn kube_creates_reads_replaces_and_deletes() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    let made = api.create(&PostParams::default(), &config_map("a", "1")).await?;
    assert_eq!(
        refusal(api.create(&PostParams::default(), &config_map("a", "1")).await),
        (409, "AlreadyExists".into())
    );
    assert_eq!(api.get("a").await?, made);
    let at_least = GetParams {
        resource_version: made.resource_version(),
    };
    assert_eq!(api.get_with("a", &at_least).await?, made);
    assert_eq!(refusal(api.get("b").await), (404, "NotFound".into()));
    assert_eq!(api.get_opt("b").await?, None);

    let mut changed = made.clone();
    changed.data = config_map("a", "2").data;
    let replaced = api.replace("a", &PostParams::default(), &changed).await?;
    assert_eq!(value(&replaced), Some("2"));
    assert_eq!(
        refusal(api.replace("a", &PostParams::default(), &changed).await),
        (409, "Conflict".into())
    );
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let tried = api.create(&dry, &config_map("b", "1")).await?;
    assert!(tried.uid().is_some());
    assert_eq!(api.get_opt("b").await?, None);

    let gone = api.delete("a", &DeleteParams::default()).await?;
    assert!(gone.right().is_some_and(|status| status.is_success()));
    assert_eq!(
        refusal(api.delete("a", &DeleteParams::default()).await),
        (404, "NotFound".into())
    );
    Ok(())
}

#[tokio::test]
async fn kube_patches_in_four_ways() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    let applying = PatchParams::apply("tester");
    let mut wanted = config_map("a", "1");
    let applied = api.patch("a", &applying, &Patch::Apply(&wanted)).await?;
    assert_eq!(applied.managed_fields()[0].manager.as_deref(), Some("tester"));
    wanted.data = Some(BTreeMap::from([("other".into(), "1".into())]));
    let applied = api.patch("a", &applying, &Patch::Apply(&wanted)).await?;
    assert_eq!(applied.data, wanted.data);
    wanted.data = Some(BTreeMap::from([("other".into(), "2".into())]));
    let rival = api
        .patch("a", &PatchParams::apply("rival"), &Patch::Apply(&wanted))
        .await;
    assert_eq!(refusal(rival), (409, "Conflict".into()));
    let merge = Patch::Merge(json!({ "data": { "other": null, "m": "1" } }));
    let merged = api.patch("a", &PatchParams::default(), &merge).await?;
    assert_eq!(merged.data, Some(BTreeMap::from([("m".into(), "1".into())])));
    let strategic = Patch::Strategic(json!({ "data": { "s": "1" } }));
    assert_eq!(
        api.patch("a", &PatchParams::default(), &strategic)
            .await?
            .data
            .map(|d| d.len()),
        Some(2)
    );
    let operations: json_patch::Patch = decoded(json!([
        { "op": "test", "path": "/data/s", "value": "1" },
        { "op": "move", "from": "/data/s", "path": "/data/j" },
    ]));
    let moved = api
        .patch("a", &PatchParams::default(), &Patch::Json::<()>(operations))
        .await?;
    assert_eq!(
        moved.data.map(|d| d.into_keys().collect()),
        Some(vec!["j".to_owned(), "m".to_owned()])
    );
    let false_test: json_patch::Patch = decoded(json!([{ "op": "test", "path": "/data/j", "value": "2" }]));
    let refused = api
        .patch("a", &PatchParams::default(), &Patch::Json::<()>(false_test))
        .await;
    assert_eq!(refusal(refused), (422, "Invalid".into()));
    let partial = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
    let metadata = api.patch_metadata("a", &PatchParams::default(), &partial).await?;
    assert_eq!(metadata.labels().get("seen").map(String::as_str), Some("yes"));
    Ok(())
}

#[tokio::test]
async fn kube_lists_pages_and_deletes_collections() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    for (name, value) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "1"), ("e", "1")] {
        api.create(&PostParams::default(), &config_map(name, value))
            .await?;
    }
    let ones = ListParams::default().labels("value=1");
    let mut names = Vec::new();
    let mut page = ones.clone().limit(3);
    loop {
        let list = api.list(&page).await?;
        names.extend(list.iter().map(ResourceExt::name_any));
        match list.metadata.continue_ {
            Some(token) if !token.is_empty() => page = page.continue_token(&token),
            _ => break,
        }
    }
    assert_eq!(names, ["a", "c", "d", "e"]);
    let one = api.list(&ListParams::default().fields("metadata.name=b")).await?;
    assert_eq!(
        one.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        ["b"]
    );
    let deleted = api.delete_collection(&DeleteParams::default(), &ones).await?;
    assert_eq!(deleted.left().map(|list| list.items.len()), Some(4));
    let left = api.list(&ListParams::default().labels("value")).await?;
    assert_eq!(
        left.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        ["b"]
    );
    Ok(())
}

#[tokio::test]
async fn kube_entries_insert_and_modify() -> Result<(), Box<dyn std::error::Error>> {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    let mut entry = api.entry("a").await?.or_insert(|| config_map("a", "1"));
    entry.commit(&PostParams::default()).await?;
    let stale = entry.get().clone();
    let mut entry = api
        .entry("a")
        .await?
        .and_modify(|map| map.data = config_map("a", "2").data)
        .or_insert(|| panic!("the object exists"));
    entry.commit(&PostParams::default()).await?;
    assert_eq!(value(&api.get("a").await?), Some("2"));
    assert_eq!(
        refusal(api.replace("a", &PostParams::default(), &stale).await),
        (409, "Conflict".into())
    );
    Ok(())
}

#[tokio::test]
async fn kube_writes_the_status_subresource() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<Deployment> = Api::namespaced(server.client.clone(), &server.namespace);
    let made = api.create(&PostParams::default(), &deployment("a")).await?;
    let mut observed = api.get_status("a").await?;
    assert_eq!(observed.uid(), made.uid());
    let mut status = observed.status.take().unwrap_or_default();
    status.replicas = Some(2);
    status.observed_generation = Some(1);
    observed.status = Some(status);
    // The status subresource ignores the spec.
    observed.spec.as_mut().expect("a spec").replicas = Some(9);
    let replaced = api.replace_status("a", &PostParams::default(), &observed).await?;
    assert_eq!(replaced.status.as_ref().and_then(|s| s.replicas), Some(2));
    assert_eq!(replaced.spec.and_then(|s| s.replicas), Some(2));
    assert_eq!(replaced.metadata.generation, Some(1));
    let patch = Patch::Merge(json!({ "status": { "readyReplicas": 1 } }));
    let patched = api.patch_status("a", &PatchParams::default(), &patch).await?;
    assert_eq!(patched.status.and_then(|s| s.ready_replicas), Some(1));
    let ignored = Patch::Merge(json!({ "status": { "readyReplicas": 0 } }));
    let patched = api.patch("a", &PatchParams::default(), &ignored).await?;
    assert_eq!(patched.status.and_then(|s| s.ready_replicas), Some(1));
    Ok(())
}

#[tokio::test]
async fn kube_scales_by_the_scale_subresource() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<Deployment> = Api::namespaced(server.client.clone(), &server.namespace);
    api.create(&PostParams::default(), &deployment("a")).await?;
    let mut scale = api.get_scale("a").await?;
    assert_eq!(scale.spec.as_ref().and_then(|s| s.replicas), Some(2));
    assert_eq!(
        scale.status.as_ref().and_then(|s| s.selector.as_deref()),
        Some("app=a")
    );
    scale.spec.get_or_insert_default().replicas = Some(5);
    let replaced = api.replace_scale("a", &PostParams::default(), &scale).await?;
    assert_eq!(replaced.spec.and_then(|s| s.replicas), Some(5));
    let patch = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    let patched = api.patch_scale("a", &PatchParams::default(), &patch).await?;
    assert_eq!(patched.spec.and_then(|s| s.replicas), Some(3));
    let scaled = api.get("a").await?;
    assert_eq!(
        (scaled.spec.and_then(|s| s.replicas), scaled.metadata.generation),
        (Some(3), Some(3))
    );
    let restarted = api.restart("a").await?;
    let annotations = restarted
        .spec
        .and_then(|s| s.template.metadata)
        .and_then(|m| m.annotations)
        .unwrap_or_default();
    assert!(
        annotations.contains_key("kube.kubernetes.io/restartedAt"),
        "{annotations:?}"
    );
    Ok(())
}

#[tokio::test]
async fn kube_reads_only_metadata() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    let made = api.create(&PostParams::default(), &config_map("a", "1")).await?;
    let metadata = api.get_metadata("a").await?;
    assert_eq!(metadata.metadata, made.metadata);
    assert_eq!(
        metadata.types.as_ref().map(|t| t.kind.as_str()),
        Some("PartialObjectMetadata")
    );
    assert!(api.get_metadata_opt("b").await?.is_none());
    let list = api.list_metadata(&ListParams::default().labels("value")).await?;
    assert_eq!(
        list.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        ["a"]
    );
    let from = list.metadata.resource_version.unwrap_or_default();
    let mut events = pin!(
        api.watch_metadata(&WatchParams::default().timeout(60), &from)
            .await?
    );
    let made = api.create(&PostParams::default(), &config_map("b", "1")).await?;
    match events.try_next().await? {
        Some(WatchEvent::Added(seen)) => assert_eq!(seen.metadata, made.metadata),
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[tokio::test]
async fn kube_discovers_kinds_and_uses_them() -> Result<(), Error> {
    let server = TestServer::start().await;
    let client = &server.client;
    for found in [
        Discovery::new(client.clone()).run().await?,
        Discovery::new(client.clone()).run_aggregated().await?,
    ] {
        for (group, version, kind, scope) in [
            ("", "v1", "ConfigMap", Scope::Namespaced),
            ("", "v1", "Node", Scope::Cluster),
            ("apps", "v1", "Deployment", Scope::Namespaced),
            (
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
                Scope::Cluster,
            ),
        ] {
            let gvk = GroupVersionKind::gvk(group, version, kind);
            let (_, capabilities) = found.resolve_gvk(&gvk).unwrap_or_else(|| panic!("no {kind}"));
            assert_eq!(capabilities.scope, scope, "{kind}");
            assert!(capabilities.supports_operation("watch"), "{kind}");
        }
        let (_, deployments) = found
            .resolve_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"))
            .expect("a kind");
        let mut below: Vec<_> = deployments
            .subresources
            .iter()
            .map(|(r, _)| r.plural.as_str())
            .collect();
        below.sort_unstable();
        assert_eq!(below, ["scale", "status"]);
    }
    let (resource, _) = discovery::pinned_kind(client, &GroupVersionKind::gvk("", "v1", "ConfigMap")).await?;
    assert_eq!(resource, ApiResource::erase::<ConfigMap>(&()));
    let group = discovery::group(client, "apps").await?;
    assert!(group.recommended_kind("StatefulSet").is_some());
    let missing = discovery::pinned_kind(client, &GroupVersionKind::gvk("", "v1", "Nothing")).await;
    assert!(matches!(missing, Err(Error::Discovery(_))), "{missing:?}");

    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &server.namespace, &resource);
    let object = DynamicObject::new("dynamic", &resource).data(json!({ "data": { "k": "v" } }));
    let made = api.create(&PostParams::default(), &object).await?;
    assert_eq!(made.types, object.types);
    assert_eq!(api.get("dynamic").await?.data["data"], json!({ "k": "v" }));
    let listed = api
        .list(&ListParams::default().fields("metadata.name=dynamic"))
        .await?;
    assert_eq!(listed.items.len(), 1);
    Ok(())
}

#[tokio::test]
async fn kube_records_events_and_series_of_them() -> Result<(), Error> {
    let server = TestServer::start().await;
    let client = &server.client;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &server.namespace);
    let object = maps.create(&PostParams::default(), &config_map("a", "1")).await?;
    let reporter = Reporter {
        controller: "tester".into(),
        instance: Some("tester-0".into()),
    };
    let recorder = Recorder::new(client.clone(), reporter);
    let event = Event {
        type_: EventType::Warning,
        reason: "Tried".into(),
        note: Some("it was tried".into()),
        action: "Trying".into(),
        secondary: None,
    };
    for _ in 0..3 {
        recorder.publish(&event, &object.object_ref(&())).await?;
    }
    let events: Api<StoredEvent> = Api::namespaced(client.clone(), &server.namespace);
    let list = events
        .list(&ListParams::default().fields("regarding.name=a,reason=Tried"))
        .await?;
    let [stored] = list.items.try_into().expect("one event");
    assert_eq!(
        (stored.type_.as_deref(), stored.note.as_deref()),
        (Some("Warning"), Some("it was tried"))
    );
    assert_eq!(stored.regarding.and_then(|r| r.uid), object.uid());
    assert_eq!(stored.series.map(|s| s.count), Some(3));
    let old: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(client.clone(), &server.namespace);
    let list = old
        .list(&ListParams::default().fields("involvedObject.name=a,type=Warning"))
        .await?;
    assert_eq!(list.items.len(), 1);
    assert_eq!(list.items[0].message.as_deref(), Some("it was tried"));
    Ok(())
}

#[tokio::test]
async fn kube_evicts_pods_and_receives_the_reason_for_missing_logs() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<Pod> = Api::namespaced(server.client.clone(), &server.namespace);
    api.create(&PostParams::default(), &pod("a")).await?;
    // A pod without a node has no status yet.
    assert_eq!(api.logs("a", &LogParams::default()).await?, "");
    let other = LogParams {
        container: Some("other".into()),
        ..LogParams::default()
    };
    assert_eq!(refusal(api.logs("a", &other).await), (400, "BadRequest".into()));
    assert_eq!(
        refusal(api.logs("b", &LogParams::default()).await),
        (404, "NotFound".into())
    );
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let tried = api
        .evict(
            "a",
            &EvictParams {
                post_options: dry,
                ..EvictParams::default()
            },
        )
        .await?;
    assert!(tried.is_success());
    api.get("a").await?;
    let evicted = api.evict("a", &EvictParams::default()).await?;
    assert!(evicted.is_success(), "{evicted:?}");
    assert_eq!(api.get_opt("a").await?, None);
    assert_eq!(
        refusal(api.evict("a", &EvictParams::default()).await),
        (404, "NotFound".into())
    );
    Ok(())
}

#[tokio::test]
async fn kube_cordons_nodes() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<Node> = Api::all(server.client.clone());
    let name = format!("node-{}", server.namespace);
    let node: Node = decoded(json!({ "metadata": { "name": name } }));
    api.create(&PostParams::default(), &node).await?;
    let cordoned = api.cordon(&name).await?;
    assert_eq!(cordoned.spec.and_then(|s| s.unschedulable), Some(true));
    let open = api.uncordon(&name).await?;
    assert_ne!(open.spec.and_then(|s| s.unschedulable), Some(true));
    api.delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

#[tokio::test]
async fn kube_watches_from_a_list() -> Result<(), Error> {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    let from = api
        .list(&ListParams::default())
        .await?
        .metadata
        .resource_version
        .unwrap_or_default();
    let events = api
        .watch(&WatchParams::default().timeout(60).labels("value"), &from)
        .await?;
    api.create(&PostParams::default(), &config_map("a", "1")).await?;
    api.patch(
        "a",
        &PatchParams::default(),
        &Patch::Merge(json!({ "data": { "value": "2" } })),
    )
    .await?;
    api.delete("a", &DeleteParams::default()).await?;
    let seen: Vec<_> = events.take(3).try_collect().await?;
    match seen.as_slice() {
        [
            WatchEvent::Added(a),
            WatchEvent::Modified(b),
            WatchEvent::Deleted(c),
        ] => {
            assert_eq!([value(a), value(b), value(c)], [Some("1"), Some("2"), Some("2")]);
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[tokio::test]
async fn kube_reads_the_server_version() -> Result<(), Error> {
    let server = TestServer::start().await;
    let version = server.client.apiserver_version().await?;
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
    Ok(())
}
