//! Implements the reflector's context: creates cache entries, reports errors, and counts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arc_swap::ArcSwap;
use kube_wire::FieldMask;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::{Error, ErrorChain, Operation};
use crate::measures::Measurements;
use crate::object::format::{Allocation, PackingContext, Value};
use crate::object::{Entry, Key, Kind, ResourceVersion, Transform, WatchedResource, complete};
use crate::pipeline::reflector::Scope;
use crate::pipeline::reflector::driver::{Activity, Context};
use crate::pipeline::store::{Seed, Store};
use crate::pipeline::wire::{ObjectBody, RawObject};
use crate::util::panics::{caught, drop_logged};

/// Functions of the user.
pub(super) struct Hooks<K> {
    pub(super) transform: Option<Transform<K>>,
    pub(super) error_handler: Option<ErrorHandler>,
}

pub(crate) type ErrorHandler = Arc<dyn Fn(&Error) + Send + Sync>;

impl<K> Default for Hooks<K> {
    fn default() -> Self {
        Hooks {
            transform: None,
            error_handler: None,
        }
    }
}

/// State that the reflectors of an informer share.
pub(super) struct ReflectorContext<K> {
    /// Empty after the informer has stopped.
    hooks: ArcSwap<Hooks<K>>,
    pub(super) measures: Arc<Measurements>,
    /// The last error for each watched namespace, the most recent one last.
    last_errors: Mutex<Vec<Error>>,
    store: Arc<Store<K>>,
    seed: Seed,
    mask: FieldMask,
    /// `None` unless objects are packed.
    packing: Option<Arc<PackingContext<K>>>,
}

impl<K: Kind> ReflectorContext<K> {
    pub(super) fn new(
        store: Arc<Store<K>>,
        seed: Seed,
        mask: FieldMask,
        packing: Option<Arc<PackingContext<K>>>,
        hooks: Hooks<K>,
        measures: Arc<Measurements>,
    ) -> ReflectorContext<K> {
        ReflectorContext {
            hooks: ArcSwap::from_pointee(hooks),
            measures,
            last_errors: Mutex::default(),
            store,
            seed,
            mask,
            packing,
        }
    }

    /// Drops the functions of the user that are not needed to read the cache.
    pub(super) fn drop_hooks(&self) {
        let hooks = self.hooks.swap(Arc::default());
        drop_logged("the transform or the watch-error handler", hooks);
    }

    pub(super) fn packing(&self) -> Option<&Arc<PackingContext<K>>> {
        self.packing.as_ref()
    }

    /// Reports an error to the watch-error handler, or to the log if there is none.
    pub(super) fn report(&self, error: &Error) {
        let measures = &self.measures;
        measures.errors.fetch_add(1, Ordering::Relaxed);
        measures.failed.set(&measures.clock, Instant::now());
        if error.is_going_back() {
            measures.went_back.fetch_add(1, Ordering::Relaxed);
        }
        self.remember(error);
        let hooks = self.hooks.load_full();
        let Some(handler) = &hooks.error_handler else {
            return log(error);
        };
        if let Err(panic) = caught(|| handler(error)) {
            log(error);
            tracing::error!(panic, "the watch-error handler panicked");
        }
    }

    fn remember(&self, error: &Error) {
        let old = {
            let mut errors = self.last_errors.lock();
            let position = errors
                .iter()
                .position(|other| other.resource() == error.resource());
            let old = position.map(|position| errors.remove(position));
            errors.push(error.clone());
            old
        };
        // It may contain an error type of the user, so it is dropped without a lock.
        drop(old);
    }

    /// Returns the last error in one of these namespaces, or the last error of all if none of them has one.
    pub(super) fn last_error_in(&self, namespaces: &[&str]) -> Option<Error> {
        let errors = self.last_errors.lock();
        let in_them = |error: &&Error| {
            let namespace = error.resource().and_then(WatchedResource::namespace);
            namespace.is_some_and(|namespace| namespaces.contains(&namespace))
        };
        errors
            .iter()
            .rev()
            .find(in_them)
            .or_else(|| errors.last())
            .cloned()
    }

