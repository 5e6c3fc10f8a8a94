//! Handlers that add the keys of changed objects to a work queue.

#[cfg(test)]
mod tests;

use std::fmt;

use kube_workqueue::{AddOptions, QueueItem, WorkQueue};

use super::{DeletedObject, EventHandler};
use crate::object::{Key, Kind, Object, is_cluster_scoped};

/// Default priority of initial objects and of resyncs, as in controller-runtime.
const LOW_PRIORITY: i32 = -100;

/// Returns a handler that adds the key of each added, updated or deleted object.
///
/// ```no_run
/// # async fn example(factory: kube_informer::SharedInformerFactory) -> Result<(), kube_informer::Error> {
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_informer::prelude::*;
///
/// let queue = WorkQueue::new("deployments");
/// factory.informer::<Deployment>().add_handler(enqueue_keys(&queue))?;
/// factory.start();
/// let stop = CancellationToken::new();
/// workers(queue, 4, |key: Task<Key>| async move { println!("reconciling {}", *key) }).run(stop).await;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "EnqueueRequestForObject")]
#[must_use]
pub fn enqueue_keys<K: Kind>(queue: &WorkQueue<Key>) -> Enqueue<K, Key> {
    enqueue_mapped(queue, |object: &Object<K>| [object.key().clone()]).without_user_code()
}

/// Returns a handler that adds the keys of an object's owners of one kind.
///
/// For example, a change of a `ReplicaSet` adds the key of its `Deployment`.
///
/// Owners are found by owner references, which are compared by group and kind, not by version. An owner of a
/// namespaced kind is in the namespace of the object that it owns.
///
/// ```no_run
/// # use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
/// # fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), kube_informer::Error> {
/// use kube_informer::prelude::*;
///
/// let queue = WorkQueue::new("replica sets");
/// pods.add_handler(enqueue_owners::<ReplicaSet, _>(&queue))?;
/// # Ok(())
/// # }
/// ```
#[doc(alias("EnqueueRequestForOwner", "owns"))]
#[must_use]
pub fn enqueue_owners<O: Kind<DynamicType: Default>, K: Kind>(queue: &WorkQueue<Key>) -> Enqueue<K, Key> {
    enqueue_mapped(queue, |object: &Object<K>| owners::<K, O>(object, false)).without_user_code()
}

/// Like [`enqueue_owners`], but only adds the owner that is marked as the controller.
#[doc(alias("IsController", "GetControllerOf"))]
#[must_use]
pub fn enqueue_controllers<O: Kind<DynamicType: Default>, K: Kind>(
    queue: &WorkQueue<Key>,
) -> Enqueue<K, Key> {
    enqueue_mapped(queue, |object: &Object<K>| owners::<K, O>(object, true)).without_user_code()
}

/// Returns a handler that adds the items that a function returns for each object.
///
/// For an update, the function is called for the old and the new state, so that an object that is no longer
/// referenced is reconciled, too.
///
/// The function may block: it is called on a thread for blocking code. If it never blocks, add the handler
/// with [`HandlerOptions::never_blocks`](crate::HandlerOptions::never_blocks), which avoids the switch of
/// threads.
///
/// The handler receives every change without coalescing, because a state in between may return a key that no
/// other state returns. While the function is slower than the changes arrive, the backlog grows without a limit:
/// see [`Registration::backlog`](crate::Registration::backlog). A slow lookup belongs into the reconcile function.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # fn example(maps: kube_informer::SharedInformer<ConfigMap>) -> Result<(), kube_informer::Error> {
/// use kube_informer::prelude::*;
///
/// // The label of a config map names the website to reconcile.
/// let queue = WorkQueue::new("websites");
/// maps.add_handler(enqueue_mapped(&queue, |map: &Object<ConfigMap>| {
///     let website = map.label("website")?;
///     Some(Key::new(map.key().namespace(), &website))
/// }))?;
/// # Ok(())
/// # }
/// ```
#[doc(alias("EnqueueRequestsFromMapFunc", "watches"))]
#[must_use]
pub fn enqueue_mapped<K, T, I>(
    queue: &WorkQueue<T>,
    map: impl Fn(&Object<K>) -> I + Send + 'static,
) -> Enqueue<K, T>
where
    K: Kind,
    T: QueueItem,
    I: IntoIterator<Item = T>,
{
    Enqueue {
        queue: queue.clone(),
        map: Box::new(move |object| map(object).into_iter().collect()),
        priority: 0,
        low_priority: LOW_PRIORITY,
        never_blocks: false,
    }
}

