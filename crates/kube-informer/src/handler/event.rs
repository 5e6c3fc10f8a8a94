//! What handlers are told.

use std::ops::Deref;
use std::sync::Arc;

use crate::object::{Entry, Key, Object};

/// A change, as one handler sees it.
///
/// Of each object a handler sees `Added`, any number of `Updated`, `Deleted`, and so on from the beginning (contract 3).
/// When it runs, the cache holds this change already, or a newer one (contract 4).
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
    /// An object is there.
    Added {
        /// The object.
        object: Object<K>,
        /// It was there when the handler joined, or when the informer first listed.
        is_in_initial_list: bool,
    },
    /// An object has changed, or a resync repeats what is known.
    Updated {
        /// What this handler saw before.
        old: Object<K>,
        /// What is there now; the same object in a resync.
        new: Object<K>,
    },
    /// An object is gone.
    Deleted(DeletedObject<K>),
}

impl<K> Event<K> {
    /// Namespace and name of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.object().key()
    }

    /// The newest state that this event tells of.
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

    /// What happened, in a word.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Event::Added { .. } => "added",
            Event::Updated { .. } => "updated",
            Event::Deleted(_) => "deleted",
        }
    }

    /// Whether nothing changed: a resync repeats what is known.
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

/// An object that is gone.
///
/// It dereferences to the last state that is known of it. It stands for the object, or the `DeletedFinalStateUnknown`,
/// that client-go's handlers are given; here there is always an object.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example() -> impl kube_informer::EventHandler<Pod> {
/// use kube_informer::callbacks;
///
/// callbacks::<Pod>().on_delete(|pod| {
///     // What this handler acted on, which may be older than the last state.
///     println!("{} was seen on {:?}", pod.key(), pod.last_seen().spec.as_ref().map(|spec| &spec.node_name));
///     if pod.is_final_state_unknown() {
///         println!("nobody saw it go");
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

    /// The last state that is known: what the server sent with the deletion, or else what the cache held.
    #[must_use]
    pub fn last_state(&self) -> &Object<K> {
        &self.last
    }

    /// What this handler saw of the object last.
    #[must_use]
    pub fn last_seen(&self) -> &Object<K> {
        &self.seen
    }

    /// The object vanished while nobody watched: it may have changed after the state that is known.
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
