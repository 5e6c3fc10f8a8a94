//! Validates config maps and secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::errors::Errors;
use super::names;
use crate::defaults::fields::text;
use crate::status::{FieldError, FieldErrorKind};

/// Maximum size of a config map or secret in bytes.
const MAX_SIZE: usize = 1024 * 1024;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

pub(super) fn config_map(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    check_immutable(object, old, &["data", "binaryData"], errors);
    let mut size = 0;
    for (key, value) in object["data"].as_object().into_iter().flatten() {
        let at = format!("data[{key}]");
        errors.problems(&at, key, names::config_key(key));
        if object["binaryData"].get(key).is_some() {
            errors.invalid(at, key.as_str(), "duplicate of key present in binaryData");
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in object["binaryData"].as_object().into_iter().flatten() {
        errors.problems(&format!("binaryData[{key}]"), key, names::config_key(key));
        size += decoded_len(value);
    }
    if size > MAX_SIZE {
        too_long("", errors);
    }
}

fn too_long(field: &str, errors: &mut Errors) {
    let detail = format!("may not be more than {MAX_SIZE} bytes");
    errors.add(FieldError::new(
        FieldErrorKind::TooLong,
        field,
        Value::Null,
        detail,
    ));
}

fn decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or("");
    text.trim_end_matches('=').len() * 3 / 4
}

fn check_immutable(object: &Value, old: Option<&Value>, fields: &[&str], errors: &mut Errors) {
    let Some(old) = old.filter(|o| o["immutable"] == true) else {
        return;
    };
    if object["immutable"] != true {
        errors.forbidden("immutable", IMMUTABLE);
    }
    for field in fields {
        if object[*field] != old[*field] {
            errors.forbidden(*field, IMMUTABLE);
        }
    }
}

pub(super) fn secret(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        errors.immutable("type", &object["type"], &old["type"]);
    }
    check_immutable(object, old, &["data"], errors);
    let data = &object["data"];
    let mut size = 0;
    for (key, value) in data.as_object().into_iter().flatten() {
        errors.problems(&format!("data[{key}]"), key, names::config_key(key));
        size += decoded_len(value);
    }
    if size > MAX_SIZE {
        too_long("data", errors);
    }
    let mut need = |keys: &[&str]| {
        for key in keys {
            if data.get(*key).is_none() {
                errors.required(format!("data[{key}]"));
            }
        }
    };
    match text(object, "type") {
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        "kubernetes.io/ssh-auth" => need(&["ssh-privatekey"]),
        "kubernetes.io/basic-auth" if data.get("username").is_none() && data.get("password").is_none() => {
            need(&["username", "password"]);
        }
        "kubernetes.io/dockerconfigjson" => json_in(data, ".dockerconfigjson", errors),
        "kubernetes.io/dockercfg" => json_in(data, ".dockercfg", errors),
        "kubernetes.io/service-account-token" => {
            let account = "kubernetes.io/service-account.name";
            if text(&object["metadata"]["annotations"], account).is_empty() {
                errors.required(format!("metadata.annotations[{account}]"));
            }
        }
        _ => {}
    }
}

fn json_in(data: &Value, key: &str, errors: &mut Errors) {
    let field = format!("data[{key}]");
    let Some(text) = data[key].as_str() else {
        errors.required(field);
        return;
    };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    if serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes).is_err() {
        let first = bytes
            .first()
            .map_or_else(String::new, |b| char::from(*b).to_string());
        let detail = match first.as_str() {
            "" => "unexpected end of JSON input".to_owned(),
            first => format!("invalid character '{first}' looking for beginning of value"),
        };
        errors.invalid(field, "<secret contents redacted>", &detail);
    }
}
