//! The `scale` subresource: `autoscaling/v1` `Scale` for every kind with replicas.

mod selector;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

pub(crate) use self::selector::selector_text;
use crate::golang::{plain, type_name};
use crate::status::{FieldError, Result, Status};

/// The fields of a custom resource that its scale shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    /// For example `.spec.replicas`.
    pub(crate) spec_replicas: String,
    /// For example `.status.replicas`.
    pub(crate) status_replicas: String,
    /// For example `.status.selector`, which contains a selector as text.
    pub(crate) label_selector: Option<String>,
}

impl ScalePaths {
    /// Parses `subresources.scale` of a definition.
    pub(crate) fn of_custom(scale: &Value) -> Option<ScalePaths> {
        let path = |key: &str| scale[key].as_str().filter(|p| !p.is_empty()).map(str::to_owned);
        Some(ScalePaths {
            spec_replicas: path("specReplicasPath")?,
            status_replicas: path("statusReplicasPath")?,
            label_selector: path("labelSelectorPath"),
        })
    }
}

fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// Returns the field at a path. Errors are those of Go's accessors.
fn find<'a>(object: &'a Value, path: &str) -> std::result::Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut walked = String::new();
    for step in steps(path) {
        walked.extend([".", step]);
        match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(step) {
                None => return Ok(None),
                Some(inner) => value = inner,
            },
            other => {
                return Err(format!(
                    "{walked} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                    plain(other),
                    type_name(other)
                ));
            }
        }
    }
    Ok(Some(value))
}

fn full_path(path: &str) -> String {
    format!(".{}", steps(path).collect::<Vec<_>>().join("."))
}

fn find_int(object: &Value, path: &str) -> std::result::Result<Option<i64>, String> {
    let Some(value) = find(object, path)? else {
        return Ok(None);
    };
    match value.as_i64() {
        Some(int) => Ok(Some(int)),
        None => Err(format!(
            "{} accessor error: {} is of the type {}, expected int64",
            full_path(path),
            plain(value),
            type_name(value)
        )),
    }
}

fn find_text<'a>(object: &'a Value, path: &str) -> std::result::Result<Option<&'a str>, String> {
    let Some(value) = find(object, path)? else {
        return Ok(None);
    };
    match value.as_str() {
        Some(text) => Ok(Some(text)),
        None => Err(format!(
            "{} accessor error: {} is of the type {}, expected string",
            full_path(path),
            plain(value),
            type_name(value)
        )),
    }
}

/// Validates the requested replicas of an object.
pub(crate) fn check_spec(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    check_replicas(&paths.spec_replicas, object).into_iter().collect()
}

/// Validates the replicas and the selector in the status of an object.
pub(crate) fn check_status(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = check_replicas(&paths.status_replicas, object)
        .into_iter()
        .collect();
    if let Some(path) = &paths.label_selector
        && let Err(why) = find_text(object, path)
    {
        errors.push(FieldError::invalid(path.as_str(), "", why));
    }
    errors
}

fn check_replicas(path: &str, object: &Value) -> Option<FieldError> {
    let (value, detail) = match find_int(object, path) {
        Err(why) => (0, why),
        Ok(Some(n)) if n < 0 => (n, "should be a non-negative integer".to_owned()),
        Ok(Some(n)) if n > i64::from(i32::MAX) => {
            (n, format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => return None,
    };
    Some(FieldError::invalid(path, value, detail))
}

/// Returns the scale of a custom resource.
///
/// # Errors
/// If the object has no replicas, or values of a wrong type.
pub(crate) fn of_custom(paths: &ScalePaths, object: &Value) -> Result<Value> {
    let replicas = find_int(object, &paths.spec_replicas).map_err(Status::internal)?;
    let Some(replicas) = replicas else {
        return Err(Status::internal(format!(
            "the spec replicas field {:?} does not exist",
            paths.spec_replicas
        )));
    };
    let current = find_int(object, &paths.status_replicas).map_err(Status::internal)?;
    let selector = match &paths.label_selector {
        Some(path) => find_text(object, path).map_err(Status::internal)?,
        None => None,
    };
    Ok(scale(
        object,
        replicas,
        current.unwrap_or_default(),
        selector.unwrap_or_default(),
    ))
}

/// Marks missing replicas in a scale that is patched.
const UNSET_REPLICAS: i64 = i32::MIN as i64;

/// Returns the scale of a custom resource for a patch and [`apply_custom`]. Replicas may be missing.
///
/// # Errors
/// If the object has values of a wrong type.
pub(crate) fn of_custom_for_update(paths: &ScalePaths, object: &Value) -> Result<Value> {
    match find_int(object, &paths.spec_replicas).map_err(Status::internal)? {
        Some(_) => of_custom(paths, object),
        None => Ok(scale(object, UNSET_REPLICAS, 0, "")),
    }
}

/// Sets the replicas of a custom resource to those of a scale, and its resource version, if it has one.
///
/// # Errors
/// If neither the object nor the scale has replicas, or a parent of the field is not an object.
pub(crate) fn apply_custom(paths: &ScalePaths, object: &mut Value, scale: &Value) -> Result<()> {
    let path = &paths.spec_replicas;
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas == UNSET_REPLICAS {
        return Err(Status::bad_request(format!(
            "the spec replicas field {path:?} cannot be empty"
        )));
    }
    let mut place = &mut *object;
    for step in steps(path) {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(fields) = place else {
            return Err(Status::internal(format!(
                "value cannot be set because {path} is not a map[string]interface{{}}"
            )));
        };
        place = fields.entry(step).or_insert(Value::Null);
    }
    *place = replicas.into();
    take_resource_version(object, scale);
    Ok(())
}

/// Returns the scale of a built-in kind with replicas: Deployment, ReplicaSet, StatefulSet or ReplicationController.
pub(crate) fn of_builtin(object: &Value) -> Value {
    let replicas = object["spec"]["replicas"].as_i64().unwrap_or_default();
    let current = object["status"]["replicas"].as_i64().unwrap_or_default();
    scale(
        object,
        replicas,
        current,
        &selector_text(&object["spec"]["selector"]),
    )
}

/// Sets the replicas of a built-in kind to those of a scale, and its resource version, if it has one.
pub(crate) fn apply_builtin(object: &mut Value, scale: &Value) {
    object["spec"]["replicas"] = scale["spec"]["replicas"].as_i64().unwrap_or_default().into();
    take_resource_version(object, scale);
}

/// Validates the scale of a built-in kind.
pub(crate) fn check(scale: &Value) -> Vec<FieldError> {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    let detail = "must be greater than or equal to 0";
    let negative = (replicas < 0).then(|| FieldError::invalid("spec.replicas", replicas, detail));
    negative.into_iter().collect()
}

/// Copies the scale's resource version, which is a precondition that the store checks.
fn take_resource_version(object: &mut Value, scale: &Value) {
    let version = scale["metadata"]["resourceVersion"]
        .as_str()
        .filter(|v| !v.is_empty());
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(version), Some(metadata)) = (version, metadata) {
        metadata.insert("resourceVersion".into(), version.into());
    }
}

fn scale(object: &Value, replicas: i64, current: i64, selector: &str) -> Value {
    let metadata: Map<String, Value> = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), object["metadata"].get(key)?.clone())))
        .collect();
    let mut spec = Map::new();
    if replicas != 0 {
        spec.insert("replicas".into(), replicas.into());
    }
    let mut status = json!({ "replicas": current });
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}
