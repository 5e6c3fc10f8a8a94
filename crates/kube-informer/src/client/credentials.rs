//! Errors about credentials, without the credentials.

use std::error::Error as StdError;
use std::fmt;
use std::process::Output;

use http::HeaderValue;
use kube::client::AuthError;
use kube::config::{AuthInfo, InferConfigError, KubeconfigError};
use secrecy::{ExposeSecret, SecretString};
use tower::BoxError;

use crate::error::Error;

/// Maximum length of a credential plugin's output in an error, in characters.
const MAX_OUTPUT: usize = 500;

/// Replaces an error of kube that may contain secrets.
#[derive(Debug)]
struct RedactedError(String);

impl fmt::Display for RedactedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for RedactedError {}

/// Rejects a token that is not a valid header value. kube would panic.
pub(super) fn check_token(auth: &AuthInfo) -> Result<(), Error> {
    let is_valid = |token: &SecretString| HeaderValue::from_str(token.expose_secret()).is_ok();
    if auth.token.as_ref().is_none_or(is_valid) {
        return Ok(());
    }
    Err(Error::no_client(
        "invalid token: it contains characters that are not allowed in a header\nhint: does it contain a line break?",
    ))
}

/// Removes secrets from an error about finding a configuration.
pub(super) fn redact_infer_config(error: InferConfigError) -> BoxError {
    let kubeconfig = StdError::source(&error).and_then(|error| error.downcast_ref::<KubeconfigError>());
    match kubeconfig.and_then(redact_parse_error) {
        Some(redacted) => redacted.into(),
        None => error.into(),
    }
}

/// Removes secrets from an error about a kubeconfig.
pub(super) fn redact_kubeconfig(error: KubeconfigError) -> Error {
    match redact_parse_error(&error) {
        Some(redacted) => Error::no_client(redacted.0),
        None => Error::no_client_because("invalid kubeconfig", error),
    }
}

/// Replaces a syntax error of a kubeconfig, which quotes the lines around it.
fn redact_parse_error(error: &KubeconfigError) -> Option<RedactedError> {
    let KubeconfigError::Parse(error) = error else {
        return None;
    };
    let location = error.location();
    let location =
        location.map(|location| format!(" at line {}, column {}", location.line(), location.column()));
    let location = location.unwrap_or_default();
    Some(RedactedError(format!("cannot parse the kubeconfig{location}")))
}

/// Removes secrets from an error about a configuration.
pub(super) fn redact(error: kube::Error) -> BoxError {
    let message = match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => plugin_failure(&out),
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            "the credential plugin in the kubeconfig printed an invalid ExecCredential".to_owned()
        }
        kube::Error::Auth(AuthError::MalformedTokenExpirationDate(_)) => {
            "the credentials have an invalid expiration time".to_owned()
        }
        kube::Error::Auth(error) => return error.into(),
        kube::Error::InferConfig(error) => return error.into(),
        kube::Error::RustlsTls(error) => return error.into(),
        // The URL of a proxy may contain a password.
        kube::Error::ProxyProtocolUnsupported { .. } => {
            "unknown proxy protocol: expected one of http, https, socks5".to_owned()
        }
        kube::Error::ProxyProtocolDisabled { .. } => {
            "proxies require the feature http-proxy or socks5 of the crate kube".to_owned()
        }
        error => return error.into(),
    };
    RedactedError(message).into()
}

/// Describes a failed credential plugin. kube's error contains the command with its environment and the whole output, which
/// may include secrets.
fn plugin_failure(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr: String = stderr.trim().chars().take(MAX_OUTPUT).collect();
    let status = output.status;
    format!("the credential plugin in the kubeconfig failed with {status}: {stderr}")
}

/// Removes secrets from an error of a request.
pub(super) fn redact_request(error: BoxError) -> BoxError {
    match error.downcast::<AuthError>() {
        Ok(error) => redact(kube::Error::Auth(*error)),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::redact_parse_error;

    #[test]
    fn a_syntax_error_of_a_kubeconfig_is_reported_without_its_secrets() {
        for broken in [
            "token: [planted",
            "token: planted\n  - :",
            "token: {planted: planted}",
        ] {
            let text = format!("apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user:\n    {broken}\n");
            let error = kube::config::Kubeconfig::from_yaml(&text).expect_err("a syntax error");
            let redacted = redact_parse_error(&error).expect("a parse error");
            let message = format!("{redacted} {redacted:?}");
            assert!(message.contains("at line"), "{message}");
            assert!(!message.contains("planted"), "{message}");
        }
    }
}
