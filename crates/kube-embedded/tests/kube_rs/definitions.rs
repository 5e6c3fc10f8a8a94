//! Custom resources whose definition changes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube_embedded::Server;
use serde_json::{Value, json};

fn definition(spec: &Value) -> CustomResourceDefinition {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let definition = json!({
        "metadata": {"name": "bars.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": "bars", "kind": "Bar"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    serde_json::from_value(definition).expect("a definition")
}

/// Objects that were written before a definition changed are decoded with the current definition, and can be deleted.
#[tokio::test]
async fn objects_are_decoded_with_the_current_definition() -> Result<(), kube::Error> {
    let server = Server::start().await.expect("a server");
    let client = server.direct_client();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let text = json!({"type": "string"});
    let first = definition(&json!({"type": "object", "properties": {"a": text, "old": text}}));
    crds.create(&PostParams::default(), &first).await?;
    let bars = ApiResource {
        group: "example.org".into(),
        version: "v1".into(),
        api_version: "example.org/v1".into(),
        kind: "Bar".into(),
        plural: "bars".into(),
    };
    let api: Api<DynamicObject> = Api::default_namespaced_with(client, &bars);
    let mut one = DynamicObject::new("one", &bars).data(json!({"spec": {"a": "x", "old": "y"}}));
    one.metadata.finalizers = Some(vec!["example.org/hold".into()]);
    api.create(&PostParams::default(), &one).await?;

    let spec = json!({
        "type": "object",
        "required": ["must"],
        "properties": {"a": text, "must": text, "d": {"type": "string", "default": "dd"}},
    });
    let change = Patch::Merge(json!({"spec": definition(&spec).spec}));
    let patched = crds
        .patch("bars.example.org", &PatchParams::default(), &change)
        .await?;
    assert!(patched.metadata.generation > Some(1));
    assert_eq!(api.get("one").await?.data["spec"], json!({"a": "x", "d": "dd"}));
    let two = DynamicObject::new("two", &bars).data(json!({"spec": {"must": "m"}}));
    api.create(&PostParams::default(), &two).await?;
    let listed = api.list(&kube::api::ListParams::default()).await?;
    let specs: Vec<&Value> = listed.items.iter().map(|item| &item.data["spec"]).collect();
    assert_eq!(
        specs,
        [&json!({"a": "x", "d": "dd"}), &json!({"d": "dd", "must": "m"})]
    );

    let let_go = Patch::Merge(json!({"metadata": {"finalizers": null, "annotations": {"q": "s"}}}));
    let let_go = api.patch("one", &PatchParams::default(), &let_go).await?;
    assert_eq!(let_go.metadata.finalizers, None);
    let refused = api
        .patch(
            "one",
            &PatchParams::default(),
            &Patch::Merge(json!({"spec": {"a": 1}})),
        )
        .await;
    assert!(refused.is_err(), "changed values are validated");
    Ok(())
}
