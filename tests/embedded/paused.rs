//! Servers without sockets, for a runtime whose time is paused: hours pass in milliseconds.

use std::time::Duration;

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::Server;
use kube_informer::{Backoff, InformerBuilder};

use crate::informers::Maps;
use crate::scene::Scene;
use crate::widgets::Widgets;

type Builder = InformerBuilder<ConfigMap>;

impl Scene {
    pub(crate) async fn paused(choose: impl FnOnce(Builder) -> Builder) -> (Server, Scene) {
        let server = Server::builder().seed(1).start().await.expect("a server");
        let patience = Duration::from_hours(24);
        let scene = Scene::new(&server.direct_client(), "default", patience, choose);
        (server, scene)
    }
}

impl Maps {
    /// Some ConfigMaps, each with the value `1`.
    pub(crate) async fn paused<const N: usize>(names: [&str; N]) -> Maps {
        Maps::on(TestServer::embedded_without_sockets().await)
            .with(names)
            .await
    }
}

impl Widgets {
    pub(crate) async fn paused() -> Widgets {
        Widgets::on(TestServer::embedded_without_sockets().await, Backoff::default())
    }
}
