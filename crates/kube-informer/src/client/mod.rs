//! A client made for watching: kube's configuration, credentials and TLS over a transport that needs few connections.

mod body;
mod connect;
mod credentials;
mod http1;
mod http2;
mod single_flight;
mod transport;
mod unreachable;

use kube::client::{ClientBuilder, ConfigExt};
use kube::config::KubeconfigError;
use kube::{Client, Config};
use tower::ServiceExt;
use tower::util::option_layer;

use self::connect::{Connector, in_words};
use self::credentials::{check_token, told, told_of_config, told_of_kubeconfig, told_of_request};
use self::transport::Transport;
pub(crate) use self::unreachable::Unreachable;
use crate::error::Error;

/// An ordinary [`kube::Client`] whose connections are made for watching.
///
/// Use it in place of `Client::try_from(config)`. What differs:
///
/// - **Connections.** kube's own client speaks HTTP/1.1, where every watch has a connection of its own. This one speaks
///   HTTP/2 with servers that do: all requests share one connection, also when forty watches begin at once. Near the number
///   of requests that the server allows on a connection (100 on a kube-apiserver) another one is opened. Servers without
///   HTTP/2, and `http://` ones, get HTTP/1.1, and free connections are used again.
/// - **Nothing is tried again** behind your back. kube's client repeats what was answered with 429, 503 or 504 for a while;
///   informers have to see these answers, and wait in their own way. Only a request that could not be sent at all, because
///   the connection had just closed, goes over a new one.
/// - **Dead connections are found**: after 30 seconds of silence the server is pinged, and 15 seconds later given up, as
///   client-go does it. `read_timeout` and `write_timeout` of the configuration are not used, because a watch may be silent
///   for as long as it likes.
/// - **A slow reader delays nobody.** A body that is not read holds back at most 2 MiB, and no other body.
/// - Answers are not compressed, whatever `disable_compression` says.
///
/// The rest is kube's: certificates, tokens, token files and credential programs with their refreshing, impersonation,
/// headers, `tls_server_name`, `accept_invalid_certs`, `connect_timeout`. A configuration with a proxy gets kube's own
/// client, only without its repetitions.
///
/// If the program has no default [`CryptoProvider`](rustls::crypto::CryptoProvider) of rustls, this sets ring's.
///
/// It must be called in a tokio runtime, as everything that makes a [`Client`].
///
/// # Errors
/// When the configuration cannot be used. Whether the server is there shows with the first request. No error says a token,
/// password or key.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = kube::Config::infer().await?;
/// config.default_namespace = "shop".into();
/// let client = kube_informer::watching_client(config)?;
/// # Ok(())
/// # }
/// ```
pub fn watching_client(mut config: Config) -> Result<Client, Error> {
    config.default_retry = false;
    check_token(&config.auth_info)?;
    let no_client = |error: kube::Error| {
        Error::no_client_because(
            format!("no client for {} can be made", in_words(&config.cluster_url)),
            told(error),
        )
    };
    if config.proxy_url.is_some() {
        return Client::try_from(config.clone()).map_err(no_client);
    }
    let auth = config.auth_layer().map_err(no_client)?;
    let headers = config.extra_headers_layer().map_err(no_client)?;
    // A credential program that gives no token gives a certificate; only kube can tell when that ends.
    let valid_until = match (&config.auth_info.exec, &auth) {
        (Some(_), None) => *Client::try_from(config.clone()).map_err(no_client)?.valid_until(),
        _ => None,
    };
    let transport = Transport::new(Connector::new(&config)?);
    let authorized = ClientBuilder::new(transport, config.default_namespace.clone())
        .with_layer(&headers)
        .with_layer(&option_layer(auth))
        .with_layer(&tower::layer::layer_fn(|service| {
            ServiceExt::<http::Request<kube::client::Body>>::map_err(service, told_of_request)
        }))
        .with_layer(&config.base_uri_layer())
        .with_valid_until(valid_until);
    Ok(authorized.build())
}

/// A client for the cluster that the environment tells of, made by [`watching_client`]: `KUBECONFIG`, `~/.kube/config`, or
/// the service account of the pod this runs in.
///
/// Use it in place of [`Client::try_default`].
///
/// # Cancel safety
/// Nothing is lost when the future is dropped.
///
/// ```no_run
/// # async fn example() -> Result<(), kube_informer::Error> {
/// let client = kube_informer::default_client().await?;
/// # Ok(())
/// # }
/// ```
pub async fn default_client() -> Result<Client, Error> {
    let config = Config::infer().await.map_err(|error| {
        let what = "no cluster is configured: set KUBECONFIG, write ~/.kube/config, or run in a cluster";
        Error::no_client_because(what, told_of_config(error))
    })?;
    watching_client(config)
}

/// What is wrong with a kubeconfig, without what stands in it.
///
/// kube's own error of a kubeconfig that cannot be parsed quotes the lines around the mistake, tokens and keys included. Use this
/// where you read one yourself, before it gets into a log.
///
/// ```no_run
/// # async fn example() -> Result<(), kube_informer::Error> {
/// use kube::config::{Config, KubeConfigOptions, Kubeconfig};
/// use kube_informer::kubeconfig_error;
///
/// let kubeconfig = Kubeconfig::read_from("production.yaml").map_err(kubeconfig_error)?;
/// let options = KubeConfigOptions::default();
/// let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(kubeconfig_error)?;
/// let client = kube_informer::watching_client(config)?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn kubeconfig_error(error: KubeconfigError) -> Error {
    told_of_kubeconfig(error)
}
