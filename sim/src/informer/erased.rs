//! An informer without the type of its objects.

use std::sync::Arc;
use std::time::Duration;

use contract_checker::{CacheContents, HandlerChecker, ObjectState};
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Error, Key, Kind, Object, ResourceVersion, SharedInformer, SharedInformerFactory, Snapshot, enqueue_keys,
    status::{ConsistencyReport, Status},
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;

use super::handlers::{self, JoinedHandler};
use super::reads;
use crate::context::Context;
use crate::objects::state_of;
use crate::plan::{HandlerPlan, InformerPlan};
use crate::workers::{Lookup, Workers};

/// An informer of any kind.
pub(super) trait AnyInformer: Send + Sync {
    fn start(&self);
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    fn has_synced(&self) -> bool;
    fn is_stopped(&self) -> bool;
    fn version(&self) -> Option<ResourceVersion>;
    fn contents(&self) -> CacheContents;
    fn get(&self, key: &Key) -> Option<ObjectState>;
    fn status(&self) -> Status;
    fn join(
        &self,
        plan: &HandlerPlan,
        checker: &Arc<HandlerChecker>,
        context: &Arc<Context>,
        release: &Arc<Notify>,
    ) -> Option<JoinedHandler>;
    fn start_workers(&self, seed: u64, context: &Arc<Context>, name: &str) -> Option<Workers>;
    fn add_index(&self) -> Result<(), Error>;
    /// Returns the first wrong result of indexes and objects.
    fn check_reads(&self, contents: &CacheContents, from: usize) -> Option<String>;
    /// Returns an object that was replaced by an equal one since the last call.
    fn check_identity(&self) -> Option<Key>;
    fn hold_snapshot(&self) -> HeldSnapshot;
    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'static, Result<(), Error>>;
    fn wait_for_version(&self, version: u64, timeout: Duration) -> BoxFuture<'static, Result<(), Error>>;
    fn wait_for_write(
        &self,
        key: &Key,
        version: u64,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<(), Error>>;
    fn check_consistency(&self) -> BoxFuture<'static, Result<ConsistencyReport, Error>>;
}

/// A held snapshot, and its contents when it was taken.
pub(super) struct HeldSnapshot {
    first: CacheContents,
    read: Box<dyn Fn() -> CacheContents + Send>,
}

impl HeldSnapshot {
    /// Returns whether the snapshot has changed.
    pub(super) fn has_changed(&self) -> bool {
        (self.read)() != self.first
    }
}

/// An informer of one kind.
pub(super) struct TypedInformer<K: Kind> {
    pub(super) informer: SharedInformer<K>,
    /// The factory that created the informer.
    pub(super) factory: Option<SharedInformerFactory>,
    pub(super) plan: InformerPlan,
    previous: Mutex<Option<Snapshot<K>>>,
}

impl<K: Kind> TypedInformer<K> {
    pub(super) fn new(
        informer: SharedInformer<K>,
        factory: Option<SharedInformerFactory>,
        plan: &InformerPlan,
    ) -> TypedInformer<K> {
        TypedInformer {
            informer,
            factory,
            plan: plan.clone(),
            previous: Mutex::default(),
        }
    }
}

impl<K: Kind + Serialize> AnyInformer for TypedInformer<K> {
    fn start(&self) {
        match &self.factory {
            Some(factory) => factory.start(),
            None => self.informer.start().expect("it starts only once"),
        }
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        match &self.factory {
            Some(factory) => Box::pin(factory.shutdown()),
            None => Box::pin(self.informer.shutdown()),
        }
    }

    fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    fn is_stopped(&self) -> bool {
        self.informer.is_stopped()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.informer.resource_version()
    }

    fn contents(&self) -> CacheContents {
        CacheContents::of(&self.informer.snapshot(), state_of)
    }

    fn get(&self, key: &Key) -> Option<ObjectState> {
        self.informer.snapshot().get(key).as_ref().map(state_of)
    }

    fn status(&self) -> Status {
        self.informer.status()
    }

    fn join(
        &self,
        plan: &HandlerPlan,
        checker: &Arc<HandlerChecker>,
        context: &Arc<Context>,
        release: &Arc<Notify>,
    ) -> Option<JoinedHandler> {
        handlers::join(&self.informer, plan, checker, context, release)
    }

    fn start_workers(&self, seed: u64, context: &Arc<Context>, name: &str) -> Option<Workers> {
        let informer = self.informer.clone();
        let get = move |key: &Key| informer.snapshot().get(key).as_ref().map(state_of);
        let workers = Workers::start(seed, context, name, Lookup::new(get));
        self.informer.add_handler(enqueue_keys(workers.queue())).ok()?;
        Some(workers)
    }

    fn add_index(&self) -> Result<(), Error> {
        self.informer
            .index::<String, _>(reads::PARITY, reads::parity::<K>)
            .map(drop)
    }

    fn check_reads(&self, contents: &CacheContents, from: usize) -> Option<String> {
        reads::check(&self.informer.snapshot(), &self.plan, contents, from)
    }

    fn check_identity(&self) -> Option<Key> {
        let now = self.informer.snapshot();
        let before = self.previous.lock().replace(now.clone())?;
        let is_replaced = |object: &Object<K>| {
            let before = before.get(object.key());
            before.is_some_and(|before| {
                before.version() == object.version()
                    && before.uid() == object.uid()
                    && !Object::ptr_eq(&before, object)
            })
        };
        now.iter().find(is_replaced).map(|object| object.key().clone())
    }

    fn hold_snapshot(&self) -> HeldSnapshot {
        let snapshot = self.informer.snapshot();
        HeldSnapshot {
            first: CacheContents::of(&snapshot, state_of),
            read: Box::new(move || CacheContents::of(&snapshot, state_of)),
        }
    }

    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'static, Result<(), Error>> {
        if let Some(factory) = self.factory.clone() {
            return Box::pin(async move { factory.wait_for_sync(timeout).await });
        }
        let informer = self.informer.clone();
        Box::pin(async move { informer.wait_for_sync(timeout).await })
    }

    fn wait_for_version(&self, version: u64, timeout: Duration) -> BoxFuture<'static, Result<(), Error>> {
        let informer = self.informer.clone();
        Box::pin(async move { informer.wait_for_version(version.to_string(), timeout).await })
    }

    fn wait_for_write(
        &self,
        key: &Key,
        version: u64,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<(), Error>> {
        let informer = self.informer.clone();
        let mut written = ConfigMap::default();
        written.metadata.namespace = key.namespace().map(str::to_owned);
        written.metadata.name = Some(key.name().to_owned());
        written.metadata.resource_version = Some(version.to_string());
        Box::pin(async move { informer.wait_for_write(&written, timeout).await })
    }

    fn check_consistency(&self) -> BoxFuture<'static, Result<ConsistencyReport, Error>> {
        let informer = self.informer.clone();
        Box::pin(async move { informer.check_consistency().await })
    }
}
