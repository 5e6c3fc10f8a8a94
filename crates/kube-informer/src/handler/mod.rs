//! Handlers: a trait, closures, and one that filters.

pub(crate) mod enqueue;
mod event;
pub(crate) mod inside;
mod registration;

use std::fmt;
use std::time::Duration;

use crate::object::Object;

pub use self::enqueue::Enqueue;
pub use self::event::{DeletedObject, Event};
pub(crate) use self::registration::AnyListener;
pub use self::registration::Registration;

/// Something that is told of every change.
///
/// Events come one after the other, never two at a time. Implement the methods you need, or [`EventHandler::handle`] for
/// all of them at once; a closure that takes an [`Event`] is a handler, too, and [`callbacks`] makes one of several
/// closures. It stands for client-go's `ResourceEventHandler`.
///
/// A handler may block and may panic: it harms nobody but itself (contract 6). A panic is counted and logged, and the
/// next event comes.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{EventHandler, Object, handler::DeletedObject};
///
/// struct Counter(usize);
///
/// impl EventHandler<Pod> for Counter {
///     fn on_add(&mut self, _: &Object<Pod>, _is_in_initial_list: bool) {
///         self.0 += 1;
///     }
///
///     fn on_delete(&mut self, _: &DeletedObject<Pod>) {
///         self.0 -= 1;
///     }
/// }
/// ```
#[doc(alias = "ResourceEventHandler")]
pub trait EventHandler<K>: Send + 'static {
    /// An object is there; at the beginning, once for every object that exists.
    fn on_add(&mut self, object: &Object<K>, is_in_initial_list: bool) {
        let _ = (object, is_in_initial_list);
    }

    /// An object has changed, or a resync repeats what is known.
    fn on_update(&mut self, old: &Object<K>, new: &Object<K>) {
        let _ = (old, new);
    }

    /// An object is gone.
    fn on_delete(&mut self, deleted: &DeletedObject<K>) {
        let _ = deleted;
    }

    /// Whether it promises never to block: then it needs no thread of its own; see [`HandlerOptions::never_blocks`].
    fn never_blocks(&self) -> bool {
        false
    }

    /// Whether the handler gets every event, as with [`HandlerOptions::every_event`].
    ///
    /// Handlers that only put keys into a work queue return true: an object that was added and deleted while the handler was
    /// busy would otherwise cause no event, and a controller would not restore an object that it has just created.
    fn needs_every_event(&self) -> bool {
        false
    }

    /// Handles any event. The default implementation calls the matching method.
    fn handle(&mut self, event: Event<K>) {
        match &event {
            Event::Added {
                object,
                is_in_initial_list,
            } => self.on_add(object, *is_in_initial_list),
            Event::Updated { old, new } => self.on_update(old, new),
            Event::Deleted(deleted) => self.on_delete(deleted),
        }
    }
}

impl<K, F: FnMut(Event<K>) + Send + 'static> EventHandler<K> for F {
    fn handle(&mut self, event: Event<K>) {
        self(event);
    }
}

/// A handler made of closures; those that are not set do nothing.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example() -> impl kube_informer::EventHandler<Pod> {
/// use kube_informer::callbacks;
///
/// callbacks::<Pod>()
///     .on_add(|pod, is_in_initial_list| println!("+ {} {is_in_initial_list}", pod.key()))
///     .on_update(|old, new| println!("~ {} {} → {}", new.key(), old.version(), new.version()))
///     .on_delete(|pod| println!("- {}", pod.key()))
/// # }
/// ```
#[doc(alias("ResourceEventHandlerFuncs", "ResourceEventHandlerDetailedFuncs"))]
#[must_use]
pub fn callbacks<K>() -> Callbacks<K> {
    Callbacks {
        add: None,
        update: None,
        delete: None,
    }
}

type OnAdd<K> = Box<dyn FnMut(&Object<K>, bool) + Send>;
type OnUpdate<K> = Box<dyn FnMut(&Object<K>, &Object<K>) + Send>;
type OnDelete<K> = Box<dyn FnMut(&DeletedObject<K>) + Send>;

/// Made by [`callbacks`]. It stands for client-go's `ResourceEventHandlerDetailedFuncs`.
#[doc(alias("ResourceEventHandlerFuncs", "ResourceEventHandlerDetailedFuncs"))]
pub struct Callbacks<K> {
    add: Option<OnAdd<K>>,
    update: Option<OnUpdate<K>>,
    delete: Option<OnDelete<K>>,
}

impl<K> Callbacks<K> {
    /// What to do when an object is there; the second argument says whether it was there from the beginning.
    #[must_use]
    pub fn on_add(mut self, add: impl FnMut(&Object<K>, bool) + Send + 'static) -> Self {
        self.add = Some(Box::new(add));
        self
    }

    /// What to do when an object has changed, with what was seen before and what is there now.
    #[must_use]
    pub fn on_update(mut self, update: impl FnMut(&Object<K>, &Object<K>) + Send + 'static) -> Self {
        self.update = Some(Box::new(update));
        self
    }

