//! Event handlers: a trait, closures and filters.

pub(crate) mod current_handler;
pub(crate) mod enqueue;
mod event;
mod registration;

use std::fmt;
use std::time::Duration;

use crate::object::Object;

pub use self::enqueue::Enqueue;
pub use self::event::{DeletedObject, Event};
pub(crate) use self::registration::AnyListener;
pub use self::registration::Registration;

/// Handles the events of an informer.
///
/// Events are delivered one at a time. Implement the methods that you need, or [`EventHandler::handle`] for
/// all of them. A closure that takes an [`Event`] is a handler, too; [`callbacks`] combines several closures.
///
/// A handler may block and may panic without affecting other handlers (contract 6). A panic is counted and
/// logged, and delivery continues with the next event.
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
    /// Called when an object was added, and initially once for each existing object.
    fn on_add(&mut self, object: &Object<K>, is_in_initial_list: bool) {
        let _ = (object, is_in_initial_list);
    }

    /// Called when an object was updated, or when a resync repeats its current state.
    fn on_update(&mut self, old: &Object<K>, new: &Object<K>) {
        let _ = (old, new);
    }

    /// Called when an object was deleted.
    fn on_delete(&mut self, deleted: &DeletedObject<K>) {
        let _ = deleted;
    }

    /// Returns whether the handler never blocks and so needs no thread of its own; see
    /// [`HandlerOptions::never_blocks`].
    fn never_blocks(&self) -> bool {
        false
    }

    /// Returns whether the handler needs every event, as with [`HandlerOptions::every_event`].
    ///
    /// Handlers that only add keys to a work queue return true. Otherwise an object that is added and deleted
    /// while the handler is busy would cause no event, and a controller would not restore an object that it
    /// has just created.
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

/// Returns a handler made of closures. Closures that are not set do nothing.
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

/// A handler made of closures, created by [`callbacks`].
///
/// client-go: `ResourceEventHandlerDetailedFuncs`.
#[doc(alias("ResourceEventHandlerFuncs", "ResourceEventHandlerDetailedFuncs"))]
pub struct Callbacks<K> {
    add: Option<OnAdd<K>>,
    update: Option<OnUpdate<K>>,
    delete: Option<OnDelete<K>>,
}

impl<K> Callbacks<K> {
    /// Sets the closure for added objects. Its second argument is whether the object is part of the initial
    /// list.
    #[must_use]
    pub fn on_add(mut self, add: impl FnMut(&Object<K>, bool) + Send + 'static) -> Self {
        self.add = Some(Box::new(add));
        self
    }

    /// Sets the closure for updated objects. Its arguments are the old and the new state.
    #[must_use]
    pub fn on_update(mut self, update: impl FnMut(&Object<K>, &Object<K>) + Send + 'static) -> Self {
        self.update = Some(Box::new(update));
        self
    }

    /// Sets the closure for deleted objects.
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

/// Returns a handler that only receives the objects that match a filter.
///
/// An object that starts to match is added; one that no longer matches is deleted. The filter must always
/// return the same result for the same state.
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

/// A handler with a filter, created by [`filtered`].
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
            // The handler must get the deletion of each object that it received, whatever its state at the
            // deletion.
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

/// Options of a handler.
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
    /// Returns the default options: the informer's resync period, coalesced events, and a handler that may
    /// block.
    #[must_use]
    pub fn new() -> HandlerOptions {
        HandlerOptions::default()
    }

    /// Sets the name for logs and metrics. The default is the name of the handler's type.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how often all objects are repeated to this handler as updates; zero means never.
    ///
    /// The default is the informer's period. Periods below one second are raised to one second.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// Delivers every single event.
    ///
    /// By default, pending changes of one object are delivered as one event, so that the backlog cannot
    /// exceed the number of objects. With this option, the backlog of a slow handler grows without bound.
    #[must_use]
    pub fn every_event(mut self) -> Self {
        self.every_event = true;
        self
    }

    /// Declares that the handler never blocks, so that it is called directly in its task.
    ///
    /// By default, handlers are called on threads for blocking code, which costs some microseconds per burst
    /// of events. A runtime has 512 of these threads unless `max_blocking_threads` is set, and a handler that
    /// never returns occupies one of them.
    #[must_use]
    pub fn never_blocks(mut self) -> Self {
        self.never_blocks = true;
        self
    }
}