    fn make_entry(&self, object: RawObject<K>, allocation: Allocation) -> Result<Arc<Entry<K>>, Error> {
        let uid = object.uid();
        let (key, version, body) = object.into_body();
        let value = match (body, &self.packing) {
            (ObjectBody::Encoded { encoded, .. }, Some(packing)) => packing
                .pack(&key, &encoded, &self.mask, allocation)
                .map(Value::Packed),
            (ObjectBody::Encoded { encoded, .. }, None) => {
                encoded.decode(&key, &self.mask).and_then(|mut object| {
                    complete(&mut object, self.store.resource());
                    self.transformed(&key, Arc::new(object))
                })
            }
            (ObjectBody::Decoded(mut object), _) => {
                let mutable = unshared(&mut object);
                if self.mask.contains(&["metadata", "managedFields"]) {
                    mutable.meta_mut().managed_fields = None;
                }
                complete(mutable, self.store.resource());
                self.transformed(&key, object)
            }
        };
        // A failure of user code is not attributed to the list or watch in which it occurs.
        let value = value.map_err(|error| {
            if error.is_user_code() {
                error.with_context(Operation::Cache, self.store.resource())
            } else {
                error
            }
        })?;
        let hash = self.seed.key(&key);
        Ok(Entry::new(key, hash, version, uid, value))
    }

    fn transformed(&self, key: &Key, mut object: Arc<K>) -> Result<Value<K>, Error> {
        if let Some(transform) = &self.hooks.load().transform {
            transform.apply(key, unshared(&mut object))?;
        }
        Ok(Value::Decoded(object))
    }
}

/// Returns an exclusive reference to an object that has just been received.
fn unshared<K>(object: &mut Arc<K>) -> &mut K {
    Arc::get_mut(object).expect("a received object is not shared")
}

impl<K: Kind> Context<K> for ReflectorContext<K> {
    fn cached(&self, object: &RawObject<K>) -> Option<Arc<Entry<K>>> {
        self.store
            .get_at_version(object.key(), object.version(), object.uid())
    }

    fn entry(&self, object: RawObject<K>, allocation: Allocation) -> Result<Arc<Entry<K>>, Error> {
        let (began, size) = (Instant::now(), object.size());
        let entry = self.make_entry(object, allocation);
        self.measures.decoded(size, began.elapsed());
        entry
    }

    fn report(&self, error: &Error) {
        ReflectorContext::report(self, error);
    }

    fn observe(&self, scope: Scope, at: Instant, activity: Activity) {
        let measures = &self.measures;
        let Some(of_scope) = measures.scope(scope.0) else {
            return;
        };
        match activity {
            Activity::Requested(operation) => measures.requested(operation),
            Activity::Received(bytes) => measures.received.add(bytes),
            Activity::Progressed => of_scope.last_activity.set(&measures.clock, at),
            Activity::WatchOpened => of_scope.watch_opened.set(&measures.clock, at),
            Activity::WatchEnded => of_scope.watch_opened.clear(),
            Activity::Waiting(until) => of_scope.waiting_until.set(&measures.clock, until),
            Activity::Waited => of_scope.waiting_until.clear(),
            Activity::Listed(cause) => {
                of_scope.last_activity.set(&measures.clock, at);
                if let Some(cause) = cause {
                    measures.relisted(cause);
                }
            }
        }
    }

    async fn reached(&self, scope: Scope, version: &ResourceVersion) {
        let mut versions = self.store.versions();
        // Fails only after the store was dropped, but `self` keeps the store.
        let _reached = versions
            .wait_for(|versions| versions.of(scope) == Some(version))
            .await;
    }
}

/// Logs an error: as a warning, unless it is part of normal operation or was logged before.
fn log(error: &Error) {
    if error.is_expired() || error.is_no_streaming_list() || error.is_repeated() {
        tracing::debug!("{}", ErrorChain(error));
    } else {
        tracing::warn!("{}", ErrorChain(error));
    }
}
