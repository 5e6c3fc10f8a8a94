//! Prints the images on each node. Only the fields below are read and kept, which makes the cache as small and fast as
//! possible.
//!
//! `cargo run -p kube-informer --example projection`. Press Ctrl-C to stop it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kube::api::ObjectMeta;
use kube_informer::{FieldMask, SharedInformer, client::default_client};
use serde::Deserialize;

/// The fields of a pod that this program needs. They are listed and watched as pods.
#[derive(Debug, Clone, Deserialize, Resource)]
#[resource(inherit = "Pod")]
struct PlacedPod {
    metadata: ObjectMeta,
    spec: Placed,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Placed {
    node_name: Option<String>,
    containers: Vec<Image>,
}

#[derive(Debug, Clone, Deserialize)]
struct Image {
    image: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The metadata has Kubernetes' own type, but this program does not read annotations.
    let unread = FieldMask::none().path("metadata.annotations")?;
    let pods = SharedInformer::<PlacedPod>::builder(default_client().await?)
        .prune(&unread)
        .build();
    pods.start()?;
    pods.wait_for_sync(Duration::from_secs(30)).await?;

    let mut nodes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pod in &pods.snapshot() {
        let node = pod
            .spec
            .node_name
            .clone()
            .unwrap_or_else(|| "(no node)".to_owned());
        let images = pod
            .spec
            .containers
            .iter()
            .map(|container| container.image.clone());
        nodes.entry(node).or_default().extend(images);
    }
    for (node, images) in nodes {
        println!("{node}");
        for image in images {
            println!("  {image}");
        }
    }
    tokio::signal::ctrl_c().await?;
    pods.shutdown().await;
    Ok(())
}
