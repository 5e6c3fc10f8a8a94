//! A node of a structural schema.

use serde_json::{Map, Value};

/// A schema as JSON of `openAPIV3Schema`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema<'a>(pub(super) &'a Value);

/// The schema of additional properties.
#[derive(Debug, Clone, Copy)]
pub(super) enum Additional<'a> {
    Unsaid,
    Allowed(bool),
    Schema(Schema<'a>),
}

impl<'a> Schema<'a> {
    pub(super) fn get(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|v| !v.is_null())
    }

    pub(super) fn text(self, key: &str) -> &'a str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn flag(self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn count(self, key: &str) -> Option<i64> {
        self.get(key).and_then(Value::as_i64)
    }

    pub(super) fn list(self, key: &str) -> &'a [Value] {
        self.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(super) fn texts(self, key: &str) -> impl Iterator<Item = &'a str> {
        self.list(key).iter().filter_map(Value::as_str)
    }

    /// Returns the schemas of a list, for example `anyOf`.
    pub(super) fn schemas(self, key: &str) -> impl Iterator<Item = Schema<'a>> {
        self.list(key).iter().map(Schema)
    }

    pub(super) fn kind(self) -> &'a str {
        self.text("type")
    }

    pub(super) fn nullable(self) -> bool {
        self.flag("nullable")
    }

    pub(super) fn preserves(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    pub(super) fn embedded(self) -> bool {
        self.flag("x-kubernetes-embedded-resource")
    }

    pub(super) fn int_or_string(self) -> bool {
        self.flag("x-kubernetes-int-or-string")
    }

    pub(super) fn list_type(self) -> &'a str {
        self.text("x-kubernetes-list-type")
    }

    pub(super) fn default(self) -> Option<&'a Value> {
        self.get("default")
    }

    fn property_map(self) -> Option<&'a Map<String, Value>> {
        self.get("properties").and_then(Value::as_object)
    }

    pub(super) fn has_properties(self) -> bool {
        self.property_map().is_some_and(|map| !map.is_empty())
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'a str, Schema<'a>)> {
        self.property_map()
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), Schema(schema)))
    }

    pub(super) fn property(self, name: &str) -> Option<Schema<'a>> {
        self.property_map()?.get(name).map(Schema)
    }

    pub(super) fn items(self) -> Option<Schema<'a>> {
        self.get("items").filter(|items| items.is_object()).map(Schema)
    }

    pub(super) fn additional(self) -> Additional<'a> {
        match self.get("additionalProperties") {
            None => Additional::Unsaid,
            Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
            Some(schema) => Additional::Schema(Schema(schema)),
        }
    }

    /// Returns the schema of a property, named or additional.
    pub(super) fn child(self, name: &str) -> Option<Schema<'a>> {
        self.property(name).or_else(|| match self.additional() {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        })
    }

    /// Returns whether this schema or a nested one satisfies `is`.
    pub(super) fn any(self, is: &dyn Fn(Schema<'a>) -> bool) -> bool {
        is(self)
            || self.items().is_some_and(|s| s.any(is))
            || self.properties().any(|(_, s)| s.any(is))
            || matches!(self.additional(), Additional::Schema(s) if s.any(is))
            || ["allOf", "anyOf", "oneOf"]
                .iter()
                .any(|key| self.schemas(key).any(|s| s.any(is)))
            || self.get("not").is_some_and(|not| Schema(not).any(is))
    }
}

/// Returns whether a field is one that all resources have.
pub(super) fn is_meta_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}
