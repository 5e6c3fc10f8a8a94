//! Which images run on which node. Of each pod only the fields below are read and kept: no cache is smaller or faster.
//!
//! `cargo run -p kube-informer --example projection`. It ends with Ctrl-C.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kube::api::ObjectMeta;
use kube_informer::{FieldMask, SharedInformer, client::default_client};
use serde::Deserialize;

/// A pod, as far as this program is concerned. It is listed and watched as the kind that it inherits from.
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
    // The metadata is Kubernetes' own type, and nobody here reads this part of it.
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
