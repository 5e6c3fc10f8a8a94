//! Errors about credentials, without the credentials.

use std::error::Error as StdError;
use std::fmt;
use std::process::Output;

use kube::client::AuthError;
use tower::BoxError;

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

/// What kube says about a configuration, as it may be told.
pub(super) fn told(error: kube::Error) -> BoxError {
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => ProgramFailed::new(&out).into(),
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
