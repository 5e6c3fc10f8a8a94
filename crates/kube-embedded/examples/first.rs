//! An API server in your process, with a client and a fault.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube_embedded::{Fault, On, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start().await?;
    let maps: Api<ConfigMap> = Api::namespaced(server.client()?, "default");

    let map: ConfigMap = serde_json::from_value(serde_json::json!({
        "metadata": { "name": "greeting" },
        "data": { "hello": "world" },
    }))?;
    maps.create(&PostParams::default(), &map).await?;

    // The next list fails, as on a busy server; kube's client retries.
    server
        .faults()
        .add(On::list("configmaps").once(), Fault::too_many_requests(0));
    let found = maps.list(&ListParams::default()).await?;
    assert_eq!(found.items.len(), 1);
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|r| r.resource == "configmaps")
            .count(),
        3
    );

    server.stop().await;
    Ok(())
}
