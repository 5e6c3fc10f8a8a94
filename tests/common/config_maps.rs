//! The ConfigMaps of a test: the server, writes, and informers.

use std::collections::BTreeMap;

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, VersionMatch};
use kube::{Client, Resource};
use kube_informer::{InformerBuilder, Key, ResourceVersion, SharedInformer, source::ApiListWatch};
use serde_json::json;
use tokio::sync::watch;

use crate::gate::{Gate, GatedSource, PausedSource};
use crate::informers::{SHORT_BACKOFF, wire_format, with_requested_formats};

/// The label of all ConfigMaps that tests write; servers add others to namespaces.
pub(crate) const OWN: &str = "kept-by=conformance";

/// Returns a ConfigMap with a value.
pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    let labels = [OWN.split_once('=').expect("a label")];
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: Some(labels.map(|(k, v)| (k.into(), v.into())).into()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".into(), value.into())])),
        ..ConfigMap::default()
    }
}

/// Returns the value of a ConfigMap.
pub(crate) fn value(map: &ConfigMap) -> &str {
    map.data
        .as_ref()
        .and_then(|data| data.get("value"))
        .map_or("", String::as_str)
}

/// Returns the version that a write returned.
pub(crate) fn version_of<K: Resource>(object: &K) -> ResourceVersion {
    let version = object.meta().resource_version.as_deref();
    ResourceVersion::from(version.expect("a server sets versions"))
}

pub(crate) async fn create(api: &Api<ConfigMap>, map: &ConfigMap) -> ConfigMap {
    let created = api.create(&PostParams::default(), map).await;
    created.unwrap_or_else(|error| panic!("cannot create {:?}: {error}", map.metadata.name))
}

/// Changes the value of a ConfigMap.
pub(crate) async fn change(api: &Api<ConfigMap>, name: &str, value: &str) -> ConfigMap {
    let patch = Patch::Merge(json!({ "data": { "value": value } }));
    let changed = api.patch(name, &PatchParams::default(), &patch).await;
    changed.unwrap_or_else(|error| panic!("cannot change {name}: {error}"))
}

pub(crate) async fn delete(api: &Api<ConfigMap>, name: &str) {
    let deleted = api.delete(name, &DeleteParams::default()).await;
    deleted.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
}

/// A server, and the ConfigMaps in the namespace of one test.
pub(crate) struct ConfigMaps {
    pub(crate) server: TestServer,
    pub(crate) api: Api<ConfigMap>,
}

impl ConfigMaps {
    pub(crate) fn on(server: TestServer) -> ConfigMaps {
        let api = Api::namespaced(server.client.clone(), &server.namespace);
        ConfigMaps { server, api }
    }

    /// Starts a server with ConfigMaps of these names, each with the value `1`.
    pub(crate) async fn named<const N: usize>(names: [&str; N]) -> ConfigMaps {
        ConfigMaps::on(TestServer::start().await).with(names).await
    }

    pub(crate) async fn with<const N: usize>(self, names: [&str; N]) -> ConfigMaps {
        for name in names {
            self.create(name, "1").await;
        }
        self
    }

    /// Returns the ConfigMaps of another namespace on the same server.
    pub(crate) fn in_namespace(&self, namespace: &str) -> ConfigMaps {
        ConfigMaps::on(self.server.in_namespace(namespace))
    }

    pub(crate) fn builder(&self) -> InformerBuilder<ConfigMap> {
        self.builder_with(self.server.client.clone())
    }

    pub(crate) fn builder_with(&self, client: Client) -> InformerBuilder<ConfigMap> {
        with_requested_formats(SharedInformer::builder(client))
            .namespace(&self.server.namespace)
            .labels(OWN)
    }

    pub(crate) fn informer(&self) -> SharedInformer<ConfigMap> {
        self.builder().build()
    }

    /// Returns the source of an informer, for tests that wrap it.
    pub(crate) fn source(&self) -> ApiListWatch<ConfigMap> {
        let namespace = Some(self.server.namespace.as_str());
        ApiListWatch::new(self.server.client.clone(), &(), namespace)
            .wire_format(wire_format())
            .labels(OWN)
    }

    /// Returns an informer with an open gate in front of the server.
    pub(crate) fn gated(&self) -> (InformerBuilder<ConfigMap>, Gate) {
        let gate = Gate::new();
        let source = GatedSource {
            inner: self.source(),
            gate: gate.clone(),
        };
        (
            with_requested_formats(SharedInformer::builder_from(source, ()))
                .namespace(&self.server.namespace)
                .backoff(SHORT_BACKOFF),
            gate,
        )
    }

    /// Returns an informer that receives events only while the value is true.
    pub(crate) fn held(&self) -> (SharedInformer<ConfigMap>, watch::Sender<bool>) {
        let (let_go, go) = watch::channel(true);
        let source = PausedSource {
            inner: self.source(),
            go,
        };
        let informer = with_requested_formats(SharedInformer::builder_from(source, ())).build();
        (informer, let_go)
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key::namespaced(&self.server.namespace, name)
    }

    pub(crate) async fn create(&self, name: &str, value: &str) -> ResourceVersion {
        self.create_labelled(name, value, &[]).await
    }

    pub(crate) async fn create_labelled(
        &self,
        name: &str,
        value: &str,
        labels: &[(&str, &str)],
    ) -> ResourceVersion {
        let mut map = config_map(name, value);
        let labels = labels.iter().map(|(k, v)| ((*k).into(), (*v).into()));
        map.metadata.labels.get_or_insert_default().extend(labels);
        version_of(&create(&self.api, &map).await)
    }

    pub(crate) async fn change(&self, name: &str, value: &str) -> ResourceVersion {
        version_of(&change(&self.api, name, value).await)
    }

    pub(crate) async fn delete(&self, name: &str) {
        delete(&self.api, name).await;
    }

    /// Opens a gate once lists contain everything that was written: the cache of a server may lag behind its own writes.
    pub(crate) async fn open(&self, gate: &Gate) {
        let current = self.api.list(&ListParams::default()).await.expect("a list");
        let version = current.metadata.resource_version.expect("a version");
        let at_least = ListParams::default()
            .at(&version)
            .matching(VersionMatch::NotOlderThan);
        self.api
            .list(&at_least)
            .await
            .expect("a list of that version or a newer one");
        gate.open();
    }
}
