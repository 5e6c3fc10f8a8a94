//! A. The factory, the entry point: options, one informer per kind, start, shutdown and the wait for sync.

mod connections;
mod discovery;
mod forms;
mod late_kinds;
mod lifecycle;
mod namespaces;
mod options;
mod rights;
mod sharing;
mod sync;

use std::time::Duration;

use kube_informer::{FactoryBuilder, SharedInformerFactory};

use crate::informers::{AT_ONCE, Maps, PATIENCE, soon};

/// A factory for a test's own namespace that waits for nothing between attempts.
fn factory(maps: &Maps) -> FactoryBuilder {
    SharedInformerFactory::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .labels("kept-by=mission")
        .backoff(AT_ONCE)
}

async fn started(factory: &SharedInformerFactory) {
    factory.start();
    factory.wait_for_sync(PATIENCE).await.expect("a sync");
}

async fn stopped(factory: &SharedInformerFactory) {
    soon(factory.shutdown()).await;
}

/// Long enough for a local server to answer, and no longer than a test may take that waits in vain.
const SHORTLY: Duration = Duration::from_secs(2);
