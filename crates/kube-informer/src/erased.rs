//! Informers without the type of their objects.
//!
//! [`SharedInformerFactory::informers`](crate::SharedInformerFactory::informers) returns the informers of a factory, whatever their
//! kinds. A program that shows or supervises informers handles all of them alike:
//!
//! ```no_run
//! # fn example(factory: &kube_informer::SharedInformerFactory) {
//! for informer in factory.informers() {
//!     println!("{}: {:?}", informer.resource(), informer.status().state);
//!     for object in informer.list("shop") {
//!         println!("  {} at {}", object.key(), object.version());
//!     }
//! }
//! # }
//! ```

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_wire::selector::Selector;

use crate::error::Error;
use crate::handler::{Event, EventHandler, HandlerOptions, Registration};
use crate::informer::{InformerState, SharedInformer, Status};
use crate::object::format::Value;
use crate::object::{Entry, Key, Kind, Object, ResourceVersion, WatchedResource};

/// An informer of any kind.
///
/// It is a reference to a [`SharedInformer`], like a clone of it; [`AnyInformer::downcast`] returns the typed informer.
/// Two of them are equal if they refer to the same informer.
#[doc(alias = "GenericInformer")]
#[derive(Clone)]
pub struct AnyInformer {
    informer: Arc<dyn ErasedInformer>,
}

/// An object of any kind in the cache.
///
/// Like [`Object`], it is shared with the cache and cloning it increments a counter.
#[derive(Clone)]
pub struct AnyObject {
    entry: Arc<dyn ErasedEntry>,
}

/// A change of an object of any kind. See [`Event`].
#[derive(Debug, Clone)]
pub enum AnyEvent {
    /// An object was added.
    Added {
        /// The object.
        object: AnyObject,
        /// The object existed when the handler was added, or when the informer first listed.
        is_in_initial_list: bool,
    },
    /// An object changed, or a resync repeats it.
    Updated {
        /// The last state that this handler received.
        old: AnyObject,
        /// The state in the cache; the same object in a resync.
        new: AnyObject,
    },
    /// An object was deleted.
    Deleted {
        /// Its last known state.
        last_state: AnyObject,
    },
}

trait ErasedInformer: Any + Send + Sync {
    fn resource(&self) -> &WatchedResource;
    fn state(&self) -> InformerState;
    fn status(&self) -> Status;
    fn start(&self) -> Result<(), Error>;
    fn has_synced(&self) -> bool;
    fn synced(&self) -> BoxFuture<'_, Result<(), Error>>;
    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), Error>>;
    fn stop(&self);
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    fn get(&self, key: &Key) -> Option<AnyObject>;
    fn list(&self, namespace: &str) -> Vec<AnyObject>;
    fn index_names(&self) -> Vec<String>;
    fn index_values(&self, index: &str) -> Result<Vec<String>, Error>;
    fn by_index(&self, index: &str, value: &str) -> Result<Vec<AnyObject>, Error>;
    fn add_handler_with(&self, handler: Handler, options: HandlerOptions) -> Result<Registration, Error>;
    fn address(&self) -> usize;
}

trait ErasedEntry: Any + Send + Sync {
    fn key(&self) -> &Key;
    fn version(&self) -> &ResourceVersion;
    fn metadata(&self) -> Cow<'_, ObjectMeta>;
    fn is_terminating(self: Arc<Self>) -> bool;
    fn matches(&self, selector: &Selector) -> bool;
}

struct Handler(Box<dyn FnMut(AnyEvent) + Send>);

impl AnyInformer {
    /// Returns the kind and the namespaces that are watched.
    #[must_use]
    pub fn resource(&self) -> &WatchedResource {
        self.informer.resource()
    }

    /// Returns the state of the informer.
    #[must_use]
    pub fn state(&self) -> InformerState {
        self.informer.state()
    }

