//! Failures as Kubernetes' `Status` objects with code, reason, message and details.

use std::fmt;

use serde_json::{Map, Value, json};

/// The result of an operation that can fail with a response to the client.
pub(crate) type Result<T, E = Status> = std::result::Result<T, E>;

/// A failure as a response of the API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Status {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    details: Map<String, Value>,
    /// Whether empty details are included.
    generic: bool,
    /// Continue token for the inconsistent rest of a list.
    continues: Option<String>,
    /// Why a body cannot be decoded.
    decode_failure: Option<String>,
}

/// The resource and object of a failure, for `details` and messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) group: &'a str,
    /// Plural name of the resource.
    pub(crate) resource: &'a str,
    pub(crate) name: &'a str,
}

impl Subject<'_> {
    /// Returns `deployments.apps`, or `pods` in the core group.
    fn qualified(&self) -> String {
        match self.group {
            "" => self.resource.to_owned(),
            group => format!("{}.{group}", self.resource),
        }
    }
}

impl Status {
    /// Creates a failure without details.
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Status {
        Status {
            code,
            reason,
            message: message.into(),
            details: Map::new(),
            generic: false,
            continues: None,
            decode_failure: None,
        }
    }

    /// Creates the error of a body that cannot be decoded to the expected kind.
    pub(crate) fn undecodable(kind: &str, version: &str, expected: &str, why: &str) -> Status {
        let message = format!("{kind} in version {version:?} cannot be handled as a {expected}: {why}");
        let mut status = Status::bad_request(message);
        status.decode_failure = Some(why.to_owned());
        status
    }

    /// Returns why a body cannot be decoded, for [`Status::undecodable`].
    pub(crate) fn decode_failure(&self) -> Option<&str> {
        self.decode_failure.as_deref()
    }

    /// Creates a failure that is not about an object.
    pub(crate) fn generic(code: u16, reason: &'static str, message: impl Into<String>) -> Status {
        let mut status = Status::new(code, reason, message);
        status.generic = true;
        status
    }

    fn about(mut self, subject: Subject<'_>) -> Status {
        self.details.insert("name".into(), subject.name.into());
        if !subject.group.is_empty() {
            self.details.insert("group".into(), subject.group.into());
        }
        self.details.insert("kind".into(), subject.resource.into());
        self.details.retain(|_, v| v != "");
        self
    }

    fn causes(mut self, causes: Vec<Value>) -> Status {
        self.details.insert("causes".into(), causes.into());
        self
    }

    /// Asks the client to retry after this many seconds.
    pub(crate) fn retry_after(mut self, seconds: u32) -> Status {
        self.details.insert("retryAfterSeconds".into(), seconds.into());
        self
    }

    /// Appends text to the message.
    pub(crate) fn with_detail(mut self, text: &str) -> Status {
        self.message += text;
        self
    }

    /// Adds a continue token.
    pub(crate) fn with_continue(mut self, token: String) -> Status {
        self.continues = Some(token);
        self
    }

    /// Returns the seconds after which the client should retry.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        self.details.get("retryAfterSeconds").and_then(Value::as_u64)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Status {
        Status::new(400, "BadRequest", message)
    }

    pub(crate) fn forbidden(subject: Subject<'_>, why: &str) -> Status {
        let message = match subject.name {
            "" => format!("{} is forbidden: {why}", subject.qualified()),
            name => format!("{} {name:?} is forbidden: {why}", subject.qualified()),
        };
        Status::new(403, "Forbidden", message).about(subject)
    }

    /// Adds one cause to the details. Reason and field may be empty.
    pub(crate) fn cause(mut self, reason: &str, message: &str, field: &str) -> Status {
        let mut cause = json!({ "message": message });
        if !reason.is_empty() {
            cause["reason"] = reason.into();
        }
        if !field.is_empty() {
            cause["field"] = field.into();
        }
        let causes = self
            .details
            .entry("causes")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = causes {
            list.push(cause);
        }
        self
    }

    pub(crate) fn not_found(subject: Subject<'_>) -> Status {
        let message = format!("{} {:?} not found", subject.qualified(), subject.name);
        Status::new(404, "NotFound", message).about(subject)
    }

    /// Creates the failure of an unknown path.
    pub(crate) fn no_such_path() -> Status {
        Status::generic(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    pub(crate) fn method_not_allowed() -> Status {
        Status::generic(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    pub(crate) fn not_acceptable(offered: &str) -> Status {
        let message = format!("only the following media types are accepted: {offered}");
        Status::new(406, "NotAcceptable", message)
    }

    pub(crate) fn already_exists(subject: Subject<'_>) -> Status {
        let message = format!("{} {:?} already exists", subject.qualified(), subject.name);
        Status::new(409, "AlreadyExists", message).about(subject)
    }

    pub(crate) fn conflict(subject: Subject<'_>, why: &str) -> Status {
        let message = format!(
            "Operation cannot be fulfilled on {} {:?}: {why}",
            subject.qualified(),
            subject.name
        );
        Status::new(409, "Conflict", message).about(subject)
    }

    /// Creates the conflict of an object that has changed since it was read.
    pub(crate) fn modified(subject: Subject<'_>) -> Status {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(subject, why)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Status {
        Status::new(410, "Expired", message)
    }

    /// Creates the failure of a watch from a version that is no longer in the history.
    pub(crate) fn too_old(wanted: u64, oldest: u64) -> Status {
        Status::expired(format!("too old resource version: {wanted} ({oldest})"))
    }

    /// Creates the failure of a request for a version that the server has not reached.
    pub(crate) fn too_large(wanted: u64, current: u64) -> Status {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        Status::new(504, "Timeout", message)
            .causes(vec![json!({
                "reason": "ResourceVersionTooLarge",
                "message": "Too large resource version",
            })])
            .retry_after(1)
    }

    pub(crate) fn unsupported_media_type(offered: &str) -> Status {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {offered}"
        );
        Status::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn too_large_body(limit: usize) -> Status {
        let message = format!("Request entity too large: limit is {limit}");
        Status::new(413, "RequestEntityTooLarge", message)
    }

    pub(crate) fn internal(why: impl fmt::Display) -> Status {
        let message = format!("Internal error occurred: {why}");
        Status::new(500, "InternalError", message).causes(vec![json!({ "message": why.to_string() })])
    }

    /// Creates a failure without a reason, which Go errors of other types cause.
    pub(crate) fn unnamed(message: impl Into<String>) -> Status {
        Status::new(500, "", message)
    }

    /// Creates the failure of a valid patch that cannot be applied to the object.
    pub(crate) fn unprocessable() -> Status {
        let message = "the server rejected our request due to an error in our request";
        Status::generic(422, "Invalid", message)
    }

    /// Creates the failure of an invalid object. `kind` is the kind, not the resource.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Status {
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let list = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let causes = errors.iter().map(FieldError::cause).collect();
        Status::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {list}"))
            .about(Subject {
                group,
                resource: kind,
                name,
            })
            .causes(causes)
    }

    /// Converts the failure to JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(token) = &self.continues {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if !self.details.is_empty() || self.generic {
            status["details"] = Value::Object(self.details.clone());
        }
        status
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

/// An error in a field of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldError {
    pub(crate) kind: FieldErrorKind,
    /// Path of the field, for example `spec.containers[0].name`.
    pub(crate) field: String,
    /// The invalid value, if the message shows it.
    pub(crate) value: Value,
    pub(crate) detail: String,
    /// Text of the value in the message, if it differs from its JSON with sorted names. If it is empty, the value is
    /// omitted.
    shown: Option<String>,
}

/// Kubernetes' types of field errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldErrorKind {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    TypeInvalid,
    Internal,
}

