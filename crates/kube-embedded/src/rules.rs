//! The rules for the objects of one resource, whether Kubernetes' own or a custom one's.

use serde_json::Value;

use crate::admission;
use crate::api::{Form, Registry, Resource};
use crate::crd;
use crate::defaults;
use crate::schema::strict::{duplicate_fields, strict_problems};
use crate::schema::{Type, Types, decode};
use crate::status::{FieldError, Result, Status};
use crate::validation;

/// An object as the rules let it in.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Complaints about fields that are not known or come twice, in the words of strict decoding.
    pub(crate) unknown: Vec<String>,
}

impl Resource {
    /// Checks kind and version of a body and reads it by the resource's types.
    /// `text` is the JSON it was read from, if it was, which is where duplicate fields still show.
    pub(crate) fn decode(
        &self,
        registry: &Registry,
        mut object: Value,
        text: Option<&str>,
    ) -> Result<Decoded> {
        self.check_kind(registry, &mut object)?;
        match &self.form {
            Form::BuiltIn(Some(id)) => {
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
                Ok(Decoded {
                    object: decoded.object,
                    unknown,
                })
            }
            Form::BuiltIn(None) => Ok(Decoded {
                object,
                unknown: Vec::new(),
            }),
            Form::Custom(custom) => {
                let unknown = custom.prune(&self.version, &mut object);
                let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
                let unknown = unknown
                    .chain(text.map(duplicate_fields).unwrap_or_default())
                    .collect();
                Ok(Decoded { object, unknown })
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

    /// Fills in what the client left open.
    pub(crate) fn default(&self, object: &mut Value) {
        match &self.form {
            Form::BuiltIn(_) => defaults::default(&self.group, &self.version, &self.kind, object),
            Form::Custom(custom) => custom.default(&self.version, object),
        }
    }

    /// Adds what admission adds and clears what a client may not set when it creates an object.
    pub(crate) fn prepare_for_create(&self, object: &mut Value) {
        match &self.form {
            Form::BuiltIn(_) => {
                defaults::admission::admit(&self.group, &self.kind, object);
                defaults::prepare::prepare_for_create(&self.group, &self.kind, object);
            }
            Form::Custom(_) => {
                if self.has_status()
                    && let Some(fields) = object.as_object_mut()
                {
                    fields.remove("status");
                }
                object["metadata"]["generation"] = 1.into();
            }
        }
    }

    /// Keeps what a client may not change through this path, and counts the generation.
    pub(crate) fn prepare_for_update(&self, old: &Value, new: &mut Value, subresource: Option<&str>) {
        match &self.form {
            Form::BuiltIn(_) => {
                defaults::prepare::prepare_for_update(&self.group, &self.kind, old, new, subresource);
            }
            Form::Custom(_) => crd::prepare_for_update(self.has_status(), old, new, subresource),
        }
    }

    /// Returns whether an update of something that is not there creates it.
    pub(crate) fn creates_on_update(&self) -> bool {
        self.custom().is_none() && defaults::shape::shape(&self.group, &self.kind).create_on_update
    }

    /// Returns whether an update must say which version it changes.
    pub(crate) fn needs_version(&self) -> bool {
        self.custom().is_some() || !defaults::shape::shape(&self.group, &self.kind).unconditional_update
    }

    /// What is wrong with an object that comes in by this path.
    pub(crate) fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        subresource: Option<&str>,
    ) -> Vec<FieldError> {
        match &self.form {
            Form::BuiltIn(_) if self.is("apiextensions.k8s.io", "CustomResourceDefinition") => {
                crd::validate_crd(object, old)
            }
            Form::BuiltIn(_) => match (subresource, old) {
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
            Form::Custom(custom) => {
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
