//! Factories of informers in the namespace of one test.

use kube_informer::{FactoryBuilder, SharedInformerFactory};

use crate::informers::{AT_ONCE, Maps, PATIENCE, soon};

/// A factory for a test's own namespace that waits for nothing between attempts.
pub(crate) fn factory(maps: &Maps) -> FactoryBuilder {
    SharedInformerFactory::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .labels("kept-by=conformance")
        .backoff(AT_ONCE)
}

pub(crate) async fn started(factory: &SharedInformerFactory) {
    factory.start();
    factory.wait_for_sync(PATIENCE).await.expect("a sync");
}

pub(crate) async fn stopped(factory: &SharedInformerFactory) {
    soon(factory.shutdown()).await;
}
