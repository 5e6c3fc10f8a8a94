//! Decoding, defaulting and validation of objects, built-in or custom.

use serde_json::Value;

use crate::admission;
use crate::api::{ObjectSchema, Registry, Resource};
use crate::crd;
use crate::defaults;
use crate::schema::strict::{duplicate_fields, strict_problems};
use crate::schema::{Type, Types, decode};
use crate::status::{FieldError, Result, Status};
use crate::validation;

/// A decoded object.
#[derive(Debug)]
pub(crate) struct DecodedObject {
    pub(crate) object: Value,
    /// Messages about unknown and duplicate fields, as in strict decoding.
    pub(crate) unknown: Vec<String>,
}

impl Resource {
    /// Checks version and kind of a body and decodes it. `text` is its JSON, if it was JSON, to find duplicate fields.
    pub(crate) fn decode(
        &self,
        registry: &Registry,
        mut object: Value,
        text: Option<&str>,
    ) -> Result<DecodedObject> {
        self.check_kind(registry, &mut object)?;
        match &self.schema {
            ObjectSchema::BuiltIn(Some(id)) => {
                let decoded = decode::decode(
                    Types::builtin(),
                    &Type::Ref(*id),
                    &self.kind,
                    &self.version,
                    object,
                )?;
                let unknown = match text {
                    Some(text) => strict_problems(Types::builtin(), &Type::Ref(*id), text),
                    None => decoded.unknown,
                };
                Ok(DecodedObject {
                    object: decoded.object,
                    unknown,
                })
            }
            ObjectSchema::BuiltIn(None) => Ok(DecodedObject {
                object,
                unknown: Vec::new(),
            }),
            ObjectSchema::Custom(custom) => {
                let unknown = custom.prune(&self.version, &mut object);
                let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
                let unknown = unknown
                    .chain(text.map(duplicate_fields).unwrap_or_default())
                    .collect();
                Ok(DecodedObject { object, unknown })
            }
        }
    }

    fn check_kind(&self, registry: &Registry, object: &mut Value) -> Result<()> {
        let expected = self.api_version();
        let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (mut kind, mut version) = (text(object, "kind"), text(object, "apiVersion"));
        if kind.is_empty() {
            kind.clone_from(&self.kind);
        }
        if version.is_empty() && self.custom().is_none() {
            version.clone_from(&expected);
        }
        if version != expected {
            let (group, name) = version.rsplit_once('/').unwrap_or(("", &version));
            if self.custom().is_some() || registry.find_kind(group, name, &kind).is_some() {
                return Err(Status::bad_request(format!(
                    "the API version in the data ({version}) does not match the expected API version ({expected})"
                )));
            }
            let why = format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            );
            return Err(Status::undecodable(&kind, name, &self.kind, &why));
        }
        if kind != self.kind {
            let group = if self.group.is_empty() {
                "core"
            } else {
                &self.group
            };
            let why = format!(
                "converting (v1.{kind}) to ({group}.{}): unknown conversion",
                self.kind
            );
            return Err(Status::undecodable(&kind, &self.version, &self.kind, &why));
        }
        object["kind"] = kind.into();
        object["apiVersion"] = version.into();
        Ok(())
    }

    /// Sets defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        match &self.schema {
            ObjectSchema::BuiltIn(_) => defaults::default(&self.group, &self.version, &self.kind, object),
            ObjectSchema::Custom(custom) => custom.default(&self.version, object),
        }
    }

    /// Adds the fields that admission sets and removes those that clients may not set on creation.
    pub(crate) fn prepare_for_create(&self, object: &mut Value) {
        match &self.schema {
            ObjectSchema::BuiltIn(_) => {
                defaults::admission::admit(&self.group, &self.kind, object);
                defaults::prepare::prepare_for_create(&self.group, &self.kind, object);
            }
            ObjectSchema::Custom(_) => {
                if self.has_status()
                    && let Some(fields) = object.as_object_mut()
                {
                    fields.remove("status");
                }
                object["metadata"]["generation"] = 1.into();
            }
        }
    }

    /// Restores the fields that clients may not change through this path, and increments the generation.
    pub(crate) fn prepare_for_update(&self, old: &Value, new: &mut Value, subresource: Option<&str>) {
        match &self.schema {
            ObjectSchema::BuiltIn(_) => {
                defaults::prepare::prepare_for_update(&self.group, &self.kind, old, new, subresource);
            }
            ObjectSchema::Custom(_) => crd::prepare_for_update(self.has_status(), old, new, subresource),
        }
    }

    /// Returns whether an update of a missing object creates it.
    pub(crate) fn creates_on_update(&self) -> bool {
        self.custom().is_none() && defaults::strategy::strategy(&self.group, &self.kind).create_on_update
    }

    /// Returns whether an update requires a resource version.
    pub(crate) fn needs_version(&self) -> bool {
        self.custom().is_some() || !defaults::strategy::strategy(&self.group, &self.kind).unconditional_update
    }

    /// Validates an object that is written through this path.
    pub(crate) fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        subresource: Option<&str>,
    ) -> Vec<FieldError> {
        match &self.schema {
            ObjectSchema::BuiltIn(_) if self.is("apiextensions.k8s.io", "CustomResourceDefinition") => {
                crd::validate_crd(object, old)
            }
            ObjectSchema::BuiltIn(_) => match (subresource, old) {
                (Some(sub), Some(old)) if sub != "status" => {
                    validation::validate_subresource(&self.group, &self.version, &self.kind, sub, object, old)
                }
                _ => {
                    let mut errors =
                        validation::validate(&self.group, &self.version, &self.kind, object, old);
                    if self.is(admission::GROUP, "ValidatingAdmissionPolicy") && subresource.is_none() {
                        errors.extend(admission::check_policy(object));
                    }
                    errors
                }
            },
            ObjectSchema::Custom(custom) => {
                let mut errors = validation::validate_metadata(&self.group, &self.kind, object, old);
                errors.extend(match (subresource, old) {
                    (Some("status"), Some(old)) => custom.validate_status(&self.version, object, old),
                    _ => custom.validate(&self.version, object, old),
                });
                errors
            }
        }
    }
}
