//! A factory with informers of many kinds.

use kube::Client;
use kube_informer::{SharedInformerFactory, discovery::Discovery};

use crate::factories::started;

/// Starts informers of the first forty kinds that the server's discovery lists, and waits until they have synced.
pub(crate) async fn forty_kinds(client: Client) -> SharedInformerFactory {
    let discovery = Discovery::fetch(&client).await.expect("discovery");
    let factory = SharedInformerFactory::new(client);
    for resource in discovery
        .resources()
        .filter(|resource| resource.is_watchable())
        .take(40)
    {
        let _informer = factory.dynamic(resource);
    }
    assert_eq!(factory.statuses().len(), 40);
    started(&factory).await;
    factory
}
