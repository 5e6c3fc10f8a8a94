//! Factories of informers in the namespace of one test.

use kube_informer::{FactoryBuilder, SharedInformerFactory};

use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::{PATIENCE, SHORT_BACKOFF, soon};

/// Returns a factory for the namespace of one test, with a short backoff.
pub(crate) fn factory(maps: &ConfigMaps) -> FactoryBuilder {
    SharedInformerFactory::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .labels(OWN)
        .backoff(SHORT_BACKOFF)
}

pub(crate) async fn started(factory: &SharedInformerFactory) {
    factory.start();
    factory.wait_for_sync(PATIENCE).await.expect("a sync");
}

pub(crate) async fn stopped(factory: &SharedInformerFactory) {
    soon(factory.shutdown()).await;
}
