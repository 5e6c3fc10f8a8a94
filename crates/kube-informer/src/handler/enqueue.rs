//! From handlers to work queues: what changed becomes a key to work on.

#[cfg(test)]
mod tests;

use std::fmt;

use kube_workqueue::{AddOptions, QueueItem, WorkQueue};

use super::{DeletedObject, EventHandler};
use crate::object::{Key, Kind, Object, is_cluster_scoped};

/// The priority of what was there from the beginning, and of what a resync repeats, unless it is chosen otherwise:
/// controller-runtime's.
const LOW_PRIORITY: i32 = -100;

/// A handler that adds the key of each object that comes, changes or goes.
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

/// A handler that adds the keys of an object's owners of one kind: what belongs to a `Deployment` brings the `Deployment`.
///
/// Owners are found by their owner references. Their group and kind count, not their version. An owner of a namespaced kind
/// is in the namespace of what it owns.
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

/// As [`enqueue_owners`], but only the owner that says it is the controller.
#[doc(alias("IsController", "GetControllerOf"))]
#[must_use]
pub fn enqueue_controllers<O: Kind<DynamicType: Default>, K: Kind>(
    queue: &WorkQueue<Key>,
) -> Enqueue<K, Key> {
    enqueue_mapped(queue, |object: &Object<K>| owners::<K, O>(object, true)).without_user_code()
}

/// A handler that adds what a function makes of each object. Of a change the old state counts as well as the new one, so
/// that whoever lost an object hears of it, too.
///
/// The function may block: it is called on a thread made for that. If it never blocks, add the handler with
/// [`HandlerOptions::never_blocks`](crate::HandlerOptions::never_blocks), which saves the change of threads.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # fn example(maps: kube_informer::SharedInformer<ConfigMap>) -> Result<(), kube_informer::Error> {
/// use kube_informer::prelude::*;
///
/// // A config map brings the website that its label names.
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

/// A handler that adds items to a work queue. Made by [`enqueue_keys`] and its neighbours.
///
/// What was there from the beginning and what a resync repeats is added with a low priority: a program that starts in a
/// large cluster hears of news while it works through what is there.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::prelude::*;
///
/// let queue = WorkQueue::new("pods");
/// // What is there at the start is as urgent as what changes.
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
    /// The priority of what changes; 0 unless it is chosen otherwise.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// The priority of what was there from the beginning and of what a resync repeats; -100 unless it is chosen otherwise.
    #[must_use]
    pub fn initial_priority(mut self, priority: i32) -> Self {
        self.low_priority = priority;
        self
    }

    fn without_user_code(mut self) -> Self {
        self.never_blocks = true;
        self
    }

    fn add_both(&self, old: &Object<K>, new: &Object<K>) {
        let now = (self.map)(new);
        let before = (self.map)(old).into_iter().filter(|item| !now.contains(item));
        self.add(before.collect(), true);
        self.add(now, true);
    }

    fn add(&self, items: Vec<T>, is_news: bool) {
        let priority = if is_news { self.priority } else { self.low_priority };
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
        self.add_both(old, new);
    }

    fn on_delete(&mut self, deleted: &DeletedObject<K>) {
        self.add_both(deleted.last_seen(), deleted);
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

/// `apps` of `apps/v1`, and nothing of `v1`.
fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
