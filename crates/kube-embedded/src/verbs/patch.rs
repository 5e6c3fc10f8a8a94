//! Changing an object by a patch, in all four languages.

use jiff::Timestamp;
use serde_json::Value;

use super::write::{Body, Proposal, WriteOptions, Written, check_name, reset_fields};
use crate::cluster::Cluster;
use crate::http::{FieldValidation, ObjectPath, Query};
use crate::patch;
use crate::schema::{Type, Types};
use crate::status::{FieldError, Result, Status};

/// The languages of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    /// The language of a content type, if `custom` resources (or others) take it.
    pub(crate) fn parse(content_type: &str, custom: bool) -> Result<PatchKind> {
        match content_type {
            "application/json-patch+json" => Ok(PatchKind::Json),
            "application/merge-patch+json" => Ok(PatchKind::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(PatchKind::Strategic),
            "application/apply-patch+yaml" => Ok(PatchKind::Apply),
            "application/strategic-merge-patch+json" => Err(Status::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(Status::generic(
                415,
                "UnsupportedMediaType",
                "415: Unsupported Media Type",
            )),
        }
    }
}

impl Cluster {
    /// Patches an object; server-side apply creates it where it is not there.
    pub(crate) fn patch(
        &self,
        path: &ObjectPath,
        kind: PatchKind,
        body: &Body,
        query: &Query,
        options: &WriteOptions,
    ) -> Result<Written> {
        let force = query.flag("force");
        if kind == PatchKind::Apply {
            if query.text("fieldManager").is_empty() {
                return Err(bad_option(FieldError::required(
                    "fieldManager",
                    "is required for apply patch",
                )));
            }
            return self.apply(path, body, force, options);
        }
        if query.has("force") {
            return Err(bad_option(FieldError::forbidden(
                "force",
                "may not be specified for non-apply patch",
            )));
        }
        let mut warnings = Vec::new();
        let result = self.change_object(path, options, |old| {
            let patch = |old| patched(kind, path.resource.types(), &body.object, old);
            let changed = Body::new(patch(old)?);
            let (object, complaints) = self
                .admit_body(&path.resource, changed, options.validation)
                .map_err(|status| unreadable(status, kind, &body.object, || patch(old)))?;
            warnings = complaints;
            check_name(path, &object)?;
            Ok(Proposal::Replace(object))
        })?;
        Ok(Written {
            result,
            warnings,
            created: false,
        })
    }

    fn apply(
        &self,
        path: &ObjectPath,
        config: &Body,
        force: bool,
        options: &WriteOptions,
    ) -> Result<Written> {
        let resource = &path.resource;
        let name = path.name.as_deref().unwrap_or_default();
        check_name(path, &config.object)?;
        let duplicates = config
            .duplicates()
            .filter(|_| options.validation == FieldValidation::Strict);
        let warnings = match options.validation {
            FieldValidation::Warn => config.duplicate_keys.clone(),
            FieldValidation::Strict | FieldValidation::Ignore => Vec::new(),
        };
        // It is applied as it was sent: what reading by type would fill in, nobody has applied.
        let config = &config.object;
        let Some((types, ty)) = resource.types() else {
            return Err(Status::method_not_allowed());
        };
        let subresource = path.subresource.as_deref();
        let reset = reset_fields(resource, subresource);
        let api_version = resource.api_version();
        let applied = |live: Option<&Value>| {
            let object = patch::apply::apply(patch::apply::Apply {
                types,
                ty: &ty,
                api_version: &api_version,
                kind: &resource.kind,
                live,
                config,
                manager: &options.manager,
                force,
                subresource: subresource.unwrap_or_default(),
                reset: &reset,
                now: Timestamp::now(),
            })?;
            if let Some(duplicates) = &duplicates {
                let why = "error strict decoding YAML: error converting YAML to JSON";
                return Err(Status::bad_request(format!("{why}: {duplicates}")));
            }
            Ok(resource.decode(&self.registry(), object, None)?.object)
        };
        if self.find(path).is_err() {
            if path.subresource.is_some() {
                return Err(Status::not_found(resource.subject(name)));
            }
            self.check_namespace(resource, path.namespace.as_deref(), name)?;
            let mut object = applied(None)?;
            object["metadata"]["name"] = name.into();
            if let Some(namespace) = &path.namespace {
                object["metadata"]["namespace"] = namespace.as_str().into();
            }
            let result = self.create_object(resource, object, options, true)?;
            return Ok(Written {
                result,
                warnings,
                created: true,
            });
        }
        let result = self.change_object(path, options, |old| Ok(Proposal::Applied(applied(Some(old))?)))?;
        Ok(Written {
            result,
            warnings,
            created: false,
        })
    }
}

/// What a patch makes of an object of these types; server-side apply has a way of its own.
pub(super) fn patched(
    kind: PatchKind,
    types: Option<(&Types, Type)>,
    change: &Value,
    old: &Value,
) -> Result<Value> {
    match (kind, types) {
        (PatchKind::Json, _) => patch::json::apply(old, change),
        (PatchKind::Strategic | PatchKind::Apply, Some((types, ty))) => {
            patch::strategic::apply(types, &ty, old, change)
        }
        _ => patch::merge::apply(old, change),
    }
}

fn bad_option(error: FieldError) -> Status {
    Status::invalid("meta.k8s.io", "PatchOptions", "", &[error])
}

/// A patch that leaves something that cannot be read is invalid, where a body would be a bad request.
pub(super) fn unreadable(
    status: Status,
    kind: PatchKind,
    change: &Value,
    patched: impl FnOnce() -> Result<Value>,
) -> Status {
    let Some((_, why)) = status
        .message
        .split_once(" cannot be handled as a ")
        .filter(|_| status.code == 400)
    else {
        return status;
    };
    let why = why.split_once(": ").map_or(why, |(_, why)| why);
    let shown = match kind {
        PatchKind::Strategic => patch::go_map(change),
        _ => patched().unwrap_or_default().to_string(),
    };
    Status::invalid("", "", "", &[FieldError::invalid("patch", shown, why)])
}
