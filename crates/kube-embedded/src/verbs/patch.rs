//! Changes objects by patches of all four kinds.

use jiff::Timestamp;
use serde_json::Value;

use super::list::find;
use super::write::{
    Body, Proposal, WriteOptions, Written, admit_body, change_object, check_name, check_namespace,
    create_object, reset_fields,
};
use crate::cluster::Cluster;
use crate::golang;
use crate::patch;
use crate::request::{FieldValidation, ObjectPath, Query};
use crate::schema::{Type, Types};
use crate::status::{FieldError, Result, Status};

/// The kinds of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    /// Returns the kind of a content type. `custom` is whether the object is a custom resource.
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

/// Patches an object. Server-side apply creates a missing object.
pub(crate) fn patch(
    cluster: &Cluster,
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
        return apply(cluster, path, body, force, options);
    }
    if query.has("force") {
        return Err(bad_option(FieldError::forbidden(
            "force",
            "may not be specified for non-apply patch",
        )));
    }
    let mut warnings = Vec::new();
    let result = change_object(cluster, path, options, |old| {
        let patch = |old| patched(kind, path.resource.types(), &body.object, old);
        let changed = Body::new(patch(old)?);
        let (object, complaints) = admit_body(cluster, &path.resource, changed, options.validation)
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
    cluster: &Cluster,
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
    // The configuration is applied as sent. Decoding would add fields that the client has not applied.
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
        Ok(resource.decode(&cluster.registry(), object, None)?.object)
    };
    if find(cluster, path).is_err() {
        if path.subresource.is_some() {
            return Err(Status::not_found(resource.subject(name)));
        }
        check_namespace(cluster, resource, path.namespace.as_deref(), name)?;
        let mut object = applied(None)?;
        object["metadata"]["name"] = name.into();
        if let Some(namespace) = &path.namespace {
            object["metadata"]["namespace"] = namespace.as_str().into();
        }
        let result = create_object(cluster, resource, object, options, true)?;
        return Ok(Written {
            result,
            warnings,
            created: true,
        });
    }
    let result = change_object(cluster, path, options, |old| {
        Ok(Proposal::Applied(applied(Some(old))?))
    })?;
    Ok(Written {
        result,
        warnings,
        created: false,
    })
}

/// Returns the result of a patch other than server-side apply.
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

/// Converts the error of a patch whose result cannot be decoded: the patch is invalid, while a body would be a bad
/// request.
pub(super) fn unreadable(
    status: Status,
    kind: PatchKind,
    change: &Value,
    patched: impl FnOnce() -> Result<Value>,
) -> Status {
    let Some(why) = status.decode_failure() else {
        return status;
    };
    let shown = match kind {
        PatchKind::Strategic => golang::plain(change),
        _ => patched().unwrap_or_default().to_string(),
    };
    Status::invalid("", "", "", &[FieldError::invalid("patch", shown, why)])
}
