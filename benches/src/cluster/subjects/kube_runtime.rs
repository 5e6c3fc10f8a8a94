//! kube-runtime's watcher and reflector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::{self, Store, store::Writer};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::runtime::{WatchStreamExt, reflector::reflector};
use kube::{Api, Client};
use tokio::task::JoinHandle;

use super::ListMode;
use crate::Outcome;
use crate::cluster::ClusterSubject;
use crate::cluster::arrivals::Arrivals;

/// A store that a watcher fills, and a consumer of the watcher's stream.
pub(super) struct Reflector {
    client: Client,
    list_mode: ListMode,
    arrivals: Arrivals,
    store: Store<Pod>,
    writer: Option<Writer<Pod>>,
    lists: Arc<AtomicU64>,
    task: Option<JoinHandle<()>>,
}

impl Reflector {
    pub(super) async fn new(arrivals: Arrivals, list_mode: ListMode) -> Outcome<Reflector> {
        let (store, writer) = reflector::store();
        Ok(Reflector {
            client: Client::try_default().await?,
            list_mode,
            arrivals,
            store,
            writer: Some(writer),
            lists: Arc::default(),
            task: None,
        })
    }
}

impl ClusterSubject for Reflector {
    async fn sync(&mut self) -> Outcome {
        let writer = self.writer.take().ok_or("already synced")?;
        let config = match self.list_mode {
            ListMode::List => Config::default(),
            ListMode::Streaming => Config::default().streaming_lists(),
        };
        let events = watcher(Api::<Pod>::all(self.client.clone()), config).default_backoff();
        let (arrivals, lists) = (self.arrivals.clone(), Arc::clone(&self.lists));
        let consumed = reflector(writer, events).for_each(move |event| {
            match event {
                Ok(Event::Init) => {
                    lists.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Event::InitApply(pod) | Event::Apply(pod)) => arrivals.received(&pod.metadata),
                // Broken connections are part of the benchmark.
                Ok(Event::InitDone | Event::Delete(_)) | Err(_) => {}
            }
            std::future::ready(())
        });
        self.task = Some(tokio::spawn(consumed));
        self.store.wait_until_ready().await?;
        Ok(())
    }

    fn objects(&self) -> usize {
        self.store.len()
    }

    fn lists(&self) -> u64 {
        self.lists.load(Ordering::Relaxed)
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
