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

/// How much of a program's own words is told.
const MOST_WORDS: usize = 500;

/// The program that a kubeconfig names for credentials has failed.
///
/// kube's error shows the command with its environment, and all that the program printed: there may be secrets in both.
#[derive(Debug)]
struct ProgramFailed {
    words: String,
}

impl ProgramFailed {
    fn new(output: &Output) -> ProgramFailed {
        let words: String = String::from_utf8_lossy(&output.stderr)
            .trim()
            .chars()
            .take(MOST_WORDS)
            .collect();
        ProgramFailed {
            words: format!(
                "the program that the kubeconfig names for credentials failed with {}: {words}",
                output.status
            ),
        }
    }
}

impl fmt::Display for ProgramFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl StdError for ProgramFailed {}

/// A proxy that cannot be used, without its URL, which may hold a password.
#[derive(Debug)]
struct ProxyRefused(&'static str);

impl fmt::Display for ProxyRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl StdError for ProxyRefused {}

/// A text with credentials in it that cannot be read. kube's errors quote from it.
#[derive(Debug)]
struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Unreadable {}

/// Refuses a token that no header can carry: kube would panic.
pub(super) fn check_token(auth: &AuthInfo) -> Result<(), Error> {
    let fits = |token: &SecretString| HeaderValue::from_str(token.expose_secret()).is_ok();
    if auth.token.as_ref().is_none_or(fits) {
        return Ok(());
    }
    Err(Error::no_client(
        "the token has characters that cannot be sent; is there a line break in it?",
    ))
}

/// What kube says when it finds no configuration, as it may be told.
pub(super) fn told_of_config(error: InferConfigError) -> BoxError {
    let kubeconfig = StdError::source(&error).and_then(|error| error.downcast_ref::<KubeconfigError>());
    match kubeconfig.and_then(unreadable) {
        Some(unreadable) => unreadable.into(),
        None => error.into(),
    }
}

/// What kube says of a kubeconfig, as it may be told.
pub(super) fn told_of_kubeconfig(error: KubeconfigError) -> Error {
    match unreadable(&error) {
        Some(unreadable) => Error::no_client(unreadable.0),
        None => Error::no_client_because("the kubeconfig cannot be used", error),
    }
}

/// A kubeconfig that is no kubeconfig.
fn unreadable(error: &KubeconfigError) -> Option<Unreadable> {
    let KubeconfigError::Parse(wrong) = error else {
        return None;
    };
    let place = wrong.location();
    let place = place.map(|place| format!(", at line {}, column {}", place.line(), place.column()));
    let place = place.unwrap_or_default();
    Some(Unreadable(format!("the kubeconfig cannot be read{place}")))
}

/// What kube says about a configuration, as it may be told.
pub(super) fn told(error: kube::Error) -> BoxError {
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => ProgramFailed::new(&out).into(),
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            let what =
                "the program that the kubeconfig names for credentials printed what is no ExecCredential";
            Unreadable(what.to_owned()).into()
        }
        kube::Error::Auth(AuthError::MalformedTokenExpirationDate(_)) => {
            let what = "the credentials say when they expire, and it is no time";
            Unreadable(what.to_owned()).into()
        }
        kube::Error::Auth(error) => error.into(),
        kube::Error::InferConfig(error) => error.into(),
        kube::Error::RustlsTls(error) => error.into(),
        kube::Error::ProxyProtocolUnsupported { .. } => {
            ProxyRefused("the proxy's protocol is not known; http, https and socks5 are").into()
        }
        kube::Error::ProxyProtocolDisabled { .. } => {
            ProxyRefused("for proxies the crate kube needs its feature http-proxy, or socks5").into()
        }
        error => error.into(),
    }
}

/// What went wrong with a request, as it may be told.
pub(super) fn told_of_request(error: BoxError) -> BoxError {
    match error.downcast::<AuthError>() {
        Ok(error) => told(kube::Error::Auth(*error)),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::unreadable;

    #[test]
    fn a_broken_kubeconfig_is_told_without_its_secrets() {
        for broken in [
            "token: [planted",
            "token: planted\n  - :",
            "token: {planted: planted}",
        ] {
            let text = format!("apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user:\n    {broken}\n");
            let error = kube::config::Kubeconfig::from_yaml(&text).expect_err("no kubeconfig");
            let told = unreadable(&error).expect("kube cannot read it");
            let words = format!("{told} {told:?}");
            assert!(words.contains("at line"), "{words}");
            assert!(!words.contains("planted"), "{words}");
        }
    }
}
