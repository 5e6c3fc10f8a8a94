//! Makes items ready for the store, and takes errors.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kube_wire::FieldMask;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::{Chain, Error, Operation};
use crate::object::format::{Packing, Place, Value};
use crate::object::{Key, Kind, ResourceVersion, Transform, Unplaced, WatchedResource, complete};
use crate::pipeline::queue::{Listed, Scope};
use crate::pipeline::reflector::driver::{self, Note, Requested};
use crate::pipeline::store::{Seed, Store};
use crate::pipeline::wire::{Body, RawObject};
use crate::status::Measures;
use crate::util::panics::caught;

/// What users hook in before the start.
pub(super) struct Hooks<K> {
    pub(super) transform: Option<Transform<K>>,
    pub(super) error_handler: Option<ErrorHandler>,
}

type ErrorHandler = Arc<dyn Fn(&Error) + Send + Sync>;

impl<K> Hooks<K> {
    pub(super) fn set_transform<E: std::fmt::Display>(
        &mut self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Option<Transform<K>> {
        self.transform.replace(Transform::new(transform))
    }
}

impl<K> Default for Hooks<K> {
    fn default() -> Self {
        Hooks {
            transform: None,
            error_handler: None,
        }
    }
}

/// The reflector's way into the informer.
pub(super) struct Intake<K> {
    pub(super) hooks: Mutex<Hooks<K>>,
    pub(super) measures: Arc<Measures>,
    /// The last error of each namespace that is looked at, the latest behind the others.
    last_errors: Mutex<Vec<Error>>,
    store: Arc<Store<K>>,
    seed: Seed,
    mask: FieldMask,
    /// Where objects are packed, if they are.
    packing: Option<Arc<Packing<K>>>,
}

impl<K: Kind> Intake<K> {
    pub(super) fn new(
        store: Arc<Store<K>>,
        seed: Seed,
        mask: FieldMask,
        packing: Option<Arc<Packing<K>>>,
        hooks: Hooks<K>,
        measures: Arc<Measures>,
    ) -> Intake<K> {
        Intake {
            hooks: Mutex::new(hooks),
            measures,
            last_errors: Mutex::default(),
            store,
            seed,
            mask,
            packing,
        }
    }

    /// Tells an error to the user's handler, or to the log; never to nobody.
    pub(super) fn report(&self, error: &Error) {
        let measures = &self.measures;
        measures.errors.fetch_add(1, Ordering::Relaxed);
        measures.failed.set(&measures.clock, Instant::now());
        if error.is_going_back() {
            measures.went_back.fetch_add(1, Ordering::Relaxed);
        }
        self.remember(error);
        let handler = self.hooks.lock().error_handler.clone();
        let Some(handler) = handler else {
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
            let place = errors
                .iter()
                .position(|other| other.resource() == error.resource());
            let old = place.map(|place| errors.remove(place));
            errors.push(error.clone());
            old
        };
        // There may be one of the user's in it.
        drop(old);
    }

    /// The last error in one of these namespaces, or the last of all where there are none of them.
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

    /// Where objects are packed, if they are.
    pub(super) fn packing(&self) -> Option<&Arc<Packing<K>>> {
        self.packing.as_ref()
    }

    /// From now on hooks stay as they are.
    pub(super) fn start(&self) {
        if let Some(packing) = &self.packing {
            packing.set_transform(self.hooks.lock().transform.clone());
        }
    }

    /// Makes an object of an item, which takes most of the time that an informer takes.
    fn unplaced(&self, item: RawObject<K>, place: Place) -> Result<Unplaced<K>, Error> {
        let (began, size) = (Instant::now(), item.size());
        let unplaced = self.made_ready(item, place);
        self.measures.decoded(size, began.elapsed());
        unplaced
    }

    fn made_ready(&self, item: RawObject<K>, place: Place) -> Result<Unplaced<K>, Error> {
        let uid = item.uid();
        let (key, version, body) = item.into_body();
        let value = match (body, &self.packing) {
            (Body::Encoded { encoded, .. }, Some(packing)) => {
                packing.pack(&key, &encoded, &self.mask, place).map(Value::Packed)
            }
            (Body::Encoded { encoded, .. }, None) => {
                encoded.decode(&key, &self.mask).and_then(|mut object| {
                    complete(&mut object, self.store.resource());
                    self.transformed(&key, Arc::new(object))
                })
            }
            (Body::Decoded(mut object), _) => {
                let mutable = Arc::get_mut(&mut object).expect("nobody else holds what an item held");
                if self.mask.contains(&["metadata", "managedFields"]) {
                    mutable.meta_mut().managed_fields = None;
                }
                complete(mutable, self.store.resource());
                self.transformed(&key, object)
            }
        };
        // What the user's code gets wrong is no fault of the list or watch that it happens in.
        let value = value.map_err(|error| {
            if error.is_user_code() {
                error.with_context(Operation::Cache, self.store.resource())
            } else {
                error
            }
        })?;
        Ok(Unplaced {
            hash: self.seed.key(&key),
            key,
            version,
            uid,
            value,
        })
    }

    fn transformed(&self, key: &Key, mut object: Arc<K>) -> Result<Value<K>, Error> {
        let transform = self.hooks.lock().transform.clone();
        if let Some(transform) = transform {
            let mutable = Arc::get_mut(&mut object).expect("nobody else holds it yet");
            transform.apply(key, mutable)?;
        }
        Ok(Value::Decoded(object))
    }
}

impl<K: Kind> driver::Intake<K> for Intake<K> {
    fn listed(&self, item: RawObject<K>, trusting: bool) -> Result<Listed<K>, Error> {
        self.measures.received.add(item.size());
        let known = trusting.then(|| self.store.known(item.key(), item.version(), item.uid()));
        match known.flatten() {
            Some(known) => Ok(Listed::Known(known)),
            None => self.unplaced(item, Place::Block).map(Listed::New),
        }
    }

    fn watched(&self, item: RawObject<K>) -> Result<Unplaced<K>, Error> {
        self.measures.received.add(item.size());
        self.unplaced(item, Place::Alone)
    }

    fn report(&self, error: &Error) {
        Intake::report(self, error);
    }

    async fn applied(&self, scope: Scope, version: &ResourceVersion) {
        let mut versions = self.store.versions();
        // It ends only with the store, which this keeps.
        let _reached = versions
            .wait_for(|versions| versions.of(scope) == Some(version))
            .await;
    }

    fn requested(&self, request: Requested) {
        let count = match request {
            Requested::List => &self.measures.lists,
            Requested::Watch => &self.measures.watches,
            Requested::StreamingList => &self.measures.streaming_lists,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn noted(&self, at: Instant, scope: Scope, note: Note) {
        let measures = &self.measures;
        let Some(noted) = measures.scope(scope.0) else {
            return;
        };
        match note {
            Note::Heard => noted.heard.set(&measures.clock, at),
            Note::WatchOpen => noted.watch_opened.set(&measures.clock, at),
            Note::WatchOver => noted.watch_opened.clear(),
            Note::Waiting(until) => noted.waits_until.set(&measures.clock, until),
            Note::Waited => noted.waits_until.clear(),
            Note::Listed(cause) => {
                noted.heard.set(&measures.clock, at);
                if let Some(cause) = cause {
                    measures.relisted(cause);
                }
            }
        }
    }
}

/// What belongs to every cluster's life is not worth a warning, nor is what was said before.
fn log(error: &Error) {
    if error.is_expired() || error.is_no_streaming_list() || error.is_old_news() {
        tracing::debug!("{}", Chain(error));
    } else {
        tracing::warn!("{}", Chain(error));
    }
}
