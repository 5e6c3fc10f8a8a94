//! Lists and filters of objects.

use axum::Router;
use http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::Server;
use kube_informer::{CacheFormat, SharedInformer};
use kube_informer_dashboard::Dashboard;
use serde_json::{Value, json};

use crate::{config_map, get, get_json, keys, server, started, until};

/// Six maps in two namespaces, in a cache of the given format.
async fn scene(form: CacheFormat) -> (Server, SharedInformer<ConfigMap>, Router) {
    let (server, client) = server().await;
    let objects = [
        config_map("data", "cache", "cache", &json!({ "node": "north" })),
        config_map("data", "ingest", "ingest", &json!({ "node": "south" })),
        config_map("shop", "cart", "cart", &json!({ "node": "north" })),
        config_map("shop", "storefront-1", "storefront", &json!({ "node": "south" })),
        config_map("shop", "storefront-2", "storefront", &json!({ "node": "north" })),
        config_map("shop", "till", "till", &json!({})),
    ];
    server.load(objects).expect("objects");
    let maps = SharedInformer::<ConfigMap>::builder(client)
        .cache_format(form)
        .build();
    maps.index("node", |map: &ConfigMap| {
        map.data.as_ref().and_then(|data| data.get("node").cloned())
    })
    .expect("an index");
    let router = Dashboard::new().browse(&maps).router();
    started(&maps).await;
    (server, maps, router)
}

fn question(filter: &str) -> String {
    format!("/api/objects?informer=configmaps&{filter}")
}

#[tokio::test]
async fn filters_by_name_namespace_label_field_and_index_work_together() {
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        let (_server, _maps, router) = scene(form).await;
        for (filter, expected) in [
            (
                "",
                "data/cache data/ingest shop/cart shop/storefront-1 shop/storefront-2 shop/till",
            ),
            ("name=st", "shop/storefront-1 shop/storefront-2 data/ingest"),
            ("namespace=data", "data/cache data/ingest"),
            ("namespace=da", ""),
            ("labels=app%3Dstorefront", "shop/storefront-1 shop/storefront-2"),
            (
                "labels=app+notin+(storefront,till)",
                "data/cache data/ingest shop/cart",
            ),
            (
                "field=.data.node%3Dnorth",
                "data/cache shop/cart shop/storefront-2",
            ),
            (
                "field=.data.node!%3Dnorth",
                "data/ingest shop/storefront-1 shop/till",
            ),
            (
                "field=.data.node",
                "data/cache data/ingest shop/cart shop/storefront-1 shop/storefront-2",
            ),
            ("index=node%3Dsouth", "data/ingest shop/storefront-1"),
            ("index=node%3Dnowhere", ""),
            ("index=node%3Dnorth&namespace=shop&labels=app%3Dcart", "shop/cart"),
            (
                "field=.data.node%3Dnorth&field=.metadata.name%3Dcache",
                "data/cache",
            ),
        ] {
            let page = get_json(&router, &question(filter)).await;
            let mut expected: Vec<&str> = expected.split_whitespace().collect();
            expected.sort_unstable();
            assert_eq!(keys(&page), expected, "{filter}, {form:?}");
            assert_eq!(page["total"], expected.len());
        }
    }
}

#[tokio::test]
async fn pages_are_sorted_by_key_and_complete() {
    let (server, _maps, router) = scene(CacheFormat::Decoded).await;
    let more = (0..200).map(|at| config_map("many", &format!("m{at:03}"), "many", &json!({})));
    server.load(more).expect("objects");
    until(&router, &question("limit=1"), |page| page["total"] == 206).await;
    let mut all = Vec::new();
    for offset in (0..240).step_by(30) {
        let page = get_json(&router, &question(&format!("limit=30&offset={offset}"))).await;
        assert_eq!(page["total"], 206);
        all.extend(keys(&page).into_iter().map(str::to_owned));
    }
    assert_eq!(all.len(), 206);
    assert!(all.is_sorted_by(|a, b| {
        a.parse::<kube_informer::Key>().expect("a key") < b.parse().expect("a key")
    }));
}

