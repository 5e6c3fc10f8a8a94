//! Events that are delivered to handlers.

use std::ops::Deref;
use std::sync::Arc;

use crate::object::{Entry, Key, Object};

/// A change, as delivered to one handler.
///
/// For each object, a handler receives `Added`, any number of `Updated`, then `Deleted`, and so on (contract
/// 3). When the handler runs, the cache already contains this change or a newer one (contract 4).
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), kube_informer::Error> {
/// use kube_informer::Event;
///
/// pods.add_handler(|event: Event<Pod>| match event {
///     Event::Added { object, .. } => println!("+ {}", object.key()),
///     Event::Updated { old, new } => println!("~ {} from {} to {}", new.key(), old.version(), new.version()),
///     Event::Deleted(deleted) => println!("- {}", deleted.key()),
/// })?;
/// # Ok(())
/// # }
/// ```
#[doc(alias("Delta", "watch.Event"))]
#[derive(Debug)]
pub enum Event<K> {
    /// An object was added, or exists already.
    Added {
        /// The object.
        object: Object<K>,
        /// Whether the object existed when the handler was added, or was part of the informer's first list.
        is_in_initial_list: bool,
    },
    /// An object was updated, or a resync repeats its current state.
    Updated {
        /// The previous state that this handler received.
        old: Object<K>,
        /// The new state; the same object as `old` in a resync.
        new: Object<K>,
    },
    /// An object was deleted.
    Deleted(DeletedObject<K>),
}

impl<K> Event<K> {
    /// Returns the namespace and name of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.object().key()
    }

    /// Returns the newest state that this event contains.
    #[must_use]
    pub fn object(&self) -> &Object<K> {
        match self {
            Event::Added { object, .. } => object,
            Event::Updated { new, .. } => new,
            Event::Deleted(deleted) => deleted,
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.object().entry().hash()
    }

    /// Returns the type of the event in lower case, for logs.
    pub(crate) fn event_type(&self) -> &'static str {
        match self {
            Event::Added { .. } => "added",
            Event::Updated { .. } => "updated",
            Event::Deleted(_) => "deleted",
        }
    }

    /// Returns whether this event is part of a resync, which means that nothing changed.
    #[must_use]
    pub fn is_resync(&self) -> bool {
        matches!(self, Event::Updated { old, new } if Arc::ptr_eq(old.entry(), new.entry()))
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Event::Added {
                object,
                is_in_initial_list,
            } => Event::Added {
                object: object.clone(),
                is_in_initial_list: *is_in_initial_list,
            },
            Event::Updated { old, new } => Event::Updated {
                old: old.clone(),
                new: new.clone(),
            },
            Event::Deleted(deleted) => Event::Deleted(deleted.clone()),
        }
    }
}

/// A deleted object.
///
/// Dereferences to the last known state of the object. client-go: `DeletedFinalStateUnknown`, or the object
/// itself.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example() -> impl kube_informer::EventHandler<Pod> {
/// use kube_informer::callbacks;
///
/// callbacks::<Pod>().on_delete(|pod| {
///     // The state that this handler acted on may be older than the last state.
///     println!("{} was seen on {:?}", pod.key(), pod.last_seen().spec.as_ref().map(|spec| &spec.node_name));
///     if pod.is_final_state_unknown() {
///         println!("the deletion was not observed");
///     }
/// })
/// # }
/// ```
#[doc(alias("DeletedFinalStateUnknown", "tombstone"))]
#[derive(Debug)]
pub struct DeletedObject<K> {
    last: Object<K>,
    seen: Object<K>,
    unknown: bool,
}

impl<K> DeletedObject<K> {
    pub(crate) fn new(seen: Arc<Entry<K>>, last: Arc<Entry<K>>, unknown: bool) -> DeletedObject<K> {
        DeletedObject {
            last: Object::new(last),
            seen: Object::new(seen),
            unknown,
        }
    }

    /// Returns the last known state: the state sent with the deletion, or else the cached state.
    #[must_use]
    pub fn last_state(&self) -> &Object<K> {
        &self.last
    }

    /// Returns the last state that this handler received.
    #[must_use]
    pub fn last_seen(&self) -> &Object<K> {
        &self.seen
    }

    /// Returns whether the deletion was detected by a list instead of a watch event.
    ///
    /// The object may have changed after its last known state.
    #[must_use]
    pub fn is_final_state_unknown(&self) -> bool {
        self.unknown
    }
}

impl<K> Clone for DeletedObject<K> {
    fn clone(&self) -> Self {
        DeletedObject {
            last: self.last.clone(),
            seen: self.seen.clone(),
            unknown: self.unknown,
        }
    }
}

impl<K> Deref for DeletedObject<K> {
    type Target = Object<K>;

    fn deref(&self) -> &Object<K> {
        &self.last
    }
}
