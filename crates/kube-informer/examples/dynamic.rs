//! Watches any resource of the server, by any name that kubectl accepts.
//!
//! `cargo run -p kube-informer --example dynamic -- deploy`, or `deployments.v1.apps`, `Widget`, `po`. Press Ctrl-C to
//! stop it.

use std::time::Duration;

use kube::api::DynamicObject;
use kube_informer::{SharedInformerFactory, callbacks, client::default_client};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args()
        .nth(1)
        .ok_or("missing argument RESOURCE, for example deploy")?;
    let factory = SharedInformerFactory::new(default_client().await?);

    let resource = factory.discover(&name).await?;
    let objects = factory.dynamic(&resource);
    println!("watching {}", objects.resource());
    objects.add_handler(
        callbacks::<DynamicObject>()
            .on_add(|object, is_in_initial_list| {
                println!("{} {}", if is_in_initial_list { " " } else { "+" }, object.key());
            })
            .on_update(|_, object| println!("~ {} {}", object.key(), object.data["status"]))
            .on_delete(|object| println!("- {}", object.key())),
    )?;

    factory.start();
    factory.wait_for_sync(Duration::from_secs(30)).await?;
    println!("{} objects", objects.lister().len());

    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    Ok(())
}
