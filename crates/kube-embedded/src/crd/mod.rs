//! Custom resources: their definitions and the processing of their objects.
//!
//! A `CustomResourceDefinition` is validated by [`validate_crd`], gets its status from [`established_status`], and is
//! converted to a [`CustomKind`], which prunes, defaults and validates objects in the order of the API server:
//! [`CustomKind::prune`] while decoding, [`CustomKind::default`] afterwards, [`CustomKind::validate`] before storing.

mod defaulting;
mod definition;
mod embedded;
mod expressions;
mod formats;
mod lists;
mod names;
mod prepare;
mod prune;
mod status;
mod structure;
#[cfg(test)]
mod tests;
mod types;
mod validate;

use std::sync::OnceLock;

use kube_table::Columns;
use serde_json::Value;

pub(crate) use self::definition::{unrecognized_formats, validate_crd};
use self::expressions::Rules;
pub(crate) use self::prepare::prepare_for_update;
pub(crate) use self::status::{
    established_status, initial_status, is_established, terminate, updated_status,
};
use self::structure::Schema;
pub(crate) use self::types::name as type_name;
use crate::hash::fnv1a;
use crate::regexp::Patterns;
use crate::scale::{self, ScalePaths};
use crate::schema::{Type, Types};
use crate::status::{FieldError, FieldErrorKind, Result};

/// The collection of the definitions.
pub(crate) const COLLECTION: &str = "apiextensions.k8s.io/customresourcedefinitions";
/// The finalizer that delays the deletion of a definition until its objects are deleted.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// A kind that a `CustomResourceDefinition` adds to the API.
#[derive(Debug)]
pub(crate) struct CustomKind {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// In the order of the definition.
    pub(crate) versions: Vec<CustomVersion>,
}

/// A version of a [`CustomKind`].
#[derive(Debug)]
pub(crate) struct CustomVersion {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    /// Warning for clients of this version, if it is deprecated.
    pub(crate) warning: Option<String>,
    /// Whether the version has a `status` subresource.
    pub(crate) status: bool,
    /// The `scale` subresource of the version.
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) columns: Columns,
    /// Paths such as `.spec.color`.
    pub(crate) selectable_fields: Vec<String>,
    /// The schema in the definition.
    pub(crate) schema: Value,
    /// Hash of the name of the version and its schema; never 0.
    pub(crate) schema_hash: u64,
    /// The types of the schema, for merging and server-side apply. They contain neither formats nor bounds.
    /// [`CustomKind::validate`] reports values of a wrong type.
    pub(crate) types: Types,
    /// The type of an object, in [`CustomVersion::types`].
    pub(crate) root: Type,
    patterns: Patterns,
    /// The CEL rules of the schema, compiled on first use.
    rules: OnceLock<Option<Rules>>,
}

impl CustomKind {
    /// Converts a definition that [`validate_crd`] has accepted. Uses its accepted names, if it has any.
    pub(crate) fn from_crd(crd: &Value) -> CustomKind {
        let spec = &crd["spec"];
        let accepted = &crd["status"]["acceptedNames"];
        let names = Schema(match accepted["kind"].as_str() {
            Some(kind) if !kind.is_empty() => accepted,
            _ => &spec["names"],
        });
        let or = |text: &str, default: String| if text.is_empty() { default } else { text.to_owned() };
        let kind = names.text("kind").to_owned();
        let group = spec["group"].as_str().unwrap_or_default().to_owned();
        let versions = spec["versions"].as_array().into_iter().flatten();
        CustomKind {
            plural: names.text("plural").to_owned(),
            singular: or(names.text("singular"), kind.to_lowercase()),
            list_kind: or(names.text("listKind"), format!("{kind}List")),
            short_names: names.texts("shortNames").map(str::to_owned).collect(),
            categories: names.texts("categories").map(str::to_owned).collect(),
            namespaced: spec["scope"] == "Namespaced",
            versions: versions
                .map(|v| CustomVersion::new(Schema(v), &group, &kind))
                .collect(),
            kind,
            group,
        }
    }

    /// Returns a version by name, served or not.
    pub(crate) fn version(&self, name: &str) -> Option<&CustomVersion> {
        self.versions.iter().find(|v| v.name == name)
    }

    /// Returns the version in which objects are stored.
    pub(crate) fn storage_version(&self) -> Option<&CustomVersion> {
        self.versions.iter().find(|v| v.storage)
    }

    /// Removes fields that are not in the schema, and null where it has no effect.
    ///
    /// Returns the paths of the unknown fields, for example `spec.foo`, in the order of strict decoding's messages
    /// (`unknown field "spec.foo"`). Metadata is compared with the built-in type.
    pub(crate) fn prune(&self, version: &str, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        if let Some(version) = self.version(version) {
            prune::prune(object, Schema(&version.schema), &mut unknown);
        }
        unknown
    }

    /// Sets the defaults of the schema, also in place of null where that has no effect.
    pub(crate) fn default(&self, version: &str, object: &mut Value) {
        if let Some(version) = self.version(version) {
            defaulting::fill(object, Schema(&version.schema));
        }
    }

