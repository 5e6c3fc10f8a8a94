//! Watchers, reflectors, controllers and wait conditions of kube-runtime.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use conformance::TestServer;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, VersionMatch};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event as Finalizing, finalizer};
use kube::runtime::reflector::{self, Store};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{Controller, WatchStreamExt};
use kube::{CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), what)
        .await
        .expect("a result within a minute")
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".into(), value.into())])),
        ..ConfigMap::default()
    }
}

async fn create(api: &Api<ConfigMap>, name: &str) {
    api.create(&PostParams::default(), &config_map(name, "1"))
        .await
        .expect("an object");
}

async fn change(api: &Api<ConfigMap>, name: &str, value: &str) {
    let patch = Patch::Merge(json!({ "data": { "value": value } }));
    api.patch(name, &PatchParams::default(), &patch)
        .await
        .expect("an object");
}

async fn delete(api: &Api<ConfigMap>, name: &str) {
    api.delete(name, &DeleteParams::default())
        .await
        .expect("an object");
}

/// Waits until the watch cache, which serves lists at any version and streaming lists, has the current state
/// of an object.
async fn seen_by_caches(api: &Api<ConfigMap>, name: &str) {
    let object = api.get(name).await.expect("an object");
    let version = object.resource_version().expect("its version");
    let at_least = ListParams::default()
        .at(&version)
        .matching(VersionMatch::NotOlderThan);
    api.list(&at_least).await.expect("a list");
}

/// Returns the strategies of the first list.
fn strategies() -> [watcher::Config; 3] {
    [
        watcher::Config::default().page_size(2),
        watcher::Config::default().any_semantic(),
        watcher::Config::default().streaming_lists(),
    ]
}

type WatcherEvents = Pin<Box<dyn Stream<Item = Result<watcher::Event<ConfigMap>, watcher::Error>> + Send>>;