/// A handler that adds items to a work queue, created by [`enqueue_keys`] and similar functions.
///
/// Initial objects and resyncs are added with a low priority, so that a program that starts in a large
/// cluster processes new changes first.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::prelude::*;
///
/// let queue = WorkQueue::new("pods");
/// // Initial objects are as urgent as changes.
/// let handler = enqueue_keys::<Pod>(&queue).initial_priority(0);
/// ```
pub struct Enqueue<K, T> {
    queue: WorkQueue<T>,
    map: MapFunction<K, T>,
    priority: i32,
    low_priority: i32,
    never_blocks: bool,
}

type MapFunction<K, T> = Box<dyn Fn(&Object<K>) -> Vec<T> + Send>;

impl<K: Kind, T: QueueItem> Enqueue<K, T> {
    /// Sets the priority of changes. The default is 0.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the priority of initial objects and of resyncs. The default is -100.
    #[must_use]
    pub fn initial_priority(mut self, priority: i32) -> Self {
        self.low_priority = priority;
        self
    }

    fn without_user_code(mut self) -> Self {
        self.never_blocks = true;
        self
    }

    fn add_old_and_new(&self, old: &Object<K>, new: &Object<K>) {
        let new_items = (self.map)(new);
        let old_items = (self.map)(old)
            .into_iter()
            .filter(|item| !new_items.contains(item));
        self.add(old_items.collect(), true);
        self.add(new_items, true);
    }

    fn add(&self, items: Vec<T>, is_change: bool) {
        let priority = if is_change {
            self.priority
        } else {
            self.low_priority
        };
        for item in items {
            self.queue.add_with(item, AddOptions::new().priority(priority));
        }
    }
}

impl<K: Kind, T: QueueItem> EventHandler<K> for Enqueue<K, T> {
    fn on_add(&mut self, object: &Object<K>, is_in_initial_list: bool) {
        self.add((self.map)(object), !is_in_initial_list);
    }

    fn on_update(&mut self, old: &Object<K>, new: &Object<K>) {
        if old.version() == new.version() {
            return self.add((self.map)(new), false);
        }
        self.add_old_and_new(old, new);
    }

    fn on_delete(&mut self, deleted: &DeletedObject<K>) {
        self.add_old_and_new(deleted.last_seen(), deleted);
    }

    fn never_blocks(&self) -> bool {
        self.never_blocks
    }

    fn needs_every_event(&self) -> bool {
        true
    }
}

impl<K, T: QueueItem> fmt::Debug for Enqueue<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Enqueue({})", self.queue.name())
    }
}

fn owners<K: Kind, O: Kind<DynamicType: Default>>(object: &Object<K>, only_controller: bool) -> Vec<Key> {
    let kind = O::DynamicType::default();
    let (group, name) = (O::group(&kind), O::kind(&kind));
    let namespace = object.key().namespace().filter(|_| !is_cluster_scoped::<O>());
    object
        .owner_references()
        .iter()
        .filter(|owner| owner.kind == name && group_of(&owner.api_version) == group)
        .filter(|owner| !only_controller || owner.controller == Some(true))
        .map(|owner| Key::new(namespace, &owner.name))
        .collect()
}

/// Returns the group of an API version: `apps` for `apps/v1`, and an empty string for `v1`.
fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
