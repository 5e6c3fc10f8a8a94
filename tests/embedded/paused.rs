//! Servers without sockets, for a runtime with a paused clock: hours pass in milliseconds.

use std::time::Duration;

use conformance::TestServer;
use kube_embedded::Server;
use kube_informer::Backoff;

use crate::config_maps::ConfigMaps;
use crate::observed_informer::{ConfigMapInformerBuilder, ObservedInformer};
use crate::widgets::Widgets;

impl ObservedInformer {
    pub(crate) async fn paused(
        choose: impl FnOnce(ConfigMapInformerBuilder) -> ConfigMapInformerBuilder,
    ) -> (Server, ObservedInformer) {
        let server = Server::builder().seed(1).start().await.expect("a server");
        let patience = Duration::from_hours(24);
        let observed = ObservedInformer::new(&server.direct_client(), "default", patience, choose);
        (server, observed)
    }
}

impl ConfigMaps {
    /// Returns ConfigMaps with these names, each with the value `1`.
    pub(crate) async fn paused<const N: usize>(names: [&str; N]) -> ConfigMaps {
        ConfigMaps::on(TestServer::embedded_without_sockets().await)
            .with(names)
            .await
    }
}

impl Widgets {
    pub(crate) async fn paused() -> Widgets {
        Widgets::on(TestServer::embedded_without_sockets().await, Backoff::default())
    }
}