    /// Returns the informer's status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.informer.status()
    }

    /// Starts the informer. See [`SharedInformer::start`].
    ///
    /// # Errors
    /// Returns an error if it has been started before.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn start(&self) -> Result<(), Error> {
        self.informer.start()
    }

    /// Returns whether the cache contains a full list.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    /// Waits until the cache contains a full list. See [`SharedInformer::synced`].
    ///
    /// # Errors
    /// Returns an error if the informer stops first.
    pub async fn synced(&self) -> Result<(), Error> {
        self.informer.synced().await
    }

    /// Waits until the cache contains a full list, but no longer than the timeout. See
    /// [`SharedInformer::wait_for_sync`].
    ///
    /// # Errors
    /// Returns an error if the timeout expires, or if the informer stops first.
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), Error> {
        self.informer.wait_for_sync(timeout).await
    }

    /// Stops the informer and waits until it has stopped. See [`SharedInformer::shutdown`].
    pub async fn shutdown(&self) {
        self.informer.shutdown().await;
    }

    /// Stops the informer without waiting.
    pub(crate) fn stop(&self) {
        self.informer.stop();
    }

    /// Returns an object in the cache.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<AnyObject> {
        self.informer.get(key)
    }

    /// Returns the objects of a namespace, or of all namespaces if it is empty, in no particular order.
    ///
    /// All of them are from one snapshot of the cache.
    #[must_use]
    pub fn list(&self, namespace: &str) -> Vec<AnyObject> {
        self.informer.list(namespace)
    }

    /// Returns the names of all indexes.
    #[doc(alias = "GetIndexers")]
    #[must_use]
    pub fn index_names(&self) -> Vec<String> {
        self.informer.index_names()
    }

    /// Returns the values of an index, printed and sorted.
    ///
    /// # Errors
    /// Returns an error if no index has that name.
    #[doc(alias = "ListIndexFuncValues")]
    pub fn index_values(&self, index: &str) -> Result<Vec<String>, Error> {
        self.informer.index_values(index)
    }

    /// Returns the objects that an index contains under a printed value.
    ///
    /// # Errors
    /// Returns an error if no index has that name.
    #[doc(alias = "ByIndex")]
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<AnyObject>, Error> {
        self.informer.by_index(index, value)
    }

    /// Adds a handler. See [`SharedInformer::add_handler_with`].
    ///
    /// # Errors
    /// Returns an error if the informer has stopped.
    pub fn add_handler_with(
        &self,
        handler: impl FnMut(AnyEvent) + Send + 'static,
        options: HandlerOptions,
    ) -> Result<Registration, Error> {
        self.informer
            .add_handler_with(Handler(Box::new(handler)), options)
    }

    /// Returns the typed informer, unless its objects are of another type.
    #[must_use]
    pub fn downcast<K: Kind>(&self) -> Option<SharedInformer<K>> {
        let informer: &dyn Any = &*self.informer;
        informer.downcast_ref().cloned()
    }
}

impl<K: Kind> From<&SharedInformer<K>> for AnyInformer {
    fn from(informer: &SharedInformer<K>) -> AnyInformer {
        AnyInformer {
            informer: Arc::new(informer.clone()),
        }
    }
}

impl PartialEq for AnyInformer {
    fn eq(&self, other: &AnyInformer) -> bool {
        self.informer.address() == other.informer.address()
    }
}

impl Eq for AnyInformer {}

impl Hash for AnyInformer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.informer.address().hash(state);
    }
}

impl fmt::Debug for AnyInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyInformer")
            .field("resource", self.resource())
            .finish_non_exhaustive()
    }
}

impl AnyObject {
    /// Returns the namespace and name.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.entry.key()
    }

    /// Returns the resource version of this state of the object.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        self.entry.version()
    }

    /// Returns the metadata. For a packed object, decodes it on each call.
    #[must_use]
    pub fn metadata(&self) -> Cow<'_, ObjectMeta> {
        self.entry.metadata()
    }

    /// Returns whether the object is being deleted and waits for its finalizers.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        Arc::clone(&self.entry).is_terminating()
    }

    /// Returns whether the labels match.
    #[must_use]
    pub fn matches(&self, selector: &Selector) -> bool {
        self.entry.matches(selector)
    }

    /// Returns the typed object, unless it is of another type.
    #[must_use]
    pub fn downcast<K: Kind>(&self) -> Option<Object<K>> {
        let entry: Arc<dyn Any + Send + Sync> = Arc::clone(&self.entry) as _;
        entry.downcast::<Entry<K>>().ok().map(Object::new)
    }
}

