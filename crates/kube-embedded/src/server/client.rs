//! Clients for the server in this process.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::StreamExt as _;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use kube::client::Body as RequestBody;
use tokio_util::sync::CancellationToken;

use super::{Error, Server};
use crate::auth::User;
use crate::cluster::Cluster;
use crate::http::serve;
use crate::response::Body;

impl Server {
    /// Returns a client that uses HTTPS.
    pub fn client(&self) -> Result<kube::Client, Error> {
        kube::Client::try_from(self.client_config()).map_err(|e| Error::Client(Box::new(e)))
    }

    /// Returns the configuration of [`client`](Server::client), to build clients with other settings.
    pub fn client_config(&self) -> kube::Config {
        // The listener's address is always a valid URL.
        let mut config = kube::Config::new(self.url().parse().unwrap_or_default());
        config.root_cert = Some(vec![self.identity.ca_der().to_vec()]);
        config.default_namespace = "default".into();
        config.auth_info.token = Some(self.cluster.access.admin_token().to_owned().into());
        config
    }

    /// Returns a client that uses HTTPS, for a user with only the permissions that roles grant.
    ///
    /// Without [`Authorization::Rbac`](crate::Authorization::Rbac), all users may do everything.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    /// use kube::{Api, api::ListParams};
    /// use kube_embedded::{Authorization, Server, User};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::builder().authorization(Authorization::Rbac).start().await?;
    /// server.load([json!({
    ///     "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
    ///     "metadata": { "name": "developers" },
    ///     "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
    ///     "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "dev" }],
    /// })])?;
    ///
    /// let jane = server.client_as(&User::named("jane").group("dev"))?;
    /// assert!(Api::<Pod>::all(jane.clone()).list(&ListParams::default()).await.is_ok());
    /// assert!(Api::<ConfigMap>::default_namespaced(jane).delete("a", &Default::default()).await.is_err());
    /// # server.stop().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn client_as(&self, user: &User) -> Result<kube::Client, Error> {
        let mut config = self.client_config();
        config.auth_info.token = Some(self.token_for(user).into());
        kube::Client::try_from(config).map_err(|e| Error::Client(Box::new(e)))
    }

    /// Returns a client without a socket. It uses the runtime's clock, so that paused time works.
    ///
    /// Its requests fail with `ConnectionRefused` while the server is [down](Server::go_down).
    pub fn direct_client(&self) -> kube::Client {
        self.direct_client_with(self.cluster.access.admin_token())
    }

    /// Returns a client without a socket, for a user with only the permissions that roles grant.
    pub fn direct_client_as(&self, user: &User) -> kube::Client {
        self.direct_client_with(&self.token_for(user))
    }

    fn direct_client_with(&self, token: &str) -> kube::Client {
        let enforced = self.cluster.access.is_enforced();
        let service = DirectService {
            cluster: self.cluster.clone(),
            gate: self.listener.gate(),
            // Tokens contain no control characters.
            authorization: enforced
                .then(|| HeaderValue::from_str(&format!("Bearer {token}")).ok())
                .flatten(),
        };
        kube::Client::new(service, "default")
    }
}

/// A service that calls the server without a socket.
#[derive(Clone)]
struct DirectService {
    cluster: Arc<Cluster>,
    gate: super::listener::Gate,
    /// Authorization header of requests without one.
    authorization: Option<HeaderValue>,
}

impl tower::Service<Request<RequestBody>> for DirectService {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> Self::Future {
        let this = self.clone();
        if let Some(credentials) = &this.authorization {
            let headers = request.headers_mut();
            headers
                .entry(AUTHORIZATION)
                .or_insert_with(|| credentials.clone());
        }
        Box::pin(async move {
            if !this.gate.is_open() {
                return Err(io::Error::new(
                    io::ErrorKind::ConnectionRefused,
                    "the embedded server is down",
                ));
            }
            let cut = this.cluster.connections();
            tokio::select! {
                biased;
                answer = serve(&this.cluster, request, 0) => match answer {
                    Ok(response) => Ok(response.map(|body| until_cut(body, cut.clone()))),
                    Err(refused) => Err(io::Error::new(io::ErrorKind::ConnectionReset, refused)),
                },
                () = cut.cancelled() => Err(cut_off()),
            }
        })
    }
}

/// Wraps a body so that it fails when connections are cut.
fn until_cut(body: Body, cut: CancellationToken) -> Body {
    let Body::Stream(stream) = body else { return body };
    Body::stream(futures::stream::unfold(Some((stream, cut)), |state| async move {
        let (mut stream, cut) = state?;
        tokio::select! {
            biased;
            () = cut.cancelled() => Some((Err(cut_off()), None)),
            item = stream.next() => item.map(|item| (item, Some((stream, cut)))),
        }
    }))
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the server cut the connection")
}
