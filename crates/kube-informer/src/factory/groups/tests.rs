//! Checks that every built-in kind has an accessor, and that accessors request the resources that the server serves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Service;
use kube::Resource;
use kube::api::{ApiResource, DynamicObject};
use kube_embedded::Server;

use super::{BuiltInKind, EachKind, each_kind};
use crate::discovery::Discovery;
use crate::factory::SharedInformerFactory;
use crate::{Error, Kind, SharedInformer};

/// Returns the path of a kind.
fn path(kind: &ApiResource) -> String {
    DynamicObject::url_path(kind, None)
}

/// The accessors of kinds, by path.
#[derive(Default)]
struct Accessors(BTreeMap<String, String>);

impl EachKind for Accessors {
    fn kind<K: Kind<DynamicType: Default>>(&mut self, accessor: &str, _: BuiltInKind<'_, K>) {
        let place = path(&ApiResource::erase::<K>(&K::DynamicType::default()));
        let other = self.0.insert(place, accessor.to_owned());
        assert_eq!(other, None, "{accessor} is not the only accessor");
    }
}

#[tokio::test(start_paused = true)]
async fn each_served_kind_has_an_accessor_and_each_accessor_a_served_kind() {
    let server = Server::builder().seed(1).start().await.expect("a server");
    let client = server.direct_client();
    let mut accessors = Accessors::default();
    each_kind(&SharedInformerFactory::new(client.clone()), &mut accessors);

    let discovery = Discovery::fetch(&client).await.expect("a discovery");
    let (mut served, mut watched) = (BTreeSet::new(), 0);
    for resource in discovery.resources().filter(|resource| resource.allows("list")) {
        served.insert(path(resource.api_resource()));
        watched += usize::from(resource.is_watchable());
    }
    let reached: BTreeSet<String> = accessors.0.keys().cloned().collect();
    assert_eq!(reached, served);
    // Component statuses cannot be watched.
    assert_eq!((reached.len(), watched), (88, 87));
    for (place, accessor) in [
        ("/apis/apps/v1/deployments", "apps().v1().deployments()"),
        ("/apis/apps/v1/daemonsets", "apps().v1().daemon_sets()"),
        ("/api/v1/endpoints", "core().v1().endpoints()"),
        (
            "/apis/networking.k8s.io/v1/networkpolicies",
            "networking().v1().network_policies()",
        ),
        (
            "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions",
            "internal().v1alpha1().storage_versions()",
        ),
        ("/apis/storage.k8s.io/v1/csinodes", "storage().v1().csi_nodes()"),
    ] {
        assert_eq!(accessors.0.get(place).map(String::as_str), Some(accessor));
    }
}

/// The types of an accessor determine its informer, so one kind is sufficient.
#[tokio::test(start_paused = true)]
async fn an_accessor_gives_informer_and_lister() {
    let server = Server::builder().seed(1).start().await.expect("a server");
    let factory = SharedInformerFactory::new(server.direct_client());
    let services: BuiltInKind<'_, Service> = factory.core().v1().services();
    assert_eq!(format!("{services:?}"), "BuiltInKind(v1 Service)");
    let informer = services.informer();
    assert_eq!(informer.resource().to_string(), "services");
    assert!(services.lister().is_empty());
}

/// The names of all kinds.
#[derive(Default)]
struct Names(Vec<ApiResource>);

impl EachKind for Names {
    fn kind<K: Kind<DynamicType: Default>>(&mut self, _: &str, _: BuiltInKind<'_, K>) {
        self.0.push(ApiResource::erase::<K>(&K::DynamicType::default()));
    }
}

/// Uses dynamic informers, because 88 typed ones take minutes to compile.
#[tokio::test(start_paused = true)]
async fn each_kind_syncs() {
    let server = Server::builder().seed(1).start().await.expect("a server");
    let client = server.direct_client();
    let mut names = Names::default();
    each_kind(&SharedInformerFactory::new(client.clone()), &mut names);

    let syncs: FuturesUnordered<_> = names
        .0
        .into_iter()
        .map(|name| SharedInformer::<DynamicObject>::builder_with(client.clone(), name).build())
        .map(|informer| async move {
            informer.start()?;
            informer.wait_for_sync(Duration::from_mins(1)).await?;
            informer.shutdown().await;
            Ok::<(), Error>(())
        })
        .collect();
    let outcomes: Vec<_> = syncs.collect().await;
    let failed: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().err())
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(outcomes.len(), 88);
}
