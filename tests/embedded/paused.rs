//! Servers without sockets, for a runtime whose time is paused: hours pass in milliseconds.

use std::time::Duration;

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::Server;
use kube_informer::{Backoff, InformerBuilder};

use crate::config_maps::ConfigMaps;
use crate::observed_informer::ObservedInformer;
use crate::widgets::Widgets;

type Builder = InformerBuilder<ConfigMap>;

impl ObservedInformer {
    pub(crate) async fn paused(choose: impl FnOnce(Builder) -> Builder) -> (Server, ObservedInformer) {
        let server = Server::builder().seed(1).start().await.expect("a server");
        let patience = Duration::from_hours(24);
        let observed = ObservedInformer::new(&server.direct_client(), "default", patience, choose);
        (server, observed)
    }
}

impl ConfigMaps {
    /// Some ConfigMaps, each with the value `1`.
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
