//! The example of many client-go tutorials: watch stateful sets, print changes, list a namespace from the cache.
//!
//! `cargo run -p kube-informer --example stateful_sets [NAMESPACE]`, for the cluster in which it runs or that of your
//! kubeconfig. Press Ctrl-C to stop it.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube_informer::{Object, Selector, SharedInformerFactory, callbacks, client::default_client};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let namespace = std::env::args().nth(1).unwrap_or_else(|| "default".to_owned());
    // The current context of the kubeconfig or, in a pod, its service account.
    let factory = SharedInformerFactory::builder(default_client().await?)
        .resync(Duration::from_secs(10 * 60))
        .build();

    let stateful_sets = factory.apps().v1().stateful_sets();
    stateful_sets.informer().add_handler(
        callbacks::<StatefulSet>()
            .on_add(|set, _| println!("added {} with {} replicas", set.key(), replicas(set)))
            .on_update(|old, new| {
                // A resync repeats unchanged objects.
                if old.version() != new.version() {
                    println!(
                        "updated {} from {} to {} replicas",
                        new.key(),
                        replicas(old),
                        replicas(new)
                    );
                }
            })
            .on_delete(|set| println!("deleted {}", set.key())),
    )?;

    factory.start();
    factory.wait_for_sync(Duration::from_secs(30)).await?;
    let found = stateful_sets
        .lister()
        .namespace(&namespace)
        .list(&Selector::everything());
    println!("{} stateful sets in {namespace}:", found.len());
    for set in &found {
        println!("  {}", set.key().name());
    }

    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    Ok(())
}

fn replicas(set: &Object<StatefulSet>) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}
