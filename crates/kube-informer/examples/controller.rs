//! A whole controller: a `Website` has a `Deployment`, which it owns, and a status, which tells how much of it is ready.
//!
//! `cargo run -p kube-informer --example controller`, then:
//!
//! ```sh
//! kubectl apply -f - <<'YAML'
//! apiVersion: example.com/v1
//! kind: Website
//! metadata: { name: shop }
//! spec: { image: "nginx:1.27", replicas: 2 }
//! YAML
//! kubectl get websites,deployments
//! ```
//!
//! It ends with Ctrl-C, after the work at hand.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use kube_informer::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Website",
    namespaced,
    status = "WebsiteStatus"
)]
struct WebsiteSpec {
    image: String,
    replicas: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
struct WebsiteStatus {
    ready: i32,
}

/// While this stands on a `Website`, it is not gone before we have cleaned up after it.
const FINALIZER: &str = "example.com/website";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = default_client().await?;
    install(&client).await?;

    // One informer for each kind. Websites go into the queue by their key, deployments by the key of their website.
    let factory = SharedInformerFactory::builder(client.clone())
        .resync(Duration::from_secs(10 * 60))
        .build();
    let (websites, deployments) = (factory.informer::<Website>(), factory.informer::<Deployment>());
    let queue = WorkQueue::new("websites");
    websites.add_handler(enqueue_keys(&queue))?;
    deployments.add_handler(enqueue_controllers::<Website, _>(&queue))?;

    // Nobody works before the caches are whole: half a cache looks like a cluster in which things are missing.
    factory.start();
    factory.wait_for_sync(Duration::from_secs(60)).await?;
    println!("{} websites", websites.lister().len());

    let controller = Controller {
        client,
        websites: websites.lister(),
        deployments: deployments.lister(),
    };
    let stop = CancellationToken::new();
    tokio::spawn(cancel_with_ctrl_c(stop.clone()));
    workers(queue, 2, move |key| controller.clone().reconcile(key))
        .deadline(Duration::from_secs(30))
        .run(stop)
        .await;
    factory.shutdown().await;
    Ok(())
}

#[derive(Clone)]
struct Controller {
    client: Client,
    websites: Lister<Website>,
    deployments: Lister<Deployment>,
}

impl Controller {
    /// Brings the cluster a step closer to what a website asks for. Whatever it changes comes back as an event and brings
    /// the website here again, until there is nothing to change. An error brings it back, too, later with each time.
    async fn reconcile(self, key: Task<Key>) -> Result<Outcome, kube::Error> {
        let Ok(website) = self.websites.get_key(&key) else {
            return Ok(Outcome::Done); // It is gone.
        };
        let namespace = key.namespace().unwrap_or_default();
        let websites: Api<Website> = Api::namespaced(self.client.clone(), namespace);
        if website.metadata.deletion_timestamp.is_some() {
            println!("{}: cleaned up", *key);
            return finalize(&websites, &website, false).await;
        }
        if !website.finalizers().iter().any(|name| name == FINALIZER) {
            return finalize(&websites, &website, true).await;
        }

        let deployment = self.deployments.get_key(&key).ok();
        if deployment
            .as_deref()
            .is_none_or(|deployment| !fits(deployment, &website.spec))
        {
            let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
            let apply = PatchParams::apply("website-controller").force();
            deployments
                .patch(key.name(), &apply, &Patch::Apply(deployment_of(&website)))
                .await?;
            println!("{}: {} × {}", *key, website.spec.replicas, website.spec.image);
        }

        let ready = deployment.and_then(|deployment| deployment.status.as_ref()?.ready_replicas);
        let status = WebsiteStatus {
            ready: ready.unwrap_or(0),
        };
        if website.status.as_ref() != Some(&status) {
            let patch = Patch::Merge(json!({ "status": status }));
            websites
                .patch_status(key.name(), &PatchParams::default(), &patch)
                .await?;
            println!("{}: {} of {} ready", *key, status.ready, website.spec.replicas);
        }
        Ok(Outcome::Done)
    }
}

/// Sets our finalizer or takes it away, and leaves those of others. With the version that was seen: if the website has
/// changed meanwhile, this is refused, and tried again with what is new.
async fn finalize(websites: &Api<Website>, website: &Website, ours: bool) -> Result<Outcome, kube::Error> {
    let others = website
        .finalizers()
        .iter()
        .map(String::as_str)
        .filter(|name| *name != FINALIZER);
    let finalizers: Vec<&str> = others.chain(ours.then_some(FINALIZER)).collect();
    let version = website.resource_version();
    let patch = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": version } });
    websites
        .patch(&website.name_any(), &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(Outcome::Done)
}

fn fits(deployment: &Deployment, wanted: &WebsiteSpec) -> bool {
    let Some(spec) = &deployment.spec else {
        return false;
    };
    let image = spec
        .template
        .spec
        .as_ref()
        .and_then(|pod| pod.containers.first()?.image.as_ref());
    spec.replicas == Some(wanted.replicas) && image == Some(&wanted.image)
}

fn deployment_of(website: &Website) -> serde_json::Value {
    let name = website.name_any();
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        // Owned: it goes when the website goes, and its changes bring the website into the queue.
        "metadata": { "name": name, "ownerReferences": [website.controller_owner_ref(&())] },
        "spec": {
            "replicas": website.spec.replicas,
            "selector": { "matchLabels": { "website": name } },
            "template": {
                "metadata": { "labels": { "website": name } },
                "spec": { "containers": [{ "name": "web", "image": website.spec.image }] },
            },
        },
    })
}

async fn install(client: &Client) -> Result<(), kube::Error> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let (definition, apply) = (Website::crd(), PatchParams::apply("website-controller").force());
    definitions
        .patch(&definition.name_any(), &apply, &Patch::Apply(&definition))
        .await?;
    Ok(())
}

async fn cancel_with_ctrl_c(stop: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.cancel();
    }
}