#[tokio::test]
async fn a_row_contains_facts() {
    let (_server, maps, router) = scene(CacheFormat::Packed).await;
    let page = get_json(&router, &question("name=till")).await;
    let row = &page["objects"][0];
    let till = maps
        .snapshot()
        .get(&"shop/till".parse().expect("a key"))
        .expect("it");
    assert_eq!(
        (&row["namespace"], &row["name"]),
        (&json!("shop"), &json!("till"))
    );
    assert_eq!(row["labels"], json!({ "app": "till" }));
    assert_eq!(row["version"], till.version().to_string());
    assert!(row["created"].is_string() && row["terminating"] == false, "{row}");
}

#[tokio::test]
async fn an_unchanged_page_is_not_sent_again() {
    let (server, _maps, router) = scene(CacheFormat::Decoded).await;
    let page = get_json(&router, &question("")).await;
    let again = question(&format!("seen={}", page["tag"].as_str().expect("a tag")));
    let answer = get(&router, &again).await;
    assert_eq!(
        (answer.status, answer.text.as_str()),
        (StatusCode::NO_CONTENT, "")
    );
    server
        .load([config_map("shop", "new", "new", &json!({}))])
        .expect("an object");
    let page = until(&router, &again, |page| page["total"] == 7).await;
    assert!(keys(&page).contains(&"shop/new"));
}

#[tokio::test]
async fn invalid_requests_are_refused_with_a_reason() {
    let (_server, _maps, router) = scene(CacheFormat::Decoded).await;
    for (path, reason) in [
        ("/api/objects", "missing parameter \"informer\""),
        ("/api/objects?informer=pods", "unknown informer \"pods\""),
        (&question("labels=a%3Db%3Dc"), "="),
        (&question("field=%3Dnorth"), "invalid field path"),
        (&question("field=.data.node~x"), "expected \"=\" or \"!=\""),
        (&question("index=zone%3Dx"), "zone"),
        (&question("index=zone"), "name=value"),
        (&question("offset=-1"), "whole number"),
        ("/api/object?informer=configmaps", "missing parameter \"key\""),
        ("/api/object?informer=configmaps&key=a/b/c", "a/b/c"),
        (
            "/api/object?informer=configmaps&key=shop/none",
            "shop/none is not in the cache",
        ),
        ("/api/samples?since=x", "milliseconds"),
        ("/api/nothing", "no page at this address"),
    ] {
        let error_message = get(&router, path).await.error_message();
        assert!(error_message.contains(reason), "{path}: {error_message}");
    }
}

#[tokio::test]
async fn complete_objects_are_shown_only_if_requested() {
    let (_server, maps, router) = scene(CacheFormat::Packed).await;
    let path = "/api/object?informer=configmaps&key=shop/cart";
    let object = get_json(&router, path).await["object"].clone();
    assert_eq!(object["data"], json!({ "node": "north" }));
    assert_eq!(
        (&object["apiVersion"], &object["kind"]),
        (&json!("v1"), &json!("ConfigMap"))
    );

    let modest = Dashboard::new().informer(&maps).router();
    let object = get_json(&modest, path).await["object"].clone();
    assert_eq!(object["metadata"]["labels"]["app"], "cart");
    assert_eq!(
        (&object["kind"], &object["data"]),
        (&json!("ConfigMap"), &Value::Null)
    );
    let page = get_json(&modest, &question("field=.data.node")).await;
    assert_eq!(page["total"], 0, "hidden fields cannot be filtered");
}

#[tokio::test]
async fn values_of_an_index_are_suggested() {
    let (_server, _maps, router) = scene(CacheFormat::Decoded).await;
    let values = get_json(&router, "/api/index-values?informer=configmaps&index=node").await;
    assert_eq!(values, json!(["north", "south"]));
    assert_eq!(
        get_json(&router, "/api/index-values?informer=configmaps&index=none").await,
        json!([])
    );
}
