//! Makes items ready for the store, and takes errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube_wire::Skip;
use parking_lot::Mutex;

use crate::delta_fifo::Listed;
use crate::error::{Chain, Doing, Error};
use crate::form::{Packing, Place, Value};
use crate::key::Key;
use crate::kind::{Kind, ResourceName};
use crate::object::Unplaced;
use crate::panics;
use crate::reflector::driver::{self, Requested};
use crate::store::{Seed, Store};
use crate::transform::Transform;
use crate::wire::{Body, Item};

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
    ) {
        self.transform = Some(Transform::new(transform));
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
    pub(super) counts: Counts,
    /// The last error of each namespace that is looked at, the latest behind the others.
    last_errors: Mutex<Vec<Error>>,
    store: Arc<Store<K>>,
    seed: Seed,
    skip: Skip,
    /// Where objects are packed, if they are.
    packing: Option<Arc<Packing<K>>>,
}

/// What was asked of the server, and what went wrong.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) lists: AtomicU64,
    pub(super) watches: AtomicU64,
    pub(super) streaming_lists: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) went_back: AtomicU64,
    pub(super) checks: AtomicU64,
    pub(super) unchecked: AtomicU64,
    pub(super) inconsistencies: AtomicU64,
}

impl<K: Kind> Intake<K> {
    pub(super) fn new(
        store: Arc<Store<K>>,
        seed: Seed,
        skip: Skip,
        packing: Option<Arc<Packing<K>>>,
        hooks: Hooks<K>,
    ) -> Intake<K> {
        Intake {
            hooks: Mutex::new(hooks),
            counts: Counts::default(),
            last_errors: Mutex::default(),
            store,
            seed,
            skip,
            packing,
        }
    }

    /// Tells an error to the user's handler, or to the log; never to nobody.
    pub(super) fn report(&self, error: &Error) {
        self.counts.errors.fetch_add(1, Ordering::Relaxed);
        if error.is_going_back() {
            self.counts.went_back.fetch_add(1, Ordering::Relaxed);
        }
        self.remember(error);
        let handler = self.hooks.lock().error_handler.clone();
        let Some(handler) = handler else {
            return log(error);
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler(error))) {
            log(error);
            tracing::error!(
                panic = panics::message(&*panic),
                "the watch-error handler panicked"
            );
        }
    }

    fn remember(&self, error: &Error) {
        let mut errors = self.last_errors.lock();
        errors.retain(|other| other.resource() != error.resource());
        errors.push(error.clone());
    }

    /// The last error in one of these namespaces, or the last of all where there are none of them.
    pub(super) fn last_error_in(&self, namespaces: &[&str]) -> Option<Error> {
        let errors = self.last_errors.lock();
        let in_them = |error: &&Error| {
            let namespace = error.resource().and_then(ResourceName::namespace);
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

    fn unplaced(&self, item: Item<K>, place: Place) -> Result<Unplaced<K>, Error> {
        let (key, version, body) = item.into_body();
        let value = match (body, &self.packing) {
            (Body::Encoded { encoded, uid }, Some(packing)) => packing
                .pack(&key, &encoded, uid, &self.skip, place)
                .map(Value::Packed),
            (Body::Encoded { encoded, .. }, None) => encoded
                .decode(&key, &self.skip)
                .and_then(|object| self.transformed(&key, Arc::new(object))),
            (Body::Decoded(mut object), _) => {
                let mutable = Arc::get_mut(&mut object).expect("nobody else holds what an item held");
                if self.skip.skips(&["metadata", "managedFields"]) {
                    mutable.meta_mut().managed_fields = None;
                }
                self.transformed(&key, object)
            }
        };
        // What the user's code gets wrong is no fault of the list or watch that it happens in.
        let value = value.map_err(|error| {
            if error.is_user_code() {
                error.during(Doing::Caching, self.store.resource())
            } else {
                error
            }
        })?;
        Ok(Unplaced {
            hash: self.seed.key(&key),
            key,
            version,
            value,
        })
    }

    fn transformed(&self, key: &Key, mut object: Arc<K>) -> Result<Value<K>, Error> {
        let transform = self.hooks.lock().transform.clone();
        if let Some(transform) = transform {
            let mutable = Arc::get_mut(&mut object).expect("nobody else holds it yet");
            transform.apply(key, mutable)?;
        }
        Ok(Value::Typed(object))
    }
}

impl<K: Kind> driver::Intake<K> for Intake<K> {
    fn listed(&self, item: Item<K>) -> Result<Listed<K>, Error> {
        match self.store.known(item.key(), item.version()) {
            Some(known) => Ok(Listed::Known(known)),
            None => self.unplaced(item, Place::Block).map(Listed::New),
        }
    }

    fn watched(&self, item: Item<K>) -> Result<Unplaced<K>, Error> {
        self.unplaced(item, Place::Alone)
    }

    fn report(&self, error: &Error) {
        Intake::report(self, error);
    }

    fn requested(&self, request: Requested) {
        let count = match request {
            Requested::List => &self.counts.lists,
            Requested::Watch => &self.counts.watches,
            Requested::StreamingList => &self.counts.streaming_lists,
        };
        count.fetch_add(1, Ordering::Relaxed);
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
