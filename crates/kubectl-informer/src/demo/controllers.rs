//! The demo's controllers: each has a work queue and workers, and reads the demo's caches.
//!
//! One checks that every deployment has its pods, using an index of pods; until then it fails and is retried
//! with backoff. The other processes backups, some of which need several attempts.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DynamicObject;
use kube_informer::prelude::*;
use kube_workqueue::Exponential;
use serde_json::Value;

use super::DemoResult;

/// Workers of each queue.
const WORKERS: usize = 2;

/// The running controllers.
pub(super) struct DemoControllers {
    pub(super) deployments: WorkQueue<Key>,
    pub(super) backups: WorkQueue<Key>,
    stop: CancellationToken,
    workers: Vec<tokio::task::JoinHandle<()>>,
}

/// The caches that the controllers read.
pub(super) struct Caches {
    pub(super) pods: SharedInformer<DynamicObject>,
    pub(super) deployments: SharedInformer<DynamicObject>,
    pub(super) backups: SharedInformer<DynamicObject>,
}

impl DemoControllers {
    /// Adds the indexes and handlers, and starts the workers.
    pub(super) fn start(caches: &Caches) -> DemoResult<DemoControllers> {
        let by_owner = caches.pods.index("owner", |pod: &DynamicObject| {
            let namespace = pod.metadata.namespace.clone().unwrap_or_default();
            let owner = pod.metadata.owner_references.iter().flatten().next();
            owner.map(|owner| Key::namespaced(&namespace, &owner.name))
        })?;
        caches
            .pods
            .index("node", |pod: &DynamicObject| text(&pod.data["spec"]["nodeName"]))?;

        let queue = |name| {
            let backoff = Exponential::new(Duration::from_millis(250), Duration::from_secs(20));
            WorkQueue::builder(name).limiter(backoff).track_age().build()
        };
        let (deployments, backups) = (queue("deployments"), queue("backups"));
        named(
            &caches.deployments,
            "enqueue deployments",
            enqueue_keys(&deployments),
        )?;
        named(
            &caches.pods,
            "enqueue owners of pods",
            enqueue_owners::<Deployment, _>(&deployments),
        )?;
        named(&caches.backups, "enqueue backups", enqueue_keys(&backups))?;

        let stop = CancellationToken::new();
        let deployment_cache = caches.deployments.clone();
        let check = workers(deployments.clone(), WORKERS, move |key: Task<Key>| {
            let deployment = deployment_cache.snapshot().get(&key);
            let pods = by_owner.get(&*key).len() as u64;
            async move {
                work_for(&key, 40).await;
                let Some(deployment) = deployment else {
                    return Ok(());
                };
                match deployment.data["spec"]["replicas"].as_u64().unwrap_or(1) {
                    replicas if replicas == pods => Ok(()),
                    replicas => Err(format!("{pods} of {replicas} pods exist")),
                }
            }
        });
        let store = workers(backups.clone(), WORKERS, |key: Task<Key>| async move {
            work_for(&key, 220).await;
            // Every third backup needs three attempts, as if the storage were unreliable.
            if amount(&key, 3) == 0 && key.attempt() < 3 {
                return Err("the storage does not respond");
            }
            Ok(())
        });
        let workers = vec![
            tokio::spawn(ended(check.run(stop.clone()))),
            tokio::spawn(ended(store.run(stop.clone()))),
        ];
        Ok(DemoControllers {
            deployments,
            backups,
            stop,
            workers,
        })
    }

    /// Stops the workers and waits for them.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        for worker in self.workers {
            // The result is empty, and a panic was logged.
            let _ = worker.await;
        }
    }
}

async fn ended<T>(run: impl Future<Output = T>) {
    run.await;
}

fn named(
    informer: &SharedInformer<DynamicObject>,
    name: &str,
    handler: impl EventHandler<DynamicObject>,
) -> DemoResult {
    informer.add_handler_with(handler, HandlerOptions::new().name(name))?;
    Ok(())
}

/// Simulates work. The duration depends on the object only.
async fn work_for(key: &Key, max_millis: u64) {
    tokio::time::sleep(Duration::from_millis(5 + amount(key, max_millis))).await;
}

fn amount(key: &Key, below: u64) -> u64 {
    let sum = key.as_str().bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    sum % below
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
