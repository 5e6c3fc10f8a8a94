//! Opens one connection: TCP, TLS and the HTTP handshake.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper::client::conn::http1::SendRequest;
use hyper_util::client::legacy::connect::HttpConnector;
use kube::Config;
use kube::client::{Body, ConfigExt};
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio_rustls::TlsConnector;
use tower::ServiceExt;

use super::connect_error::{ConnectError, ConnectStep};
use super::http1;
use super::http2::Http2Connection;
use crate::error::Error;

const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Buffer size for reading from TCP, in bytes. rustls reads 4 KiB at a time, which is slow for large lists.
const READ_BUFFER: usize = 64 << 10;

/// TCP keepalive, because HTTP/1.1 has no pings. It detects a dead connection after 75 seconds.
const KEEPALIVE_TIME: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;

/// Timeout if the configuration has none. All requests wait for one attempt, so every attempt must end.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(2 * 60);

/// Opens connections to one server.
pub(super) struct Connector {
    /// Scheme, host and port, for messages.
    pub(super) server: Arc<str>,
    address: Uri,
    tcp: HttpConnector,
    tls: Option<Tls>,
    /// Timeout of one attempt, from TCP to the HTTP handshake.
    timeout: Duration,
}

struct Tls {
    name: ServerName<'static>,
    any: TlsConnector,
    only_http1: TlsConnector,
}

/// The protocols that the server may choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocols {
    Any,
    /// For requests that upgrade the connection, for example to WebSocket.
    OnlyHttp1,
}

/// A new connection, by the protocol that the server chose.
pub(super) enum NewConnection {
    Http2(Arc<Http2Connection>),
    Http1(SendRequest<Body>),
}

impl Connector {
    pub(super) fn new(config: &Config) -> Result<Connector, Error> {
        let address = config.cluster_url.clone();
        let server = server_name(&address);
        let host = address.host().unwrap_or_default();
        let tls = match address.scheme_str() {
            Some("https") => Some(Tls::new(config, host, &server)?),
            Some("http") => None,
            _ => {
                let message =
                    format!("invalid server address {server}: it must begin with https:// or http://");
                return Err(Error::no_client(message));
            }
        };
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(config.connect_timeout);
        tcp.set_keepalive(Some(KEEPALIVE_TIME));
        tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        Ok(Connector {
            server: server.into(),
            address,
            tcp,
            tls,
            timeout: config.connect_timeout.unwrap_or(DEFAULT_TIMEOUT),
        })
    }

    /// Returns whether HTTP/2 is possible. Only TLS can negotiate it.
    pub(super) fn supports_http2(&self) -> bool {
        self.tls.is_some()
    }

    pub(super) async fn connect(&self, protocols: Protocols) -> Result<NewConnection, ConnectError> {
        let timed_out = |_| self.error(ConnectStep::TimedOut(self.timeout));
        tokio::time::timeout(self.timeout, self.connect_without_timeout(protocols))
            .await
            .map_err(timed_out)?
    }

    async fn connect_without_timeout(&self, protocols: Protocols) -> Result<NewConnection, ConnectError> {
        let tcp = self.tcp.clone().oneshot(self.address.clone()).await;
        let stream = tcp
            .map_err(|error| self.error(ConnectStep::Tcp).because(error))?
            .into_inner();
        let Some(tls) = &self.tls else {
            return self.http1(stream).await;
        };
        let connector = match protocols {
            Protocols::Any => &tls.any,
            Protocols::OnlyHttp1 => &tls.only_http1,
        };
        let stream = BufReader::with_capacity(READ_BUFFER, stream);
        let stream = connector.connect(tls.name.clone(), stream).await;
        let stream = stream.map_err(|error| self.error(ConnectStep::Tls).because(error))?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP2) {
            return self.http1(stream).await;
        }
        match Http2Connection::connect(stream).await {
            Ok(connection) => {
                tracing::debug!(server = %self.server, streams = connection.capacity(), "connected with HTTP/2");
                Ok(NewConnection::Http2(connection))
            }
            Err(error) => Err(self.error(ConnectStep::Http).because(error)),
        }
    }

    async fn http1<S>(&self, stream: S) -> Result<NewConnection, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let sender = http1::connect(stream).await;
        let sender = sender.map_err(|error| self.error(ConnectStep::Http).because(error))?;
        tracing::debug!(server = %self.server, "connected with HTTP/1.1");
        Ok(NewConnection::Http1(sender))
    }

    pub(super) fn error(&self, step: ConnectStep) -> ConnectError {
        ConnectError::new(&self.server, step)
    }
}

impl Tls {
    fn new(config: &Config, host: &str, server: &str) -> Result<Tls, Error> {
        // rustls panics if two providers are compiled in and none is installed.
        if CryptoProvider::get_default().is_none() {
            // An error means that another thread has installed one at the same time.
            let _ = ring::default_provider().install_default();
        }
        let any = config.rustls_client_config().map_err(|error| {
            Error::no_client_because(
                format!("cannot configure TLS for {server}"),
                super::credentials::redact(error),
            )
        })?;
        let name = config.tls_server_name.as_deref().unwrap_or(host);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(name.to_owned())
            .map_err(|error| Error::no_client_because(format!("invalid server name {name:?}"), error))?;
        let mut only_http1 = any.clone();
        only_http1.alpn_protocols = vec![HTTP1.to_vec()];
        let mut any = any;
        any.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        let connector = |config: ClientConfig| TlsConnector::from(Arc::new(config));
        Ok(Tls {
            name,
            any: connector(any),
            only_http1: connector(only_http1),
        })
    }
}

/// Returns scheme, host and port of an address. A URL may also contain a user name and a password.
pub(super) fn server_name(address: &Uri) -> String {
    let scheme = address.scheme_str().unwrap_or_default();
    let host = address.host().unwrap_or_default();
    match address.port() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}
