//! Readiness of the caches, for health checks.

use std::fmt::Write;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};

use super::SharedInformerFactory;
use crate::error::{Error, ErrorChain};
use crate::informer::{InformerState, Status};

/// Reports whether the caches of a factory are filled: as a future, and as a response to a health check.
///
/// A program is ready when every requested informer has a full list in its cache. It remains ready while the server is
/// unreachable: the caches are then outdated, but complete.
///
/// ```no_run
/// # fn example(factory: &kube_informer::SharedInformerFactory) {
/// let readiness = factory.readiness();
/// // In the handler of `/readyz`, with any HTTP server:
/// let response: http::Response<String> = readiness.response();
/// assert!(response.status() == 200 || response.status() == 503);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Readiness {
    factory: SharedInformerFactory,
}

impl Readiness {
    pub(super) fn new(factory: SharedInformerFactory) -> Readiness {
        Readiness { factory }
    }

    /// Returns whether every informer has a full list in its cache, and none has stopped.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.factory.statuses().iter().all(is_ready)
    }

    /// Waits until the started informers are ready.
    ///
    /// # Errors
    /// Returns an error if an informer stops first, or if no informer was started.
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    pub async fn ready(&self) -> Result<(), Error> {
        self.factory.synced().await
    }

    /// Returns the response to a probe: status 200 if ready, else 503, and a line for each kind in the format of the
    /// API server's `/readyz`.
    #[must_use]
    pub fn response(&self) -> Response<String> {
        let statuses = self.factory.statuses();
        let unready = statuses.iter().filter(|status| !is_ready(status)).count();
        let mut body = String::new();
        for status in &statuses {
            // Writing to a string does not fail.
            let _ = writeln!(body, "{}", line(status));
        }
        let (code, summary) = if unready == 0 {
            (StatusCode::OK, "ready".to_owned())
        } else {
            let all = statuses.len();
            (
                StatusCode::SERVICE_UNAVAILABLE,
                format!("not ready: {unready} of {all} caches"),
            )
        };
        body.push_str(&summary);
        body.push('\n');
        let mut response = Response::new(body);
        *response.status_mut() = code;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, plain);
        response
    }
}

fn is_ready(status: &Status) -> bool {
    status.has_synced && status.state == InformerState::Running
}

fn line(status: &Status) -> String {
    let resource = &status.resource;
    match status.state {
        InformerState::New => format!("[-] {resource}: not started"),
        InformerState::Stopped => format!("[-] {resource}: stopped"),
        InformerState::Running if status.has_synced => format!("[+] {resource}: {} objects", status.objects),
        InformerState::Running => match &status.last_error {
            Some(error) => format!("[-] {resource}: not synced: {}", ErrorChain(error)),
            None => format!("[-] {resource}: not synced yet"),
        },
    }
}