impl FieldError {
    pub(crate) fn new(
        kind: FieldErrorKind,
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> FieldError {
        FieldError {
            kind,
            field: field.into(),
            value: value.into(),
            detail: detail.into(),
            shown: None,
        }
    }

    /// Sets the text of the value: Kubernetes prints Go structs with their fields in their own order.
    pub(crate) fn showing(mut self, text: impl Into<String>) -> FieldError {
        self.shown = Some(text.into());
        self
    }

    /// Omits the value, which may be large.
    pub(crate) fn without_value(self) -> FieldError {
        self.showing("")
    }

    pub(crate) fn required(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
        FieldError::new(FieldErrorKind::Required, field, Value::Null, detail)
    }

    pub(crate) fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> FieldError {
        FieldError::new(FieldErrorKind::Invalid, field, value, detail)
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
        FieldError::new(FieldErrorKind::Forbidden, field, Value::Null, detail)
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> FieldError {
        FieldError::new(FieldErrorKind::Duplicate, field, value, "")
    }

    /// Creates the error of a value that is not in `allowed`.
    pub(crate) fn not_supported(
        field: impl Into<String>,
        value: impl Into<Value>,
        allowed: &[&str],
    ) -> FieldError {
        let quoted: Vec<String> = allowed.iter().map(|a| format!("{a:?}")).collect();
        FieldError::new(
            FieldErrorKind::NotSupported,
            field,
            value,
            format!("supported values: {}", quoted.join(", ")),
        )
    }

    /// Returns the message without the field's name.
    fn body(&self) -> String {
        let title = match self.kind {
            FieldErrorKind::NotFound => "Not found",
            FieldErrorKind::Required => "Required value",
            FieldErrorKind::Duplicate => "Duplicate value",
            FieldErrorKind::Invalid | FieldErrorKind::TypeInvalid => "Invalid value",
            FieldErrorKind::NotSupported => "Unsupported value",
            FieldErrorKind::Forbidden => "Forbidden",
            FieldErrorKind::TooLong => "Too long",
            FieldErrorKind::TooMany => "Too many",
            FieldErrorKind::Internal => "Internal error",
        };
        let shows_value = match self.kind {
            FieldErrorKind::Required
            | FieldErrorKind::Forbidden
            | FieldErrorKind::TooLong
            | FieldErrorKind::Internal => false,
            FieldErrorKind::TooMany => !self.value.is_null(),
            _ => true,
        };
        let mut parts = vec![title.to_owned()];
        if let Some(shown) = &self.shown {
            if !shown.is_empty() {
                parts.push(shown.clone());
            }
        } else if shows_value {
            parts.push(self.value.to_string());
        }
        if !self.detail.is_empty() {
            parts.push(self.detail.clone());
        }
        parts.join(": ")
    }

    fn cause(&self) -> Value {
        let reason = match self.kind {
            FieldErrorKind::NotFound => "FieldValueNotFound",
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::Duplicate => "FieldValueDuplicate",
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany => "FieldValueTooMany",
            FieldErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            FieldErrorKind::Internal => "InternalError",
        };
        json!({ "reason": reason, "message": self.body(), "field": self.field })
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}
