//! A client for many watches: kube's configuration, credentials and TLS over a connection pool with HTTP/2.
//!
//! The pool is not built on hyper-util's `client::pool` (checked with version 0.1.21), for these reasons:
//!
//! - `singleton` holds exactly one connection. It neither counts streams nor opens a second connection at the server's limit,
//!   so a request above the limit waits until a watch ends.
//! - `negotiate` decides after connecting, so its upgrade layer cannot share attempts: on a cold pool every waiting request
//!   gets the internal "use other" error and connects by itself. 40 requests at once open 40 connections, all but one of them
//!   unused. A `singleton` around the whole pool would share HTTP/1.1 connections, too.
//! - `singleton` polls the attempt from the requests' own futures. It stops while they are not polled, ends with the last of
//!   them, and its socket belongs to the runtime of the request that started it. Here the attempt is a task, and a request in
//!   another runtime survives its cancellation.
//! - `cache` limits neither the number nor the age of idle connections, and does not check whether one is closed when it is
//!   taken. It takes a connection back when the guard is dropped, also after an incomplete body.
//! - A connection that closes between checkout and request is not replaced, and requests that need HTTP/1.1 for an upgrade
//!   require a second pool.
//!
//! Stream limits, shared attempts, idle limits and retries would remain here, so the layers would replace little code.

mod connect;
mod connect_error;
mod credentials;
mod http1;
mod http2;
mod pool;
mod single_flight;

use kube::client::{ClientBuilder, ConfigExt};
use kube::config::KubeconfigError;
use kube::{Client, Config};
use tower::ServiceExt;
use tower::util::option_layer;

use self::connect::{Connector, server_name};
pub(crate) use self::connect_error::ConnectError;
use self::credentials::{check_token, redact, redact_infer_config, redact_kubeconfig, redact_request};
use self::pool::PooledTransport;
use crate::error::Error;

/// Creates a [`kube::Client`] for many watches.
///
/// Replaces `Client::try_from(config)`. Differences:
///
/// - **Connections.** kube's client uses HTTP/1.1, where each watch needs its own connection. This client uses HTTP/2 where
///   the server supports it: all requests share one connection, also if forty watches begin at once. Another connection is
///   opened near the server's limit of streams (100 on a kube-apiserver). Servers without HTTP/2 and `http://` servers get
///   HTTP/1.1, and idle connections are reused.
/// - **No hidden retries.** kube's client retries responses with status 429, 503 and 504. Informers need these responses, and
///   have their own backoff. Only a request that could not be sent because the connection had just closed is sent again.
/// - **Dead connections are detected.** The server is pinged after 30 seconds without data, and the connection is closed if it
///   does not answer within 15 seconds, as in client-go. `read_timeout` and `write_timeout` of the configuration are ignored,
///   because a watch may be silent for any time.
/// - **A slow reader does not block others.** An unread body buffers at most 2 MiB, and does not delay other bodies.
/// - Responses are not compressed, whatever `disable_compression` says.
///
/// The rest is kube's: certificates, tokens, token files and credential plugins with refresh, impersonation, headers,
/// `tls_server_name`, `accept_invalid_certs`, `connect_timeout`. With a proxy, this returns kube's own client without retries.
///
/// If no default [`CryptoProvider`](rustls::crypto::CryptoProvider) of rustls is installed, this installs ring's.
///
/// # Errors
/// Returns an error if the configuration is invalid. A server that cannot be reached is reported by the first request. Errors
/// do not contain tokens, passwords or keys.
///
/// # Panics
/// Panics outside of a tokio runtime, like all functions that create a [`Client`].
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = kube::Config::infer().await?;
/// config.default_namespace = "shop".into();
/// let client = kube_informer::client::watching_client(config)?;
/// # Ok(())
/// # }
/// ```
pub fn watching_client(mut config: Config) -> Result<Client, Error> {
    config.default_retry = false;
    check_token(&config.auth_info)?;
    let invalid = |error: kube::Error| {
        Error::no_client_because(
            format!("cannot create a client for {}", server_name(&config.cluster_url)),
            redact(error),
        )
    };
    if config.proxy_url.is_some() {
        return Client::try_from(config.clone()).map_err(invalid);
    }
    let auth = config.auth_layer().map_err(invalid)?;
    let headers = config.extra_headers_layer().map_err(invalid)?;
    // A credential plugin that returns no token returns a certificate. Only kube's client exposes its expiration.
    let valid_until = match (&config.auth_info.exec, &auth) {
        (Some(_), None) => *Client::try_from(config.clone()).map_err(invalid)?.valid_until(),
        _ => None,
    };
    let transport = PooledTransport::new(Connector::new(&config)?);
    let authorized = ClientBuilder::new(transport, config.default_namespace.clone())
        .with_layer(&headers)
        .with_layer(&option_layer(auth))
        .with_layer(&tower::layer::layer_fn(|service| {
            ServiceExt::<http::Request<kube::client::Body>>::map_err(service, redact_request)
        }))
        .with_layer(&config.base_uri_layer())
        .with_valid_until(valid_until);
    Ok(authorized.build())
}

/// Creates a client with [`watching_client`] for the cluster of the environment: `KUBECONFIG`, `~/.kube/config`, or the service
/// account of the pod.
///
/// Replaces [`Client::try_default`].
///
/// # Errors
/// Returns an error if no configuration is found, or it is invalid.
///
/// # Cancel safety
/// The future can be dropped without side effects.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), kube_informer::Error> {
/// let client = kube_informer::client::default_client().await?;
/// # Ok(())
/// # }
/// ```
pub async fn default_client() -> Result<Client, Error> {
    let config = Config::infer().await.map_err(|error| {
        let message =
            "no cluster is configured\nhint: set KUBECONFIG, write ~/.kube/config, or run in a cluster";
        Error::no_client_because(message, redact_infer_config(error))
    })?;
    watching_client(config)
}

/// Converts kube's error of a kubeconfig to one without secrets.
///
/// kube's error quotes the lines around a syntax error, including tokens and keys. Use this if your program reads a kubeconfig
/// itself and logs the error.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), kube_informer::Error> {
/// use kube::config::{Config, KubeConfigOptions, Kubeconfig};
/// use kube_informer::client::kubeconfig_error;
///
/// let kubeconfig = Kubeconfig::read_from("production.yaml").map_err(kubeconfig_error)?;
/// let options = KubeConfigOptions::default();
/// let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(kubeconfig_error)?;
/// let client = kube_informer::client::watching_client(config)?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn kubeconfig_error(error: KubeconfigError) -> Error {
    redact_kubeconfig(error)
}
