//! The overview of informers, handlers and queues.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use kube::api::{ApiResource, DynamicObject};
use kube_informer::{HandlerOptions, SharedInformer, SharedInformerFactory, enqueue_keys};
use kube_informer_dashboard::Dashboard;
use kube_workqueue::WorkQueue;
use serde_json::{Value, json};

use crate::{TIMEOUT, config_map, get_json, server, started, until};

fn ids(overview: &Value) -> Vec<&str> {
    let informers = overview["informers"].as_array().expect("informers");
    informers
        .iter()
        .map(|one| one["id"].as_str().expect("an id"))
        .collect()
}

#[tokio::test]
async fn the_overview_contains_handlers_and_queues() {
    let (server, client) = server().await;
    server
        .load([
            config_map("default", "a", "x", &json!({})),
            config_map("default", "b", "x", &json!({})),
        ])
        .expect("objects");
    let maps = SharedInformer::<ConfigMap>::builder(client)
        .namespace("default")
        .build();
    let queue = WorkQueue::builder("maps").track_age().build();
    maps.add_handler_with(enqueue_keys(&queue), HandlerOptions::new().name("enqueue"))
        .expect("a handler");
    let router = Dashboard::new().informer(&maps).queue(&queue).router();

    let overview = get_json(&router, "/api/overview").await;
    assert_eq!(overview["informers"][0]["health"], "new");
    started(&maps).await;
    let overview = until(&router, "/api/overview", |now| {
        now["informers"][0]["health"] == "live" && now["queues"][0]["queued"] == 2
    })
    .await;
    let one = &overview["informers"][0];
    assert_eq!(
        (&one["id"], &one["kind"]),
        (&json!("configmaps"), &json!("ConfigMap"))
    );
    assert_eq!(one["namespaces"], json!(["default"]));
    assert_eq!((&one["objects"], &one["synced"]), (&json!(2), &json!(true)));
    assert_eq!(
        one["version"],
        maps.resource_version().expect("a version").to_string()
    );
    assert!(
        one["bytes"].as_u64() > Some(0) && one["receivedBytes"].as_u64() > Some(0),
        "{one}"
    );
    assert!(
        one["silentFor"].is_number() && one["watchedFor"].is_number(),
        "{one}"
    );
    assert_eq!(one["error"], Value::Null);
    let names: Vec<&Value> = one["handlers"]
        .as_array()
        .expect("handlers")
        .iter()
        .map(|h| &h["name"])
        .collect();
    assert_eq!(names, ["enqueue", "dashboard"]);
    assert_eq!(one["handlers"][0]["delivered"], 2);
    assert_eq!(
        (&one["handlers"][0]["backlog"], &one["handlers"][0]["panics"]),
        (&json!(0), &json!(0))
    );

    let shown = &overview["queues"][0];
    assert_eq!((&shown["name"], &shown["adds"]), (&json!("maps"), &json!(2)));
    assert!(shown["oldest"].is_number(), "{shown}");
    let _item = queue.get().await;
    queue.add_after("later/x".parse().expect("a key"), TIMEOUT);
    let overview = get_json(&router, "/api/overview").await;
    let shown = &overview["queues"][0];
    assert_eq!(
        (
            &shown["queued"],
            &shown["running"],
            &shown["delayed"],
            &shown["retries"]
        ),
        (&json!(1), &json!(1), &json!(1), &json!(1))
    );
    maps.shutdown().await;
    assert_eq!(
        get_json(&router, "/api/overview").await["informers"][0]["health"],
        "stopped"
    );
}

#[tokio::test]
async fn informers_added_to_a_factory_later_are_shown() {
    let (_server, client) = server().await;
    let factory = SharedInformerFactory::new(client);
    let maps = factory.informer::<ConfigMap>();
    let namespaces = factory.informer::<Namespace>();
    let router = Dashboard::new().factory(&factory).browse(&namespaces).router();
    let overview = get_json(&router, "/api/overview").await;
    assert_eq!(ids(&overview), ["configmaps", "namespaces"]);
    assert_eq!(overview["informers"][0]["whole"], false);
    assert_eq!(overview["informers"][1]["whole"], true, "it was added by itself");

    let _later = factory.informer::<Service>();
    let _other = factory.dynamic(ApiResource::erase::<ConfigMap>(&()));
    let overview = get_json(&router, "/api/overview").await;
    assert_eq!(
        ids(&overview),
        ["configmaps", "namespaces", "services", "configmaps~2"]
    );
    assert_eq!(
        overview["informers"][3]["whole"], true,
        "dynamic objects can be printed"
    );
    assert_eq!(
        maps.registrations().len(),
        1,
        "one handler for any number of requests"
    );
}

#[tokio::test]
async fn an_informer_added_twice_is_shown_once() {
    let (_server, client) = server().await;
    let maps =
        SharedInformer::<DynamicObject>::builder_with(client, ApiResource::erase::<ConfigMap>(&())).build();
    let router = Dashboard::new().browse(&maps).informer(&maps).router();
    assert_eq!(ids(&get_json(&router, "/api/overview").await), ["configmaps"]);
}

#[tokio::test]
async fn the_loss_and_the_return_of_the_server_are_shown() {
    let (server, client) = server().await;
    let maps = SharedInformer::<ConfigMap>::builder(client).build();
    let router = Dashboard::new().informer(&maps).router();
    started(&maps).await;
    until(&router, "/api/overview", |now| {
        now["informers"][0]["health"] == "live"
    })
    .await;

    server.go_down().await;
    let overview = until(&router, "/api/overview", |now| {
        now["informers"][0]["health"] == "broken"
    })
    .await;
    let one = &overview["informers"][0];
    let words = one["error"]["message"].as_str().expect("words");
    assert!(words.contains("configmaps"), "{words}");
    assert!(
        one["error"]["ago"].is_number() && one["silentFor"].is_number(),
        "{one}"
    );
    until(&router, "/api/overview", |now| {
        now["informers"][0]["nextAttempt"].is_number()
    })
    .await;

    server.restart().await.expect("the same port");
    let overview = until(&router, "/api/overview", |now| {
        now["informers"][0]["health"] == "live"
    })
    .await;
    assert_eq!(overview["informers"][0]["nextAttempt"], Value::Null);
    assert!(
        overview["informers"][0]["error"]["message"].is_string(),
        "the last error is still shown"
    );
}

#[tokio::test]
async fn counters_are_sampled_while_the_page_is_open() {
    let (server, client) = server().await;
    let maps = SharedInformer::<ConfigMap>::builder(client).build();
    let queue = WorkQueue::<String>::new("q");
    let router = Dashboard::new().informer(&maps).queue(&queue).router();
    started(&maps).await;
    server
        .load([config_map("default", "a", "x", &json!({}))])
        .expect("an object");
    let noted = |samples: &Value| {
        let last = samples
            .as_array()
            .and_then(|all| all.last().cloned())
            .unwrap_or_default();
        last["counts"]["informer/configmaps"][3] == 1
    };
    until(&router, "/api/overview", |now| {
        now["informers"][0]["objects"] == 1
    })
    .await;
    let samples = until(&router, "/api/samples", noted).await;
    let last = samples.as_array().and_then(|all| all.last()).expect("a sample");
    assert_eq!(last["counts"]["queue/q"], json!([0, 0, 0]));
    let since = format!("/api/samples?since={}", last["at"]);
    let newer = get_json(&router, &since).await;
    assert!(
        newer
            .as_array()
            .expect("samples")
            .iter()
            .all(|sample| sample["at"].as_u64() > last["at"].as_u64())
    );
}
