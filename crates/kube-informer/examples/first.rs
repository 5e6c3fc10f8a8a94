//! A cache of pods with an index and a handler.
//!
//! Starts its own API server. To use your cluster, replace the client with `default_client().await?`.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use kube_embedded::Server;
use kube_informer::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start().await?;
    let client = server.client()?;

    let factory = SharedInformerFactory::new(client.clone());
    let pods = factory.informer::<Pod>(); // or factory.core().v1().pods().informer()
    let by_node = pods.index("node", |pod: &Pod| {
        pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
    })?;
    pods.add_handler(
        callbacks::<Pod>()
            .on_add(|pod, is_in_initial_list| {
                println!("+ {} (in initial list: {is_in_initial_list})", pod.key());
            })
            .on_update(|old, new| println!("~ {} from {} to {}", new.key(), old.version(), new.version()))
            .on_delete(|pod| println!("- {}", pod.key())),
    )?;
    factory.start();
    factory.wait_for_sync(Duration::from_secs(30)).await?;

    let created = Api::<Pod>::namespaced(client, "default")
        .create(&PostParams::default(), &web())
        .await?;
    // Read your writes: from here on the cache contains the new pod.
    pods.wait_for_write(&created, Duration::from_secs(30)).await?;

    let selector: Selector = "app in (web, shop), !legacy".parse()?;
    assert_eq!(pods.lister().namespace("default").list(&selector).len(), 1);
    assert_eq!(by_node.get("node-1").len(), 1);

    factory.shutdown().await;
    server.stop().await;
    Ok(())
}

fn web() -> Pod {
    let manifest = serde_json::json!({
        "metadata": { "name": "web", "labels": { "app": "web" } },
        "spec": { "nodeName": "node-1", "containers": [{ "name": "web", "image": "nginx:1.27" }] },
    });
    serde_json::from_value(manifest).expect("a pod")
}
