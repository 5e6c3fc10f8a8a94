//! The embedded half of [`TestServer`](crate::TestServer).

use std::sync::Arc;

use kube::Client;

use crate::StartError;

/// A server in this process.
#[derive(Debug)]
pub(crate) struct EmbeddedServer(kube_embedded::Server);

impl EmbeddedServer {
    pub(crate) async fn start() -> Result<Self, StartError> {
        kube_embedded::Server::start().await.map(Self).map_err(failed)
    }

    /// Starts a server that authorizes requests by RBAC.
    pub(crate) async fn with_rbac() -> Result<Self, StartError> {
        let builder = kube_embedded::Server::builder().authorization(kube_embedded::Authorization::Rbac);
        builder.start().await.map(Self).map_err(failed)
    }

    pub(crate) fn client(&self) -> Result<Client, StartError> {
        let mut config = self.0.client_config();
        // Tests see every response, including those that kube's client would retry.
        config.default_retry = false;
        Client::try_from(config).map_err(|e| failed(kube_embedded::Error::Client(Box::new(e))))
    }

    pub(crate) fn inner(&self) -> &kube_embedded::Server {
        &self.0
    }
}

fn failed(error: kube_embedded::Error) -> StartError {
    StartError::Embedded(Arc::new(error))
}
