//! A custom resource with kube's derive, without generated code. If its definition is not installed yet, the informer
//! waits.
//!
//! `cargo run -p kube-informer --example custom_resource`. Press Ctrl-C to stop it.

use std::time::Duration;

use kube::CustomResource;
use kube_informer::{SharedInformerFactory, callbacks, client::default_client};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Lighthouse", namespaced)]
struct LighthouseSpec {
    height: u32,
    colour: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let factory = SharedInformerFactory::builder(default_client().await?)
        .watch_error_handler(|error| eprintln!("{error:#}"))
        .build();
    let lighthouses = factory.informer::<Lighthouse>();
    let by_colour = lighthouses.index("colour", |house: &Lighthouse| [house.spec.colour.clone()])?;
    lighthouses.add_handler(
        callbacks::<Lighthouse>()
            .on_add(|house, _| println!("{} is {} m high", house.key(), house.spec.height))
            .on_update(|_, house| println!("{} is now {} m high", house.key(), house.spec.height))
            .on_delete(|house| println!("{} was deleted", house.key())),
    )?;

    factory.start();
    if let Err(error) = factory.wait_for_sync(Duration::from_secs(5)).await {
        println!("still waiting: {error:#}");
        factory.synced().await?;
    }
    println!("{} red ones", by_colour.get("red").len());

    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    Ok(())
}
