//! The last changes.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube_informer::{CacheFormat, SharedInformer};
use kube_informer_dashboard::Dashboard;
use serde_json::{Value, json};

use crate::{config_map, get, get_json, server, started, until};

fn words(history: &Value) -> Vec<String> {
    let changes = history.as_array().expect("changes").iter();
    changes
        .map(|change| {
            let differences = change["differences"].as_array().expect("differences").iter();
            let differences: Vec<String> = differences
                .map(|one| {
                    format!(
                        " {}:{}>{}",
                        one["path"].as_str().expect("a path"),
                        one["old"],
                        one["new"]
                    )
                })
                .collect();
            format!(
                "{} {}{}",
                change["what"].as_str().expect("a word"),
                change["key"].as_str().expect("a key"),
                differences.concat()
            )
        })
        .collect()
}

#[tokio::test]
async fn changes_are_listed_with_their_differences_newest_first() {
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        let (server, client) = server().await;
        server
            .load([config_map("default", "old", "x", &json!({ "a": "1" }))])
            .expect("an object");
        let maps = SharedInformer::<ConfigMap>::builder(client.clone())
            .cache_format(form)
            .build();
        let router = Dashboard::new().browse(&maps).router();
        started(&maps).await;
        let history = "/api/history?informer=configmaps";
        assert_eq!(
            get_json(&router, history).await,
            json!([]),
            "objects of the first list are not changes"
        );

        let api: Api<ConfigMap> = Api::namespaced(client, "default");
        let patch = json!({ "data": { "a": "2", "b": "new" } });
        api.patch("old", &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .expect("a patch");
        server
            .load([config_map("default", "other", "x", &json!({}))])
            .expect("an object");
        api.delete("old", &DeleteParams::default())
            .await
            .expect("a deletion");
        let told_all = until(&router, history, |list| list.as_array().map(Vec::len) == Some(3)).await;
        assert_eq!(
            words(&told_all),
            [
                "deleted default/old",
                "added default/other",
                "updated default/old .data.a:\"1\">\"2\" .data.b:null>\"new\"",
            ],
            "{form:?}"
        );
        // The object is deleted, but its history is still available.
        let gone = get_json(&router, "/api/object?informer=configmaps&key=default/old").await;
        assert_eq!(gone["object"], Value::Null);
        assert_eq!(gone["history"].as_array().map(Vec::len), Some(2));
    }
}

#[tokio::test]
async fn the_number_of_differences_is_limited() {
    let (server, client) = server().await;
    let object = |value: &str| {
        let data = (0..1_000).map(|at| (format!("k{at}"), Value::from(value)));
        config_map("default", "big", "x", &Value::Object(data.collect()))
    };
    server.load([object("old")]).expect("an object");
    let maps = SharedInformer::<ConfigMap>::builder(client).build();
    let router = Dashboard::new().browse(&maps).router();
    started(&maps).await;
    server.load([object("new")]).expect("a change");
    let changes = until(&router, "/api/history?informer=configmaps", |list| {
        list[0]["what"] == "updated"
    })
    .await;
    assert_eq!(changes[0]["differences"].as_array().map(Vec::len), Some(200));
}

#[tokio::test]
async fn the_history_is_limited() {
    let (server, client) = server().await;
    let maps = SharedInformer::<ConfigMap>::builder(client).build();
    let router = Dashboard::new().browse(&maps).remember(3).router();
    let forgetful = Dashboard::new().browse(&maps).remember(0).router();
    started(&maps).await;
    let history = "/api/history?informer=configmaps";
    for at in 0..10 {
        server
            .load([config_map("default", &format!("m{at}"), "x", &json!({}))])
            .expect("an object");
    }
    let last = until(&router, history, |list| list[0]["key"] == "default/m9").await;
    assert_eq!(
        words(&last),
        ["added default/m9", "added default/m8", "added default/m7"]
    );
    assert_eq!(get_json(&forgetful, history).await, json!([]));
    assert_eq!(
        maps.registrations().len(),
        1,
        "without a history there is no handler"
    );
}

#[tokio::test]
async fn a_dropped_dashboard_removes_its_handlers() {
    let (_server, client) = server().await;
    let maps = SharedInformer::<ConfigMap>::builder(client).build();
    let router = Dashboard::new().browse(&maps).router();
    started(&maps).await;
    assert_eq!(get(&router, "/api/overview").await.status, 200);
    assert_eq!(maps.registrations().len(), 1);
    drop(router);
    assert_eq!(maps.registrations().len(), 0);
}