impl<K: Kind> From<&Object<K>> for AnyObject {
    fn from(object: &Object<K>) -> AnyObject {
        AnyObject {
            entry: Arc::clone(object.entry()) as _,
        }
    }
}

impl fmt::Debug for AnyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyObject({} at {})", self.key(), self.version())
    }
}

impl AnyEvent {
    /// Returns whether nothing changed: a resync repeats the object.
    #[must_use]
    pub fn is_resync(&self) -> bool {
        matches!(self, AnyEvent::Updated { old, new } if Arc::ptr_eq(&old.entry, &new.entry))
    }
}

impl<K: Kind> From<&Event<K>> for AnyEvent {
    fn from(event: &Event<K>) -> AnyEvent {
        match event {
            Event::Added {
                object,
                is_in_initial_list,
            } => AnyEvent::Added {
                object: object.into(),
                is_in_initial_list: *is_in_initial_list,
            },
            Event::Updated { old, new } => AnyEvent::Updated {
                old: old.into(),
                new: new.into(),
            },
            Event::Deleted(deleted) => AnyEvent::Deleted {
                last_state: deleted.last_state().into(),
            },
        }
    }
}

impl<K: Kind> EventHandler<K> for Handler {
    fn handle(&mut self, event: Event<K>) {
        (self.0)((&event).into());
    }
}

fn erase<K: Kind>(objects: impl IntoIterator<Item = Object<K>>) -> Vec<AnyObject> {
    objects.into_iter().map(|object| (&object).into()).collect()
}

impl<K: Kind> ErasedInformer for SharedInformer<K> {
    fn resource(&self) -> &WatchedResource {
        SharedInformer::resource(self)
    }

    fn state(&self) -> InformerState {
        SharedInformer::state(self)
    }

    fn status(&self) -> Status {
        SharedInformer::status(self)
    }

    fn start(&self) -> Result<(), Error> {
        SharedInformer::start(self)
    }

    fn has_synced(&self) -> bool {
        SharedInformer::has_synced(self)
    }

    fn synced(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(SharedInformer::synced(self))
    }

    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(SharedInformer::wait_for_sync(self, timeout))
    }

    fn stop(&self) {
        SharedInformer::stop(self);
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(SharedInformer::shutdown(self))
    }

    fn get(&self, key: &Key) -> Option<AnyObject> {
        self.snapshot().get(key).map(|object| (&object).into())
    }

    fn list(&self, namespace: &str) -> Vec<AnyObject> {
        erase(self.snapshot().namespace(namespace))
    }

    fn index_names(&self) -> Vec<String> {
        self.snapshot().index_names().map(str::to_owned).collect()
    }

    fn index_values(&self, index: &str) -> Result<Vec<String>, Error> {
        self.snapshot().index_values(index)
    }

    fn by_index(&self, index: &str, value: &str) -> Result<Vec<AnyObject>, Error> {
        self.snapshot().by_name(index, value).map(erase)
    }

    fn add_handler_with(&self, handler: Handler, options: HandlerOptions) -> Result<Registration, Error> {
        SharedInformer::add_handler_with(self, handler, options)
    }

    fn address(&self) -> usize {
        SharedInformer::address(self)
    }
}

impl<K: Kind> ErasedEntry for Entry<K> {
    fn key(&self) -> &Key {
        Entry::key(self)
    }

    fn version(&self) -> &ResourceVersion {
        Entry::version(self)
    }

    fn metadata(&self) -> Cow<'_, ObjectMeta> {
        match self.value() {
            Value::Decoded(object) => Cow::Borrowed(object.meta()),
            Value::Packed(_) => Cow::Owned(self.object().meta().clone()),
        }
    }

    fn is_terminating(self: Arc<Self>) -> bool {
        Object::new(self).is_terminating()
    }

    fn matches(&self, selector: &Selector) -> bool {
        Entry::matches(self, selector)
    }
}
