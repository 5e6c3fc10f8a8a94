//! The error of a connection attempt, with hints for common mistakes.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::{CertificateError, Error as TlsError};

/// The server could not be connected. All requests that wait for one attempt get a clone.
#[derive(Debug, Clone)]
pub(crate) struct ConnectError {
    server: Arc<str>,
    step: ConnectStep,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The step at which connecting failed.
#[derive(Debug, Clone, Copy)]
pub(super) enum ConnectStep {
    /// Name lookup and TCP.
    Tcp,
    Tls,
    /// The HTTP handshake.
    Http,
    /// The server closed the new connection before a request could use it.
    Closed,
    TimedOut(Duration),
}

impl ConnectError {
    pub(super) fn new(server: &Arc<str>, step: ConnectStep) -> ConnectError {
        ConnectError {
            server: Arc::clone(server),
            step,
            cause: None,
        }
    }

    /// Attaches a cause.
    pub(super) fn because(self, cause: impl StdError + Send + Sync + 'static) -> ConnectError {
        ConnectError {
            cause: Some(Arc::new(cause)),
            ..self
        }
    }

    /// Returns the TLS error that is the cause.
    fn tls_error(&self) -> Option<&TlsError> {
        let io = self.cause.as_deref()?.downcast_ref::<io::Error>()?;
        io.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match self.step {
            ConnectStep::Tcp => write!(f, "cannot connect to {server}"),
            ConnectStep::Tls => {
                write!(f, "TLS handshake with {server} failed")?;
                self.tls_error()
                    .and_then(hint)
                    .map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
            }
            ConnectStep::Http => write!(f, "HTTP handshake with {server} failed"),
            ConnectStep::Closed => write!(f, "{server} closed the connection immediately"),
            ConnectStep::TimedOut(timeout) => write!(f, "cannot connect to {server} within {timeout:?}"),
        }
    }
}

impl StdError for ConnectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// Returns a hint for a failed TLS handshake.
fn hint(error: &TlsError) -> Option<&'static str> {
    use CertificateError as Certificate;

    Some(match error {
        // A bad signature means another authority of the same name, for example after a cluster was recreated.
        TlsError::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "the certificate authority is not trusted: check the cluster's certificate-authority"
        }
        TlsError::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => "the certificate is for other names: check the server's address, or set tls-server-name",
        TlsError::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "the certificate has expired, or the local clock is wrong"
        }
        TlsError::InvalidMessage(_) => "the server does not speak TLS: is it an http:// address?",
        _ => return None,
    })
}
