//! Host checks and security headers.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

/// Host names that requests may use.
///
/// This prevents DNS rebinding: a page of another site could let its own name resolve to a loopback address
/// and would then be allowed to read the responses, but its name is in the request.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    /// `None` allows any name.
    allowed: Option<Vec<String>>,
}

impl Hosts {
    pub(super) fn only(names: Vec<String>) -> Hosts {
        Hosts { allowed: Some(names) }
    }

    /// Returns the loopback names.
    pub(super) fn loopback() -> Vec<String> {
        ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into()
    }

    fn allows(&self, headers: &HeaderMap, authority: Option<&str>) -> bool {
        let Some(allowed) = &self.allowed else { return true };
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let Some(host) = host.or(authority) else {
            return false;
        };
        let name = match host.rfind(':') {
            // A colon before the closing bracket belongs to an IPv6 address.
            Some(colon) if !host[colon..].contains(']') => &host[..colon],
            _ => host,
        };
        allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

pub(super) async fn guard(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(http::uri::Authority::as_str);
    let mut response = if hosts.allows(request.headers(), authority) {
        next.run(request).await
    } else {
        let message = "host not allowed: open the dashboard as localhost, or allow this host\n";
        (StatusCode::MISDIRECTED_REQUEST, message).into_response()
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use http::header::HOST;
    use http::{HeaderMap, HeaderValue};

    use super::Hosts;

    #[test]
    fn allowed_hosts_are_accepted_on_any_port() {
        let hosts = Hosts::only(Hosts::loopback());
        for (host, allowed) in [
            ("localhost", true),
            ("LocalHost:8080", true),
            ("127.0.0.1:1", true),
            ("[::1]", true),
            ("[::1]:9", true),
            ("evil.example", false),
            ("evil.example:8080", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            assert_eq!(hosts.allows(&headers, None), allowed, "{host}");
        }
        assert!(!hosts.allows(&HeaderMap::new(), None));
        assert!(Hosts::default().allows(&HeaderMap::new(), None));
    }
}