    /// Prunes and defaults an object in the storage version. Returns whether that changed the object.
    pub(crate) fn normalize(&self, object: &mut Value) -> bool {
        self.storage_version().is_some_and(|version| {
            let schema = Schema(&version.schema);
            let is_pruned = prune::prune(object, schema, &mut Vec::new());
            let is_defaulted = defaulting::fill(object, schema);
            is_pruned || is_defaulted
        })
    }

    /// Validates an object: schema, scale paths, embedded resources, lists of type `set` and `map`, CEL rules.
    ///
    /// With `old`, errors in unchanged values are not reported. Name and labels of the object are validated elsewhere.
    pub(crate) fn validate(&self, version: &str, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let Some(version) = self.version(version) else {
            return Vec::new();
        };
        let schema = Schema(&version.schema);
        let mut errors = validate::check(schema, &version.patterns, object, old, None);
        if let Some(paths) = &version.scale {
            errors.extend(scale::check_spec(paths, object));
            errors.extend(scale::check_status(paths, object));
        }
        errors.extend(embedded::check(schema, object));
        version.check_lists(object, old, &mut errors);
        version.check_rules(object, old, &mut errors);
        errors
    }

    /// Validates a write to the `status` subresource: only the status, but CEL rules of the whole object.
    pub(crate) fn validate_status(&self, version: &str, object: &Value, old: &Value) -> Vec<FieldError> {
        let Some(version) = self.version(version) else {
            return Vec::new();
        };
        let mut errors = Vec::new();
        let schema = Schema(&version.schema);
        if let (Some(status), Some(property)) = (object.get("status"), schema.property("status")) {
            let old = old.get("status");
            errors = validate::check(property, &version.patterns, status, old, Some("status"));
        }
        if let Some(paths) = &version.scale {
            errors.extend(scale::check_status(paths, object));
        }
        version.check_lists(object, Some(old), &mut errors);
        version.check_rules(object, Some(old), &mut errors);
        errors
    }

    /// Returns the `scale` subresource of an object.
    ///
    /// # Errors
    /// If the object has no replicas, or values of a wrong type at the paths.
    pub(crate) fn to_scale(&self, version: &str, object: &Value) -> Result<Value> {
        scale::of_custom(self.scale_paths(version)?, object)
    }

    /// Returns the `scale` subresource of an object for a patch and [`CustomKind::apply_scale`]. Replicas may be
    /// missing.
    ///
    /// # Errors
    /// If the object has values of a wrong type at the paths.
    pub(crate) fn to_scale_for_update(&self, version: &str, object: &Value) -> Result<Value> {
        scale::of_custom_for_update(self.scale_paths(version)?, object)
    }

    /// Sets the replicas of an object to those of a scale, and its resource version, if it has one.
    ///
    /// # Errors
    /// If neither the object nor the scale has replicas, or a parent of the field is not an object.
    pub(crate) fn apply_scale(&self, version: &str, object: &mut Value, scale: &Value) -> Result<()> {
        scale::apply_custom(self.scale_paths(version)?, object, scale)
    }

    fn scale_paths(&self, version: &str) -> Result<&ScalePaths> {
        self.version(version)
            .and_then(|v| v.scale.as_ref())
            .ok_or_else(crate::status::Status::no_such_path)
    }
}

impl CustomVersion {
    fn new(version: Schema<'_>, group: &str, kind: &str) -> CustomVersion {
        let name = version.text("name").to_owned();
        let schema = version.0["schema"]["openAPIV3Schema"].clone();
        let mut types = Types::default();
        let root = types::root(&mut types, Schema(&schema), &types::name(group, &name, kind));
        let warning = version
            .flag("deprecated")
            .then(|| match version.text("deprecationWarning") {
                "" => format!("{group}/{name} {kind} is deprecated"),
                own => own.to_owned(),
            });
        CustomVersion {
            served: version.flag("served"),
            storage: version.flag("storage"),
            warning,
            status: version.0["subresources"]["status"].is_object(),
            scale: ScalePaths::of_custom(&version.0["subresources"]["scale"]),
            columns: Columns::custom(&version.0["additionalPrinterColumns"]),
            selectable_fields: version
                .schemas("selectableFields")
                .map(|f| f.text("jsonPath").to_owned())
                .collect(),
            patterns: Patterns::of(&schema),
            rules: OnceLock::new(),
            schema_hash: fnv1a(format!("{name} {schema}").as_bytes()).max(1),
            schema,
            types,
            root,
            name,
        }
    }

    /// Duplicates in a list that already contained some are allowed.
    fn check_lists(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
        let schema = Schema(&self.schema);
        if old.is_none_or(|old| lists::check(schema, old).is_empty()) {
            errors.extend(lists::check(schema, object));
        }
    }

    /// Checks the CEL rules, or reports that other errors prevented that.
    fn check_rules(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
        let rules = self.rules.get_or_init(|| Rules::of(Schema(&self.schema)));
        let Some(rules) = rules else { return };
        let blocks = |e: &FieldError| {
            matches!(
                e.kind,
                FieldErrorKind::NotSupported
                    | FieldErrorKind::Required
                    | FieldErrorKind::TooLong
                    | FieldErrorKind::TooMany
                    | FieldErrorKind::TypeInvalid
            )
        };
        if errors.iter().any(blocks) {
            errors.push(FieldError::invalid(
                "<nil>",
                Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing errors to \
                 complete validation",
            ));
            return;
        }
        rules.validate(Schema(&self.schema), object, old, errors);
    }
}
