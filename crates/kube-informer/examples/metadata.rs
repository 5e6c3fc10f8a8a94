//! Prints objects below their owners, from metadata alone. Specs and statuses are neither requested nor kept.
//!
//! `cargo run -p kube-informer --example metadata -- deploy rs po`. Press Ctrl-C to stop it.

use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube_informer::{Index, Object, SharedInformerFactory, client::default_client};

type Metadata = PartialObjectMeta<DynamicObject>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let factory = SharedInformerFactory::new(default_client().await?);
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        names = ["deployments", "replicasets", "pods"].map(str::to_owned).into();
    }

    let mut views = Vec::new();
    for name in &names {
        let informer = factory.dynamic_metadata(&factory.discover(name).await?);
        // Dependents by the uid of their owner.
        let by_owner = informer.index("owner", |object: &Metadata| {
            let owners = object.metadata.owner_references.iter().flatten();
            owners.map(|owner| owner.uid.clone()).collect::<Vec<String>>()
        })?;
        views.push((informer, by_owner));
    }
    factory.start();
    factory.wait_for_sync(Duration::from_secs(30)).await?;

    let indexes: Vec<_> = views.iter().map(|(_, by_owner)| by_owner.clone()).collect();
    for (informer, _) in &views {
        for object in informer.snapshot().sorted() {
            if object.metadata.owner_references.is_none() {
                print(&object, &indexes, 0);
            }
        }
    }
    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    Ok(())
}

/// Prints an object, and below it the objects that would be deleted with it.
fn print(object: &Object<Metadata>, by_owner: &[Index<Metadata, String>], depth: usize) {
    println!("{:indent$}{}", "", object.key(), indent = 2 * depth);
    let uid = object.metadata.uid.as_deref().unwrap_or_default();
    for index in by_owner {
        let mut dependents = index.get(uid);
        dependents.sort_by(|a, b| a.key().cmp(b.key()));
        for dependent in &dependents {
            print(dependent, by_owner, depth + 1);
        }
    }
}
