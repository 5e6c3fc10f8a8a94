//! A complete controller. Each `Website` owns a `Deployment`, and its status contains the number of ready replicas.
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
//! Press Ctrl-C to stop it. It finishes the work in progress first.

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

/// Kubernetes keeps a deleted `Website` until this finalizer is removed, after the controller has cleaned up.
const FINALIZER: &str = "example.com/website";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = default_client().await?;
    install(&client).await?;

    // One informer for each kind. Websites are enqueued by their key, deployments by the key of their website.
    let factory = SharedInformerFactory::builder(client.clone())
        .resync(Duration::from_secs(10 * 60))
        .build();
    let (websites, deployments) = (factory.informer::<Website>(), factory.informer::<Deployment>());
    let queue = WorkQueue::new("websites");
    websites.add_handler(enqueue_keys(&queue))?;
    deployments.add_handler(enqueue_controllers::<Website, _>(&queue))?;

    // Start the workers after the caches have synced: in an incomplete cache, existing objects seem to be missing.
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
    /// Brings the cluster closer to the spec of a website. Each change causes an event, which enqueues the website
    /// again, until nothing remains to be changed. An error also enqueues it again, with increasing delay.
    async fn reconcile(self, key: Task<Key>) -> Result<Outcome, kube::Error> {
        let Ok(website) = self.websites.get_key(&key) else {
            return Ok(Outcome::Done); // The website was deleted.
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

/// Adds or removes our finalizer. The patch contains the version of the website: if the website has changed, the server
/// rejects the patch, and the website is enqueued again.
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
        // The owner reference deletes the deployment with the website, and enqueues the website when the deployment
        // changes.
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
