//! The head of a request: everything but its body.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, Method};

use crate::auth::User;
use crate::request::Query;
use crate::verbs::Warnings;

/// The head of a request: everything but its body.
pub(super) struct RequestHead {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
    /// The user, if requests are authenticated.
    pub(super) user: Option<Arc<User>>,
    /// What the client is warned of, whether the request succeeds or not.
    pub(super) warnings: Warnings,
}

impl RequestHead {
    pub(super) fn header(&self, name: HeaderName) -> &str {
        self.headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
    }

    pub(super) fn content_type(&self) -> String {
        let given = self.header(CONTENT_TYPE);
        given
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    }

    /// Returns whether JSON is indented: if the query requests it, and by default for curl, Wget and
    /// browsers.
    pub(super) fn pretty(&self) -> bool {
        if let Some(wanted) = self.query.optional_flag("pretty") {
            return wanted;
        }
        let agent = self.header(USER_AGENT);
        ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|a| agent.starts_with(a))
    }
}
