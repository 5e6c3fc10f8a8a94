//! The dashboard shows no value of a Secret, and no request can distinguish between two values.

use axum::Router;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::{Client, Resource};
use kube_embedded::Server;
use kube_informer::{CacheFormat, Kind, SharedInformer};
use kube_informer_dashboard::Dashboard;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{get, get_json, server, started, until};

/// The texts that must not be shown: plain, and in base64 at any offset; before and after a change, and in
/// every other form.
const PLANTED: [&str; 7] = [
    "hunter2-planted",
    "aHVudGVyMi1wbGFudGVk",
    "h1bnRlcjItcGxhbnRlZ",
    "odW50ZXIyLXBsYW50ZW",
    "changed-planted",
    "Y2hhbmdlZC1wbGFudGVk",
    "NoYW5nZWQtcGxhbnRlZ",
];
const ENCODED: &str = "aHVudGVyMi1wbGFudGVk";
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A Secret as a user-defined type, with the value under another name.
#[derive(Debug, Clone, Deserialize, Serialize)]
struct Login {
    metadata: kube::core::ObjectMeta,
    #[serde(rename(deserialize = "data"), default)]
    words: Value,
}

impl Resource for Login {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        "Secret".into()
    }

    fn group((): &()) -> std::borrow::Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        "secrets".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

fn secret(value: &str, encoded: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "namespace": "default", "name": "db", "labels": { "app": "db" },
            "annotations": { APPLIED: format!("{{\"stringData\":{{\"password\":\"{value}\"}}}}"), "team": "shop" },
        },
        "data": { "password": encoded, "user": "cm9vdA==" },
    })
}

async fn scene() -> (Server, Client) {
    let (server, client) = server().await;
    server
        .load([secret("hunter2-planted", ENCODED)])
        .expect("a secret");
    (server, client)
}

/// Sends all requests for a kind, and changes the Secret in between.
async fn everything(client: &Client, router: &Router) -> String {
    let filters = [
        String::new(),
        format!("field=.data.password%3D{ENCODED}"),
        "field=.data.password".to_owned(),
        "field=.stringData.password%3Dhunter2-planted".to_owned(),
        "index=password%3Dhunter2-planted".to_owned(),
    ];
    let mut responses = String::new();
    for filter in &filters {
        responses += &get(router, &format!("/api/objects?informer=secrets&{filter}"))
            .await
            .text;
    }
    let api: Api<Secret> = Api::namespaced(client.clone(), "default");
    let patch = json!({ "data": { "password": "Y2hhbmdlZC1wbGFudGVk" }, "metadata": { "labels": { "seen": "yes" } } });
    api.patch("db", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("a patch");
    until(router, "/api/history?informer=secrets", |list| {
        list[0]["what"] == "updated"
    })
    .await;
    for path in [
        "/api/history?informer=secrets",
        "/api/object?informer=secrets&key=default/db",
        "/api/index-values?informer=secrets&index=password",
        "/api/overview",
        "/api/samples",
    ] {
        responses += &get(router, path).await.text;
    }
    responses
}

fn assert_clean(responses: &str, what: &str) {
    assert!(
        responses.contains("default/db") && responses.contains(".metadata.labels.seen"),
        "{what}: the response has no objects: {responses}"
    );
    for planted in PLANTED {
        assert!(
            !responses.contains(planted),
            "{what}: {planted} was shown: {responses}"
        );
    }
}

async fn shown<K: Kind + Serialize>(informer: SharedInformer<K>, client: &Client) -> Value {
    let router = Dashboard::new().browse(&informer).router();
    started(&informer).await;
    let responses = everything(client, &router).await;
    assert_clean(&responses, std::any::type_name::<K>());
    get_json(&router, "/api/object?informer=secrets&key=default/db").await["object"].clone()
}

#[tokio::test]
async fn values_are_hidden_for_any_type_of_the_informer() {
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        let (_server, client) = scene().await;
        let object = shown(
            SharedInformer::<Secret>::builder(client.clone())
                .cache_format(form)
                .build(),
            &client,
        )
        .await;
        assert_eq!(
            object["data"],
            json!({ "password": "(15 bytes, not shown)", "user": "(4 bytes, not shown)" })
        );
        assert_eq!(
            object["metadata"]["annotations"],
            json!({ APPLIED: "(not shown)", "team": "shop" })
        );
    }
    let (_server, client) = scene().await;
    let dynamic = ApiResource::erase::<Secret>(&());
    shown(
        SharedInformer::<DynamicObject>::builder_with(client.clone(), dynamic).build(),
        &client,
    )
    .await;
    let (_server, client) = scene().await;
    shown(
        SharedInformer::<PartialObjectMeta<Secret>>::builder(client.clone()).build(),
        &client,
    )
    .await;
    let (_server, client) = scene().await;
    shown(SharedInformer::<Login>::builder(client.clone()).build(), &client).await;
    let (_server, client) = scene().await;
    let secrets = SharedInformer::<Secret>::builder(client.clone()).build();
    let router = Dashboard::new().informer(&secrets).router();
    started(&secrets).await;
    assert_clean(&everything(&client, &router).await, "metadata only");
}

