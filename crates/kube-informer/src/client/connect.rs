//! One connection: TCP, TLS, and the first words of HTTP.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use kube::Config;
use kube::client::ConfigExt;
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use tokio::io::BufReader;
use tokio_rustls::TlsConnector;
use tower::ServiceExt;

use super::unreachable::{Step, Unreachable};
use super::{http1, http2};
use crate::error::Error;

const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// rustls asks for four kilobytes at a time, and a list has many megabytes.
const READ_AT_ONCE: usize = 64 << 10;

/// A connection without HTTP/2 has no pings; TCP's own find out that the other side is gone, after 75 seconds.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
const KEEPALIVE_TRIES: u32 = 3;

/// Limit of an attempt if the configuration has none: all requests that need a connection wait for one attempt, so it must end.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(2 * 60);

/// Makes connections to one server.
pub(super) struct Connector {
    /// The server in words.
    pub(super) server: Arc<str>,
    address: Uri,
    tcp: HttpConnector,
    tls: Option<Tls>,
    /// Limit of one attempt, from TCP to the first words of HTTP.
    timeout: Duration,
}

struct Tls {
    name: ServerName<'static>,
    any: TlsConnector,
    only_http1: TlsConnector,
}

/// What the server may choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    Any,
    /// Protocols that take over the connection, as websockets do, begin in HTTP/1.1.
    OnlyHttp1,
}

/// A connection, by what is spoken on it.
pub(super) enum Connected {
    Http2(Arc<http2::Connection>),
    Http1(http1::Sender),
}

impl Connector {
    pub(super) fn new(config: &Config) -> Result<Connector, Error> {
        let address = config.cluster_url.clone();
        let server = in_words(&address);
        let host = address.host().unwrap_or_default();
        let tls = match address.scheme_str() {
            Some("https") => Some(Tls::new(config, host, &server)?),
            Some("http") => None,
            _ => {
                let what = format!("{server} is no server: its address must begin with https:// or http://");
                return Err(Error::no_client(what));
            }
        };
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(config.connect_timeout);
        tcp.set_keepalive(Some(KEEPALIVE_AFTER));
        tcp.set_keepalive_interval(Some(KEEPALIVE_EVERY));
        tcp.set_keepalive_retries(Some(KEEPALIVE_TRIES));
        Ok(Connector {
            server: server.into(),
            address,
            tcp,
            tls,
            timeout: config.connect_timeout.unwrap_or(LONGEST_ATTEMPT),
        })
    }

    /// Whether HTTP/2 can come of it; without TLS there is nothing to agree on it.
    pub(super) fn may_give_http2(&self) -> bool {
        self.tls.is_some()
    }

    pub(super) async fn connect(&self, offer: Offer) -> Result<Connected, Unreachable> {
        let late = |_| self.failed(Step::TimedOut(self.timeout));
        tokio::time::timeout(self.timeout, self.connect_in_time(offer))
            .await
            .map_err(late)?
    }

    async fn connect_in_time(&self, offer: Offer) -> Result<Connected, Unreachable> {
        let tcp = self.tcp.clone().oneshot(self.address.clone()).await;
        let stream = tcp
            .map_err(|error| self.failed(Step::Tcp).because(error))?
            .into_inner();
        let Some(tls) = &self.tls else {
            return self.http1(stream).await;
        };
        let connector = match offer {
            Offer::Any => &tls.any,
            Offer::OnlyHttp1 => &tls.only_http1,
        };
        let stream = BufReader::with_capacity(READ_AT_ONCE, stream);
        let stream = connector.connect(tls.name.clone(), stream).await;
        let stream = stream.map_err(|error| self.failed(Step::Tls).because(error))?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP2) {
            return self.http1(stream).await;
        }
        match http2::Connection::begin(TokioIo::new(stream)).await {
            Ok(connection) => {
                tracing::debug!(server = %self.server, streams = connection.room(), "connected with HTTP/2");
                Ok(Connected::Http2(connection))
            }
            Err(error) => Err(self.failed(Step::Http).because(error)),
        }
    }

    async fn http1<S: http1::Stream>(&self, stream: S) -> Result<Connected, Unreachable> {
        let sender = http1::begin(TokioIo::new(stream)).await;
        let sender = sender.map_err(|error| self.failed(Step::Http).because(error))?;
        tracing::debug!(server = %self.server, "connected with HTTP/1.1");
        Ok(Connected::Http1(sender))
    }

    pub(super) fn failed(&self, step: Step) -> Unreachable {
        Unreachable::new(&self.server, step)
    }
}

impl Tls {
    fn new(config: &Config, host: &str, server: &str) -> Result<Tls, Error> {
        // With two providers in one program rustls does not choose, but panics.
        if CryptoProvider::get_default().is_none() {
            // Another thread may have been faster, which is as good.
            let _ = ring::default_provider().install_default();
        }
        let any = config.rustls_client_config().map_err(|error| {
            Error::no_client_because(
                format!("no TLS for {server} can be set up"),
                super::credentials::told(error),
            )
        })?;
        let name = config.tls_server_name.as_deref().unwrap_or(host);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(name.to_owned()).map_err(|error| {
            Error::no_client_because(format!("{name:?} is not the name of a server"), error)
        })?;
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

/// A server's address without what else may be in a URL: names and passwords among it.
pub(super) fn in_words(address: &Uri) -> String {
    let scheme = address.scheme_str().unwrap_or_default();
    let host = address.host().unwrap_or_default();
    match address.port() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}