    /// What to do when an object is gone.
    #[must_use]
    pub fn on_delete(mut self, delete: impl FnMut(&DeletedObject<K>) + Send + 'static) -> Self {
        self.delete = Some(Box::new(delete));
        self
    }
}

impl<K: 'static> EventHandler<K> for Callbacks<K> {
    fn on_add(&mut self, object: &Object<K>, is_in_initial_list: bool) {
        if let Some(add) = &mut self.add {
            add(object, is_in_initial_list);
        }
    }

    fn on_update(&mut self, old: &Object<K>, new: &Object<K>) {
        if let Some(update) = &mut self.update {
            update(old, new);
        }
    }

    fn on_delete(&mut self, deleted: &DeletedObject<K>) {
        if let Some(delete) = &mut self.delete {
            delete(deleted);
        }
    }
}

impl<K> fmt::Debug for Callbacks<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks")
            .field("on_add", &self.add.is_some())
            .field("on_update", &self.update.is_some())
            .field("on_delete", &self.delete.is_some())
            .finish()
    }
}

/// Lets a handler see only the objects that fit.
///
/// An object that begins to fit is added, one that ceases to fit is deleted. The filter must say the same of the same
/// state each time it is asked. It stands for client-go's `FilteringResourceEventHandler`.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example() -> impl kube_informer::EventHandler<Pod> {
/// use kube_informer::{callbacks, filtered};
///
/// let is_placed = |pod: &Pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
/// filtered(is_placed, callbacks::<Pod>().on_add(|pod, _| println!("{} has a node", pod.key())))
/// # }
/// ```
#[doc(alias = "FilteringResourceEventHandler")]
pub fn filtered<K, F, H>(filter: F, handler: H) -> FilteredHandler<F, H>
where
    F: FnMut(&K) -> bool + Send + 'static,
    H: EventHandler<K>,
{
    FilteredHandler { filter, handler }
}

/// Made by [`filtered`].
#[doc(alias = "FilteringResourceEventHandler")]
#[derive(Debug)]
pub struct FilteredHandler<F, H> {
    filter: F,
    handler: H,
}

impl<K, F, H> EventHandler<K> for FilteredHandler<F, H>
where
    K: 'static,
    F: FnMut(&K) -> bool + Send + 'static,
    H: EventHandler<K>,
{
    fn handle(&mut self, event: Event<K>) {
        match event {
            Event::Added { ref object, .. } => {
                if (self.filter)(object) {
                    self.handler.handle(event);
                }
            }
            Event::Updated { ref old, ref new } => match ((self.filter)(old), (self.filter)(new)) {
                (true, true) => self.handler.handle(event),
                (false, true) => self.handler.handle(Event::Added {
                    object: new.clone(),
                    is_in_initial_list: false,
                }),
                (true, false) => {
                    let seen = old.entry();
                    self.handler.handle(Event::Deleted(DeletedObject::new(
                        seen.clone(),
                        seen.clone(),
                        false,
                    )));
                }
                (false, false) => {}
            },
            // Decided by the state that the handler was given, not by the one at the deletion.
            Event::Deleted(ref deleted) => {
                if (self.filter)(deleted.last_seen()) {
                    self.handler.handle(event);
                }
            }
        }
    }

    fn needs_every_event(&self) -> bool {
        self.handler.needs_every_event()
    }
}

/// How a handler is to be served.
///
/// ```
/// use kube_informer::HandlerOptions;
/// use std::time::Duration;
///
/// let options = HandlerOptions::new().name("cleaner").resync(Duration::from_secs(300));
/// ```
#[doc(alias = "cache.HandlerOptions")]
#[derive(Debug, Clone, Default)]
pub struct HandlerOptions {
    pub(crate) name: Option<String>,
    pub(crate) resync: Option<Duration>,
    pub(crate) every_event: bool,
    pub(crate) never_blocks: bool,
}

impl HandlerOptions {
    /// The informer's resync period, coalescing, and safe from blocking.
    #[must_use]
    pub fn new() -> HandlerOptions {
        HandlerOptions::default()
    }

    /// The name in logs and metrics; without one, the name of the handler's type.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How often everything is repeated to this handler as updates; zero for never. Without this it is the informer's
    /// period. Anything shorter than a second is a second.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// Every single event, however slow the handler is. Without this, pending changes of one object are told as one, so
    /// that the backlog cannot outgrow the number of objects; with it, the backlog of a slow handler grows without bound.
    #[must_use]
    pub fn every_event(mut self) -> Self {
        self.every_event = true;
        self
    }

    /// The handler promises never to block its thread, so it is called right in its task. Without this it is called on
    /// threads that are made for blocking, which costs some microseconds per burst of events. A runtime has 512 of them
    /// unless `max_blocking_threads` says otherwise, and a handler that is stuck keeps one.
    #[must_use]
    pub fn never_blocks(mut self) -> Self {
        self.never_blocks = true;
        self
    }
}