async fn next(events: &mut WatcherEvents) -> String {
    match soon(events.next()).await.expect("no end") {
        Ok(event) => event.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn watcher_lists_and_follows_in_every_mode() {
    for config in strategies() {
        let server = TestServer::start().await;
        let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
        for name in ["a", "b", "c"] {
            create(&api, name).await;
        }
        seen_by_caches(&api, "c").await;
        let mut events: WatcherEvents = watcher(
            api.clone(),
            config.clone().fields("metadata.name!=kube-root-ca.crt"),
        )
        .boxed();
        for expected in ["Init", "InitApply(a)", "InitApply(b)", "InitApply(c)", "InitDone"] {
            assert_eq!(next(&mut events).await, expected, "{config:?}");
        }
        create(&api, "d").await;
        change(&api, "a", "2").await;
        delete(&api, "b").await;
        for expected in ["Apply(d)", "Apply(a)", "Delete(b)"] {
            assert_eq!(next(&mut events).await, expected, "{config:?}");
        }
    }
}

/// A running reflector and its store.
struct RunningReflector {
    store: Store<ConfigMap>,
    updates: WatcherEvents,
}

impl RunningReflector {
    fn start(api: &Api<ConfigMap>, config: watcher::Config) -> RunningReflector {
        let (store, writer) = reflector::store();
        let updates = watcher(api.clone(), config)
            .default_backoff()
            .reflect(writer)
            .boxed();
        RunningReflector { store, updates }
    }

    fn versions(&self) -> BTreeMap<String, String> {
        versions(self.store.state().iter().map(|o| &**o))
    }

    /// Waits until the store equals the server's list.
    async fn catch_up(&mut self, api: &Api<ConfigMap>) {
        let list = soon(async {
            loop {
                if let Ok(list) = api.list(&ListParams::default()).await {
                    return list;
                }
            }
        })
        .await;
        let wanted = versions(list.iter());
        soon(async {
            while self.versions() != wanted {
                // Errors are handled by the backoff.
                let _ = self.updates.next().await.expect("no end");
            }
        })
        .await;
    }
}

fn versions<'a>(objects: impl Iterator<Item = &'a ConfigMap>) -> BTreeMap<String, String> {
    objects
        .map(|o| (o.name_any(), o.resource_version().unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn reflector_ends_equal_to_the_server() {
    for config in strategies() {
        let server = TestServer::start().await;
        let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
        for n in 0..10 {
            create(&api, &format!("object-{n}")).await;
        }
        let mut reflected = RunningReflector::start(&api, config);
        reflected.catch_up(&api).await;
        assert!(reflected.versions().len() >= 10);
        for n in 0..5 {
            change(&api, &format!("object-{n}"), "2").await;
            delete(&api, &format!("object-{}", 9 - n)).await;
            create(&api, &format!("late-{n}")).await;
        }
        reflected.catch_up(&api).await;
    }
}

#[tokio::test]
async fn reflector_survives_compacted_history() {
    for config in strategies() {
        let server = TestServer::alone().await;
        let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
        create(&api, "a").await;
        create(&api, "b").await;
        let mut reflected = RunningReflector::start(&api, config);
        reflected.catch_up(&api).await;
        // The watch is not polled while the history is compacted.
        change(&api, "a", "2").await;
        delete(&api, "b").await;
        server.forget_history().await;
        if let Some(embedded) = server.embedded() {
            embedded.cut_connections();
        }
        create(&api, "c").await;
        reflected.catch_up(&api).await;
        change(&api, "c", "2").await;
        reflected.catch_up(&api).await;
    }
}

/// A kind for a controller, with a status subresource.
#[derive(CustomResource, Deserialize, Serialize, Clone, Debug, JsonSchema)]
#[kube(
    group = "kube-rs.example.com",
    version = "v1",
    kind = "Garden",
    namespaced,
    status = "GardenStatus"
)]
#[serde(rename_all = "camelCase")]
struct GardenSpec {
    plants: Vec<String>,
}

#[derive(Deserialize, Serialize, Clone, Debug, Default, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GardenStatus {
    planted: usize,
    observed_generation: i64,
}

const FINALIZER: &str = "kube-rs.example.com/cleanup";

/// Creates an owned ConfigMap for every plant, and counts them in the status.
async fn tend(
    garden: Arc<Garden>,
    client: Arc<kube::Client>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let namespace = garden.namespace().unwrap_or_default();
    let gardens: Api<Garden> = Api::namespaced((*client).clone(), &namespace);
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace);
    finalizer(&gardens, FINALIZER, garden, |event| async {
        match event {
            Finalizing::Apply(garden) => {
                let owner = garden
                    .controller_owner_ref(&())
                    .expect("an owner with name and uid");
                for plant in &garden.spec.plants {
                    let mut map = config_map(&format!("{}-{plant}", garden.name_any()), plant);
                    map.metadata.owner_references = Some(vec![owner.clone()]);
                    maps.patch(
                        &map.name_any(),
                        &PatchParams::apply("gardener"),
                        &Patch::Apply(&map),
                    )
                    .await?;
                }
                let status = json!({ "status": {
                    "planted": garden.spec.plants.len(),
                    "observedGeneration": garden.metadata.generation,
                } });
                gardens
                    .patch_status(&garden.name_any(), &PatchParams::default(), &Patch::Merge(status))
                    .await?;
            }
            Finalizing::Cleanup(garden) => {
                let farewell = config_map(&format!("{}-was-here", garden.name_any()), "farewell");
                maps.patch(
                    &farewell.name_any(),
                    &PatchParams::apply("gardener"),
                    &Patch::Apply(&farewell),
                )
                .await?;
            }
        }
        Ok(Action::await_change())
    })
    .await
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "the life of one object, in order")]
async fn controller_reconciles_a_custom_resource() {
    let server = TestServer::start().await;
    let client = server.client.clone();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = Garden::crd_name();
    let applied = definitions
        .patch(name, &PatchParams::apply("tester"), &Patch::Apply(Garden::crd()))
        .await;
    applied.expect("a definition");
    soon(await_condition(
        definitions.clone(),
        name,
        conditions::is_crd_established(),
    ))
    .await
    .expect("an answer");

    let gardens: Api<Garden> = Api::namespaced(client.clone(), &server.namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &server.namespace);
    let controller = Controller::new(gardens.clone(), watcher::Config::default())
        .owns(maps.clone(), watcher::Config::default())
        .run(
            tend,
            |_, _, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(client.clone()),
        )
        .for_each(|_| async {});
    let controller = tokio::spawn(controller);

    let garden = Garden::new(
        "home",
        GardenSpec {
            plants: vec!["rose".into(), "oak".into()],
        },
    );
    let garden = gardens
        .create(&PostParams::default(), &garden)
        .await
        .expect("a garden");
    let tended = |generation| {
        move |garden: Option<&Garden>| {
            garden
                .and_then(|g| g.status.as_ref())
                .is_some_and(|s| s.observed_generation == generation)
        }
    };
    let grown = soon(await_condition(gardens.clone(), "home", tended(1)))
        .await
        .expect("a garden")
        .expect("a garden");
    assert_eq!(grown.finalizers(), [FINALIZER]);
    assert_eq!(grown.status.map(|s| s.planted), Some(2));
    assert_eq!(
        grown.metadata.generation,
        Some(1),
        "neither finalizer nor status is a new generation"
    );

    // A deleted owned object is created again.
    let rose = maps.get("home-rose").await.expect("a rose");
    assert_eq!(rose.owner_references()[0].uid, garden.uid().unwrap_or_default());
    delete(&maps, "home-rose").await;
    let grows_again = |map: Option<&ConfigMap>| map.is_some_and(|m| m.uid() != rose.uid());
    soon(await_condition(maps.clone(), "home-rose", grows_again))
        .await
        .expect("a new rose");

    // A status update does not change the spec, and an update does not change the status.
    let more =
        Patch::Merge(json!({ "spec": { "plants": ["rose", "oak", "elm"] }, "status": { "planted": 99 } }));
    gardens
        .patch("home", &PatchParams::default(), &more)
        .await
        .expect("a garden");
    let grown = soon(await_condition(gardens.clone(), "home", tended(2)))
        .await
        .expect("a garden")
        .expect("a garden");
    assert_eq!(grown.status.map(|s| s.planted), Some(3));

    // The deletion waits for the finalizer; then owned objects are deleted, too.
    let uid = garden.uid().unwrap_or_default();
    gardens
        .delete("home", &DeleteParams::background())
        .await
        .expect("a deletion");
    soon(await_condition(
        gardens.clone(),
        "home",
        conditions::is_deleted(&uid),
    ))
    .await
    .expect("gone");
    maps.get("home-was-here").await.expect("the finalizer's farewell");
    server.require_controllers();
    let none = |map: Option<&ConfigMap>| map.is_none();
    for plant in ["rose", "oak", "elm"] {
        soon(await_condition(maps.clone(), &format!("home-{plant}"), none))
            .await
            .expect("gone");
    }
    controller.abort();
    let _ = controller.await;

    let definition = definitions.get(name).await.expect("a definition");
    definitions
        .delete(name, &DeleteParams::default())
        .await
        .expect("a deletion");
    let uid = definition.uid().unwrap_or_default();
    soon(await_condition(definitions, name, conditions::is_deleted(&uid)))
        .await
        .expect("gone");
    // The real server removes the kind shortly after its definition.
    soon(async {
        while gardens.list(&ListParams::default()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn condition_can_be_awaited() {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    let ready = |map: Option<&ConfigMap>| {
        map.and_then(|m| m.data.as_ref())
            .is_some_and(|d| d["value"] == "ready")
    };
    let mut waiting = pin!(await_condition(api.clone(), "a", ready));
    assert!(futures::poll!(&mut waiting).is_pending());
    create(&api, "a").await;
    change(&api, "a", "ready").await;
    let seen = soon(waiting).await.expect("an object").expect("an object");
    let uid = seen.uid().expect("a uid");
    let deleted = await_condition(api.clone(), "a", conditions::is_deleted(&uid));
    let (gone, ()) = tokio::join!(soon(deleted), delete(&api, "a"));
    assert!(gone.is_ok());
}
