//! The values of Secrets come up nowhere, and no question can be asked that would tell them apart.

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

use crate::{get, server, started, told, until};

/// What is looked for, as text and in base64 wherever it begins; before and after a change, and in every other form.
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

/// A Secret as a program of one's own may see it: the value is under another name.
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

/// Asks everything that can be asked of a kind, and changes the Secret in between.
async fn everything(client: &Client, router: &Router) -> String {
    let filters = [
        String::new(),
        format!("field=.data.password%3D{ENCODED}"),
        "field=.data.password".to_owned(),
        "field=.stringData.password%3Dhunter2-planted".to_owned(),
        "index=password%3Dhunter2-planted".to_owned(),
    ];
    let mut said = String::new();
    for filter in &filters {
        said += &get(router, &format!("/api/objects?informer=secrets&{filter}"))
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
        said += &get(router, path).await.text;
    }
    said
}

fn assert_clean(said: &str, what: &str) {
    assert!(
        said.contains("default/db") && said.contains(".metadata.labels.seen"),
        "{what}: nothing is proven: {said}"
    );
    for planted in PLANTED {
        assert!(!said.contains(planted), "{what}: {planted} was told: {said}");
    }
}

async fn shown<K: Kind + Serialize>(informer: SharedInformer<K>, client: &Client) -> Value {
    let router = Dashboard::new().browse(&informer).router();
    started(&informer).await;
    let said = everything(client, &router).await;
    assert_clean(&said, std::any::type_name::<K>());
    told(&router, "/api/object?informer=secrets&key=default/db").await["object"].clone()
}

#[tokio::test]
async fn values_are_nowhere_whatever_the_type_of_the_informer() {
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
async fn a_filter_finds_nothing_out() {
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
        told(&router, &format!("/api/objects?informer=secrets&{filter}")).await["total"].clone()
    };
    assert_eq!(total("labels=app%3Ddb").await, 1);
    assert_eq!(
        total("field=.data.password").await,
        1,
        "that it is there may be known"
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
        assert!(answer.refusal().contains("indexes of Secrets"));
    }
    let values = told(&router, "/api/index-values?informer=secrets&index=password").await;
    assert_eq!(values, json!([]));
}

#[tokio::test]
async fn a_value_that_changes_in_secret_makes_no_difference() {
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
async fn words_of_the_programs_own_code_are_not_told_of_a_secret() {
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
    let words = overview["informers"][0]["error"]["words"]
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