#[tokio::test]
async fn a_filter_reveals_no_value() {
    let (_server, client) = scene().await;
    let secrets = SharedInformer::<Secret>::builder(client).build();
    let password = |secret: &Secret| {
        let data = secret.data.as_ref()?.get("password")?.0.clone();
        String::from_utf8(data).ok()
    };
    secrets.index("password", password).expect("an index");
    let router = Dashboard::new().browse(&secrets).router();
    started(&secrets).await;
    let total = async |filter: &str| {
        get_json(&router, &format!("/api/objects?informer=secrets&{filter}")).await["total"].clone()
    };
    assert_eq!(total("labels=app%3Ddb").await, 1);
    assert_eq!(
        total("field=.data.password").await,
        1,
        "the existence of a field is not secret"
    );
    for right_or_wrong in [ENCODED, "aHVudGVyMi1ndWVzc2Vk"] {
        assert_eq!(
            total(&format!("field=.data.password%3D{right_or_wrong}")).await,
            0
        );
        assert_eq!(
            total(&format!("field=.data.password!%3D{right_or_wrong}")).await,
            1
        );
    }
    for right_or_wrong in ["hunter2-planted", "hunter2-guessed"] {
        let answer = get(
            &router,
            &format!("/api/objects?informer=secrets&index=password%3D{right_or_wrong}"),
        )
        .await;
        assert!(answer.error_message().contains("indexes of Secrets"));
    }
    let values = get_json(&router, "/api/index-values?informer=secrets&index=password").await;
    assert_eq!(values, json!([]));
}

#[tokio::test]
async fn a_change_of_a_hidden_value_shows_no_difference() {
    let (_server, client) = scene().await;
    let secrets = SharedInformer::<Secret>::builder(client.clone()).build();
    let router = Dashboard::new().browse(&secrets).router();
    started(&secrets).await;
    let api: Api<Secret> = Api::namespaced(client, "default");
    let patch = json!({ "data": { "password": "Y2hhbmdlZC1wbGFudGVk" } });
    api.patch("db", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("a patch");
    let history = until(&router, "/api/history?informer=secrets", |list| {
        list[0]["what"] == "updated"
    })
    .await;
    assert_eq!(history[0]["differences"], json!([]), "both have 15 bytes");
}

#[tokio::test]
async fn messages_of_user_functions_about_secrets_are_hidden() {
    let (_server, client) = scene().await;
    let secrets = SharedInformer::<Secret>::builder(client).build();
    let complain = |secret: &Secret| {
        let value = secret
            .data
            .as_ref()
            .and_then(|data| data.get("password"))
            .map(|value| value.0.clone());
        let value = String::from_utf8(value.unwrap_or_default()).unwrap_or_default();
        Err::<Vec<String>, String>(format!("cannot use {value}"))
    };
    secrets.try_index("bad", complain).expect("an index");
    let router = Dashboard::new().browse(&secrets).router();
    started(&secrets).await;
    let overview = until(&router, "/api/overview", |now| now["informers"][0]["errors"] != 0).await;
    assert!(!overview.to_string().contains("hunter2"), "{overview}");
    let words = overview["informers"][0]["error"]["message"]
        .as_str()
        .expect("words");
    assert!(words.contains("in the log only"), "{words}");
}

#[tokio::test]
async fn a_secret_inside_another_object_is_redacted_too() {
    let (server, client) = server().await;
    let mut bundle = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "bundles.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "bundles", "kind": "Bundle" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    });
    server.load([bundle.take()]).expect("a kind");
    let manifests = json!([secret("hunter2-planted", ENCODED)]);
    let applied = json!({ "manifests": manifests }).to_string();
    server
        .load([json!({
            "apiVersion": "example.com/v1", "kind": "Bundle", "manifests": manifests,
            "metadata": { "namespace": "default", "name": "b", "annotations": { APPLIED: applied } },
        })])
        .expect("a bundle");
    let kind = kube::core::GroupVersionKind::gvk("example.com", "v1", "Bundle");
    let resource = ApiResource::from_gvk_with_plural(&kind, "bundles");
    let bundles = SharedInformer::<DynamicObject>::builder_with(client, resource).build();
    let router = Dashboard::new().informer(&bundles).router();
    started(&bundles).await;
    let path = "/api/object?informer=bundles.example.com&key=default/b";
    let text = get(&router, path).await.text;
    assert!(text.contains("15 bytes, not shown"), "{text}");
    assert!(PLANTED.iter().all(|planted| !text.contains(planted)), "{text}");
}
