use serde_json::{Value, json};

use super::{from_stored, to_stored};
use crate::api::{Resource, custom_resources};
use crate::store::{EventKind, Key, Stored};

/// Returns a custom resource that is stored in this version and whose `spec` has these properties.
fn resource(version: &str, properties: &Value) -> Resource {
    let spec = json!({ "type": "object", "properties": properties });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let definition = json!({
        "metadata": { "name": "bars.example.org" },
        "spec": {
            "group": "example.org",
            "names": { "plural": "bars", "kind": "Bar" },
            "versions": [{ "name": version, "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
        "status": { "conditions": [{ "type": "Established", "status": "True" }] },
    });
    custom_resources(&definition).pop().expect("a resource")
}

fn store(spec: &Value, resource: &Resource) -> Stored {
    let object =
        json!({ "apiVersion": "example.org/v1", "kind": "Bar", "metadata": { "name": "x" }, "spec": spec });
    let (mut object, schema) = to_stored(object, resource);
    Stored::encode(
        EventKind::Added,
        Key::new(None, "x"),
        7,
        &mut object,
        Box::default(),
        schema,
    )
}

#[test]
fn objects_record_the_schema_that_does_not_change_them() {
    let text = json!({ "type": "string" });
    let first = resource("v1", &json!({ "a": text, "old": text }));
    let changing = resource(
        "v1",
        &json!({ "a": text, "d": { "type": "string", "default": "dd" } }),
    );
    let wider = resource("v1", &json!({ "a": text, "old": text, "new": text }));
    let stored = store(&json!({ "a": "x", "old": "y" }), &first);
    assert!(stored.is_of_schema(first.schema_hash()));
    for _ in 0..2 {
        assert_eq!(
            from_stored(&stored, &changing)["spec"],
            json!({ "a": "x", "d": "dd" })
        );
        assert!(!stored.is_of_schema(changing.schema_hash()));
    }
    for resource in [&wider, &first] {
        assert_eq!(
            from_stored(&stored, resource)["spec"],
            json!({ "a": "x", "old": "y" })
        );
        assert!(stored.is_of_schema(resource.schema_hash()));
    }
}

#[test]
fn unpruned_objects_are_stored_pruned_and_defaulted() {
    let resource = resource(
        "v1",
        &json!({
            "a": { "type": "string" },
            "d": { "type": "string", "default": "dd" },
            "n": { "type": "object", "properties": { "m": { "type": "string" } } },
        }),
    );
    let stored = store(&json!({ "a": null, "n": { "m": null }, "unknown": 1 }), &resource);
    let expected = json!({ "d": "dd", "n": {} });
    assert_eq!(stored.value()["spec"], expected);
    assert!(stored.is_of_schema(0));
    assert_eq!(from_stored(&stored, &resource)["spec"], expected);
    assert!(stored.is_of_schema(resource.schema_hash()));
}

#[test]
fn objects_are_read_in_the_current_storage_version() {
    let properties = json!({ "a": { "type": "string" } });
    let (before, after) = (resource("v1", &properties), resource("v2", &properties));
    let stored = store(&json!({ "a": "x" }), &before);
    assert!(stored.is_of_schema(before.schema_hash()) && !stored.is_of_schema(after.schema_hash()));
    assert_eq!(from_stored(&stored, &after)["apiVersion"], "example.org/v2");
}
