//! The schemas of all types in a document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{OpenApiVersion, ResourceDoc, names};
use crate::schema::{Field, ListKind, Resolved, Struct, Type, TypeId, TypeKind, Types};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Collects schemas with all types that they reference.
pub(super) struct Schemas<'t> {
    pub(super) version: OpenApiVersion,
    types: &'t Types,
    done: Map<String, Value>,
    kinds: BTreeMap<String, BTreeSet<(String, String, String)>>,
}

impl<'t> Schemas<'t> {
    pub(super) fn new(version: OpenApiVersion, types: &'t Types) -> Schemas<'t> {
        Schemas {
            version,
            types,
            done: Map::new(),
            kinds: BTreeMap::new(),
        }
    }

    /// Returns all schemas; those of kinds have their group, version and kind.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        for (name, kinds) in &self.kinds {
            if let Some(schema) = self.done.get_mut(name) {
                schema["x-kubernetes-group-version-kind"] = kinds
                    .iter()
                    .map(|(group, version, kind)| json!({ "group": group, "version": version, "kind": kind }))
                    .collect();
            }
        }
        self.done
    }

    fn is_kind(&mut self, name: &str, group: &str, version: &str, kind: &str) {
        let kind = (group.to_owned(), version.to_owned(), kind.to_owned());
        self.kinds.entry(name.to_owned()).or_default().insert(kind);
    }

    /// Returns a reference to the type of a resource.
    pub(super) fn resource(&mut self, resource: &ResourceDoc<'_>) -> Value {
        let name = &resource.type_name;
        self.is_kind(name, resource.group, resource.version, resource.kind);
        match resource.schema {
            None => self.named(name),
            Some(schema) => {
                if !self.done.contains_key(name) {
                    let schema = self.custom(schema);
                    self.done.insert(name.clone(), schema);
                }
                self.reference(name)
            }
        }
    }

    /// Returns a reference to the type of a resource's list.
    pub(super) fn list(&mut self, resource: &ResourceDoc<'_>) -> Value {
        let name = resource.list_type();
        self.is_kind(&name, resource.group, resource.version, &resource.list_kind);
        if resource.schema.is_some() && !self.done.contains_key(&name) {
            let schema = self.custom_list(resource);
            self.done.insert(name.clone(), schema);
        }
        self.named(&name)
    }

    /// Returns a reference to the type of a kind, for subresources.
    pub(super) fn kind(&mut self, group: &str, version: &str, kind: &str) -> Value {
        let name = names::builtin_type(group, version, kind);
        self.is_kind(&name, group, version, kind);
        self.named(&name)
    }

    /// Returns a reference to a type that all groups share, for example `Status`.
    pub(super) fn meta(&mut self, kind: &str) -> Value {
        let name = format!("{META}.{kind}");
        if matches!(kind, "APIResourceList" | "DeleteOptions" | "Status") {
            self.is_kind(&name, "", "v1", kind);
        }
        self.named(&name)
    }

    fn named(&mut self, name: &str) -> Value {
        if !self.done.contains_key(name) {
            match self.types.find(name) {
                Some(id) => self.add(id),
                None => {
                    self.done.insert(name.to_owned(), json!({ "type": "object" }));
                }
            }
        }
        self.reference(name)
    }

    fn reference(&self, name: &str) -> Value {
        match self.version {
            OpenApiVersion::V2 => json!({ "$ref": format!("#/definitions/{name}") }),
            OpenApiVersion::V3 => json!({ "$ref": format!("#/components/schemas/{name}") }),
        }
    }

    fn add(&mut self, id: TypeId) {
        let types = self.types;
        let def = types.get(id);
        // The name is added first, because types may be recursive.
        self.done.insert(def.name.clone(), Value::Null);
        let schema = match &def.kind {
            // An empty schema would allow any value; these are objects with any content.
            TypeKind::Alias(Type::Any) if !def.name.contains("JSON") => json!({ "type": "object" }),
            TypeKind::Alias(ty) => self.of(ty),
            TypeKind::Struct(s) => self.structure(s),
        };
        self.done.insert(def.name.clone(), schema);
    }

    fn structure(&mut self, s: &Struct) -> Value {
        let mut schema = json!({ "type": "object" });
        let required: Vec<&str> = s
            .fields
            .iter()
            .filter(|f| f.required)
            .map(|f| f.name.as_str())
            .collect();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        if !s.fields.is_empty() {
            let properties: Map<String, Value> =
                s.fields.iter().map(|f| (f.name.clone(), self.field(f))).collect();
            schema["properties"] = properties.into();
        }
        if s.atomic {
            schema["x-kubernetes-map-type"] = "atomic".into();
        }
        if s.open {
            schema["x-kubernetes-preserve-unknown-fields"] = true.into();
        }
        schema
    }

    fn field(&mut self, field: &Field) -> Value {
        let mut schema = self.of(&field.ty);
        // Version 3 ignores other keywords beside a reference.
        if self.version == OpenApiVersion::V3 && schema.get("$ref").is_some() {
            schema = json!({ "allOf": [schema] });
        }
        if let Some(default) = &field.default {
            schema["default"] = default.clone();
        }
        match &field.list {
            ListKind::Atomic => {}
            ListKind::Set => schema["x-kubernetes-list-type"] = "set".into(),
            ListKind::Map(keys) => {
                schema["x-kubernetes-list-type"] = "map".into();
                schema["x-kubernetes-list-map-keys"] = keys.clone().into();
            }
        }
        if field.atomic {
            schema["x-kubernetes-map-type"] = "atomic".into();
        }
        if let Some(key) = &field.merge_key {
            schema["x-kubernetes-patch-merge-key"] = key.as_str().into();
        }
        let strategies = [
            (field.patch_merge, "merge"),
            (field.patch_replace, "replace"),
            (field.retain_keys, "retainKeys"),
        ];
        let strategies: Vec<&str> = strategies
            .into_iter()
            .filter_map(|(set, name)| set.then_some(name))
            .collect();
        if !strategies.is_empty() {
            schema["x-kubernetes-patch-strategy"] = strategies.join(",").into();
        }
        schema
    }

    fn of(&mut self, ty: &Type) -> Value {
        let v3 = self.version == OpenApiVersion::V3;
        match ty {
            Type::Quantity if v3 => json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
            Type::String | Type::Quantity => json!({ "type": "string" }),
            Type::Bool => json!({ "type": "boolean" }),
            Type::Int32 => json!({ "type": "integer", "format": "int32" }),
            Type::Int64 => json!({ "type": "integer", "format": "int64" }),
            Type::Double => json!({ "type": "number", "format": "double" }),
            Type::Bytes => json!({ "type": "string", "format": "byte" }),
            Type::Time => json!({ "type": "string", "format": "date-time" }),
            Type::IntOrString if v3 => {
                json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] })
            }
            Type::IntOrString => json!({ "type": "string", "format": "int-or-string" }),
            Type::Any => json!({}),
            Type::Ref(id) => {
                let types = self.types;
                self.named(&types.get(*id).name)
            }
            Type::List(item) => json!({ "type": "array", "items": self.inner(item) }),
            Type::Map(value) => json!({ "type": "object", "additionalProperties": self.inner(value) }),
        }
    }

    fn inner(&mut self, ty: &Type) -> Value {
        let schema = self.of(ty);
        let is_struct = matches!(self.types.resolve(ty), Resolved::Struct(_));
        if self.version == OpenApiVersion::V3 && is_struct {
            return json!({ "allOf": [schema] });
        }
        schema
    }
}
