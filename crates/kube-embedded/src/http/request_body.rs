//! Decodes the bodies of requests (JSON, YAML or protobuf) to objects, patches and options.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use kube_wire::protobuf::{self, Envelope};
use serde_json::{Value, json};

use super::head::RequestHead;
use super::yaml;
use crate::api::group_version;
use crate::golang::{json_type_name, read_json};
use crate::request::{OFFERED, ObjectPath};
use crate::schema::decode::decode;
use crate::schema::{Type, Types};
use crate::status::{Result, Status};
use crate::verbs::{self, PatchKind};

/// Maximum size of a body in bytes.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

pub(super) async fn read<B>(body: B) -> Result<Bytes>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Status::too_large_body(BODY_LIMIT))
        }
        Err(error) => Err(Status::bad_request(format!(
            "cannot read the body of the request: {error}"
        ))),
    }
}

/// Decodes the body of a create or an update.
pub(super) fn object_body(path: &ObjectPath, content_type: &str, bytes: &Bytes) -> Result<verbs::Body> {
    let kind = &path.resource.kind;
    let unrecognized = |why: &str| {
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({})",
            excerpt(bytes)
        ))
    };
    match content_type {
        "application/json" | "" => {
            let object = read_json(bytes)
                .and_then(fields)
                .map_err(|e| unrecognized(&no_kind(&e)))?;
            let text = String::from_utf8_lossy(bytes).into_owned();
            if needs_kind(path, &object) {
                return Err(unrecognized(&format!("Object 'Kind' is missing in '{text}'")));
            }
            Ok(verbs::Body {
                text: Some(text),
                ..verbs::Body::new(object)
            })
        }
        "application/yaml" => {
            let document = yaml::read(bytes).map_err(|e| unrecognized(&e))?;
            let object = fields(document.value).map_err(|e| unrecognized(&no_kind(&e)))?;
            if needs_kind(path, &object) {
                return Err(unrecognized(&format!("Object 'Kind' is missing in '{object}'")));
            }
            Ok(verbs::Body {
                duplicate_keys: document.duplicate_keys,
                ..verbs::Body::new(object)
            })
        }
        protobuf::MEDIA_TYPE => {
            let (api_version, expected) = expected_kind(path);
            let object = from_protobuf(bytes, &api_version, expected).map_err(|e| unrecognized(&e))?;
            Ok(verbs::Body::new(object))
        }
        _ => Err(Status::unsupported_media_type(OFFERED)),
    }
}

/// Returns whether a required kind is missing. Only custom resources require one.
fn needs_kind(path: &ObjectPath, object: &Value) -> bool {
    let is_object = path.subresource.as_deref().is_none_or(|name| name == "status");
    is_object && path.resource.custom().is_some() && object["kind"].as_str().is_none_or(str::is_empty)
}

pub(super) fn patch_body(kind: PatchKind, bytes: &Bytes) -> Result<verbs::Body> {
    if kind != PatchKind::Apply {
        let object =
            read_json(bytes).map_err(|e| Status::bad_request(format!("error decoding patch: {e}")))?;
        return Ok(verbs::Body::new(object));
    }
    let applied = yaml::read(bytes)
        .map_err(|e| format!("error converting YAML to JSON: {e}"))
        .and_then(|document| {
            if document.value.is_object() || document.value.is_null() {
                return Ok(document);
            }
            let why = "json: cannot unmarshal";
            let wanted = "into Go value of type map[string]interface {}";
            Err(format!(
                "error unmarshaling JSON: while decoding JSON: {why} {} {wanted}",
                json_type_name(&document.value)
            ))
        });
    let document = applied.map_err(|e| Status::bad_request(format!("error decoding YAML: {e}")))?;
    Ok(verbs::Body {
        duplicate_keys: document.duplicate_keys,
        ..verbs::Body::new(document.value)
    })
}

/// Returns the version and kind of the objects at a path.
pub(super) fn expected_kind(path: &ObjectPath) -> (String, &str) {
    match path
        .subresource
        .as_deref()
        .and_then(|sub| path.resource.subresource(sub))
    {
        Some(sub) => (group_version(&sub.group, &sub.version), &sub.kind),
        None => (path.resource.api_version(), &path.resource.kind),
    }
}

/// Decodes an object in protobuf. If it has no kind and version, those of the path apply.
fn from_protobuf(bytes: &Bytes, api_version: &str, kind: &str) -> Result<Value, String> {
    let mut envelope = Envelope::parse(bytes).map_err(|e| e.to_string())?;
    if envelope.api_version.is_empty() {
        envelope.api_version = api_version;
    }
    if envelope.kind.is_empty() {
        envelope.kind = kind;
    }
    envelope.decode().map_err(|e| e.to_string())
}

pub(super) fn delete_body(head: &RequestHead, bytes: &Bytes) -> Result<Value> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let parsed = match head.content_type().as_str() {
        "application/yaml" => yaml::read(bytes).map(|document| document.value),
        "application/json" | "" => read_json(bytes).and_then(fields).map_err(|e| no_kind(&e)),
        protobuf::MEDIA_TYPE => from_protobuf(bytes, "v1", "DeleteOptions"),
        _ => {
            return Err(Status::unsupported_media_type(OFFERED));
        }
    };
    let types = Types::builtin();
    let value = parsed.map_err(Status::bad_request)?;
    let Some(options) = types.find("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions") else {
        return Ok(value);
    };
    let decoded = decode(types, &Type::Ref(options), "DeleteOptions", "v1", value);
    decoded.map(|decoded| decoded.object).map_err(|status| {
        // Options are not an object, so the message names none.
        let why = status.decode_failure().unwrap_or(&status.message);
        Status::bad_request(why)
    })
}

/// Returns the beginning of a body that cannot be decoded.
fn excerpt(bytes: &Bytes) -> String {
    const SHOWN: usize = 30;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let text = match shown.first() {
        None => return "<empty>".into(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<Vec<_>>()
            .concat(),
    };
    if bytes.len() > SHOWN { text + " ..." } else { text }
}

/// Returns an object; `null` is an empty object.
fn fields(value: Value) -> Result<Value, String> {
    const WANTED: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type {WANTED}",
            json_type_name(&other)
        )),
    }
}

fn no_kind(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// Reads the rest of a body, up to the maximum size.
pub(super) async fn drain<B>(body: &mut B)
where
    B: http_body::Body<Data = Bytes> + Unpin,
{
    let mut left = BODY_LIMIT;
    while left > 0 && !body.is_end_stream() {
        let Some(Ok(frame)) = body.frame().await else {
            return;
        };
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
    }
}
