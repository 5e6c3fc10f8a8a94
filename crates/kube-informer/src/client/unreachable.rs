//! Why there is no connection, in words that help.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::{CertificateError, Error as TlsError};

/// No connection to the server could be made. All requests that waited for it get the same.
#[derive(Debug, Clone)]
pub(crate) struct Unreachable {
    server: Arc<str>,
    step: Step,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
}

/// How far a connection came.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Name lookup and TCP.
    Tcp,
    Tls,
    /// The first words of HTTP.
    Http,
    /// It was made, and closed before anyone could use it.
    Closed,
    /// It took longer than it may.
    TimedOut(Duration),
}

impl Unreachable {
    pub(super) fn new(server: &Arc<str>, step: Step) -> Unreachable {
        Unreachable {
            server: Arc::clone(server),
            step,
            cause: None,
        }
    }

    pub(super) fn because(self, cause: impl StdError + Send + Sync + 'static) -> Unreachable {
        Unreachable {
            cause: Some(Arc::new(cause)),
            ..self
        }
    }

    /// What TLS did not like, if that is the reason.
    fn tls_error(&self) -> Option<&TlsError> {
        let io = self.cause.as_deref()?.downcast_ref::<io::Error>()?;
        io.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match self.step {
            Step::Tcp => write!(f, "no connection to {server}"),
            Step::Tls => {
                write!(f, "no TLS with {server}")?;
                self.tls_error()
                    .and_then(advice)
                    .map_or(Ok(()), |advice| write!(f, "; {advice}"))
            }
            Step::Http => write!(f, "no HTTP with {server}"),
            Step::Closed => write!(f, "{server} closed the connection as soon as it was made"),
            Step::TimedOut(patience) => write!(f, "no connection to {server} within {patience:?}"),
        }
    }
}

impl StdError for Unreachable {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// What to do about a failed handshake.
fn advice(error: &TlsError) -> Option<&'static str> {
    use CertificateError as Certificate;

    Some(match error {
        // A signature is bad where another authority of the same name made it: that of a cluster made anew.
        TlsError::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "its certificate is of an authority not trusted here: check the cluster's certificate-authority"
        }
        TlsError::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => "its certificate is for other names: check the server's address, or set tls-server-name",
        TlsError::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "its certificate has expired, or the clock here is wrong"
        }
        TlsError::InvalidMessage(_) => "what answers does not speak TLS: is it an http:// address?",
        _ => return None,
    })
}
