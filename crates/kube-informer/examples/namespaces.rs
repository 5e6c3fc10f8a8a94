//! Several namespaces in one cache, for an operator without access to the whole cluster; and a readiness probe.
//!
//! `cargo run -p kube-informer --example namespaces -- team-a team-b`. Press Ctrl-C to stop it.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Selector, SharedInformerFactory, client::default_client};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let namespaces: Vec<String> = std::env::args().skip(1).collect();
    let factory = SharedInformerFactory::builder(default_client().await?)
        .namespaces(&namespaces)
        .labels("app.kubernetes.io/managed-by!=Helm")
        .build();
    let maps = factory.informer::<ConfigMap>();
    maps.add_handler(|event: kube_informer::Event<ConfigMap>| println!("{}", event.key()))?;

    factory.start();
    factory.wait_for_sync(Duration::from_secs(30)).await?;
    for namespace in &namespaces {
        let here = maps.lister().namespace(namespace).list(&Selector::everything());
        println!("{namespace} has {} config maps", here.len());
    }
    // The response of a `/readyz` endpoint.
    print!("{}", factory.readiness().response().body());

    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    Ok(())
}
