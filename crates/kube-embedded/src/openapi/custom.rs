//! The schemas of custom resources, with the additions of the real server.

use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use super::{OpenApiVersion, ResourceDoc};

const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers \
     should convert recognized schemas to the latest internal value, and may reject unrecognized values.";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may \
     infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase.";
const EMBEDDED_API_VERSION: &str =
    "apiVersion defines the versioned schema of this representation of an object.";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase.";

impl Schemas<'_> {
    /// Returns the schema of a custom resource, with the fields that all resources have.
    pub(super) fn custom(&mut self, schema: &Value) -> Value {
        if !schema.is_object() {
            return json!({ "type": "object" });
        }
        // With version 2, clients would reject unknown fields.
        if self.version == OpenApiVersion::V2 && preserves_unknown(schema) {
            return json!({ "type": "object" });
        }
        let mut schema = schema.clone();
        if self.version == OpenApiVersion::V2 {
            to_version_2(&mut schema);
        }
        self.complete_embedded(&mut schema);
        self.add_meta(&mut schema, API_VERSION, KIND);
        schema
    }

    /// Returns the schema of a list of custom resources.
    pub(super) fn custom_list(&mut self, resource: &ResourceDoc<'_>) -> Value {
        let items = json!({
            "description": described(&format!("List of {}.", resource.plural), ""),
            "type": "array",
            "items": self.resource(resource),
        });
        let metadata = self.meta("ListMeta");
        json!({
            "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": text(API_VERSION, "#resources"),
                "kind": text(KIND, "#types-kinds"),
                "metadata": self.with_description(metadata, described("Standard list metadata.", "#types-kinds")),
                "items": items,
            },
        })
    }

    fn add_meta(&mut self, schema: &mut Value, api_version: &str, kind: &str) {
        let metadata = self.meta("ObjectMeta");
        let metadata = self.with_description(metadata, described("Standard object's metadata.", "#metadata"));
        if !schema["properties"].is_object() {
            schema["properties"] = json!({});
        }
        let properties = &mut schema["properties"];
        properties["apiVersion"] = text(api_version, "#resources");
        properties["kind"] = text(kind, "#types-kinds");
        properties["metadata"] = metadata;
    }

    /// Returns a reference with a description. Version 3 ignores other keywords beside a reference.
    fn with_description(&self, reference: Value, description: String) -> Value {
        let mut schema = match self.version {
            OpenApiVersion::V2 => reference,
            OpenApiVersion::V3 => json!({ "allOf": [reference] }),
        };
        schema["description"] = description.into();
        schema
    }

    /// Adds the fields that all resources have to embedded resources.
    fn complete_embedded(&mut self, schema: &mut Value) {
        for_each_inner(schema, |inner| self.complete_embedded(inner));
        let is_open = self.version == OpenApiVersion::V2 && preserves_unknown(schema);
        if schema["x-kubernetes-embedded-resource"] != true || is_open {
            return;
        }
        self.add_meta(schema, EMBEDDED_API_VERSION, EMBEDDED_KIND);
        let required = &mut schema["required"];
        let mut names = required.as_array().cloned().unwrap_or_default();
        for name in ["kind", "apiVersion"] {
            if !names.iter().any(|known| known == name) {
                names.push(name.into());
            }
        }
        *required = names.into();
    }
}

fn preserves_unknown(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

fn text(what: &str, section: &str) -> Value {
    json!({ "type": "string", "description": described(what, section) })
}

fn described(what: &str, section: &str) -> String {
    format!("{what} More info: {CONVENTIONS}{section}")
}

/// Removes what version 2 does not support, and types for which kubectl would reject unknown fields.
fn to_version_2(schema: &mut Value) {
    let preserves = preserves_unknown(schema);
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    for key in ["oneOf", "anyOf", "allOf", "not"] {
        fields.remove(key);
    }
    let nullable = fields.remove("nullable") == Some(Value::Bool(true));
    if nullable || preserves {
        fields.remove("items");
        fields.remove("properties");
    }
    let is_open = match fields.get("type").and_then(Value::as_str) {
        Some("object") => preserves,
        Some("array") => !fields.contains_key("items"),
        _ => false,
    };
    if nullable || is_open {
        fields.remove("type");
    }
    require_only_non_null(fields);
    for_each_inner(schema, to_version_2);
}

/// Removes nullable fields from the required ones.
fn require_only_non_null(fields: &mut Map<String, Value>) {
    let nullable: Vec<String> = match fields.get("properties") {
        Some(Value::Object(properties)) => {
            let nullable = properties.iter().filter(|(_, schema)| schema["nullable"] == true);
            nullable.map(|(name, _)| name.clone()).collect()
        }
        _ => Vec::new(),
    };
    let any = fields
        .get("additionalProperties")
        .is_some_and(|inner| inner["nullable"] == true);
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        required.retain(|name| !any && !nullable.iter().any(|other| name == other));
        if required.is_empty() {
            fields.remove("required");
        }
    }
}

fn for_each_inner(schema: &mut Value, mut change: impl FnMut(&mut Value)) {
    for (key, inner) in schema.as_object_mut().into_iter().flatten() {
        match (key.as_str(), inner) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(&mut change),
            ("items" | "additionalProperties", inner @ Value::Object(_)) => change(inner),
            _ => {}
        }
    }
}
