//! What a test can observe: states of objects, events, and the cache at the time of an event.

use std::fmt;

use kube_informer::{Event, Key, Kind, Object, ResourceVersion, Snapshot};

/// One state of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectState {
    /// The resource version.
    pub version: ResourceVersion,
    /// The uid, if the object has one.
    pub uid: Option<String>,
    /// Anything else that distinguishes states of the same version, for example the number of the write. Zero if unknown.
    pub content: u64,
}

impl ObjectState {
    /// Returns version and uid of an object.
    #[must_use]
    pub fn of<K: Kind>(object: &Object<K>) -> ObjectState {
        ObjectState {
            version: object.version().clone(),
            uid: object.uid().map(Into::into),
            content: 0,
        }
    }

    /// Returns whether both are states of one object, not of two objects with the same name.
    #[must_use]
    pub fn is_same_object(&self, other: &ObjectState) -> bool {
        match (&self.uid, &other.uid) {
            (Some(uid), Some(other)) => uid == other,
            _ => true,
        }
    }
}

impl fmt::Display for ObjectState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.version)?;
        if let Some(uid) = &self.uid {
            write!(f, "/{}", uid.get(..4).unwrap_or(uid))?;
        }
        if self.content != 0 {
            write!(f, "#{}", self.content)?;
        }
        Ok(())
    }
}

/// An event as a handler received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedEvent {
    /// `Event::Added`.
    Added {
        /// The object's key.
        key: Key,
        /// Its state.
        state: ObjectState,
        /// The event's `is_in_initial_list`.
        is_initial: bool,
    },
    /// `Event::Updated`.
    Updated {
        /// The object's key.
        key: Key,
        /// The event's `old`.
        old: ObjectState,
        /// The event's `new`.
        new: ObjectState,
        /// The answer of `Event::is_resync`.
        is_resync: bool,
    },
    /// `Event::Deleted`.
    Deleted {
        /// The object's key.
        key: Key,
        /// The last state that the handler received.
        last_seen: ObjectState,
        /// The last known state.
        last_state: ObjectState,
        /// The answer of `Deleted::is_final_state_unknown`.
        is_final_state_unknown: bool,
    },
}

impl ObservedEvent {
    /// Reads an event. `state_of` reads the state of an object, see [`ObjectState::of`].
    #[must_use]
    pub fn of<K: Kind>(event: &Event<K>, state_of: impl Fn(&Object<K>) -> ObjectState) -> ObservedEvent {
        let key = event.key().clone();
        match event {
            Event::Added {
                object,
                is_in_initial_list,
            } => ObservedEvent::Added {
                key,
                state: state_of(object),
                is_initial: *is_in_initial_list,
            },
            Event::Updated { old, new } => ObservedEvent::Updated {
                key,
                old: state_of(old),
                new: state_of(new),
                is_resync: event.is_resync(),
            },
            Event::Deleted(deleted) => ObservedEvent::Deleted {
                key,
                last_seen: state_of(deleted.last_seen()),
                last_state: state_of(deleted.last_state()),
                is_final_state_unknown: deleted.is_final_state_unknown(),
            },
        }
    }

    /// The object's key.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            ObservedEvent::Added { key, .. }
            | ObservedEvent::Updated { key, .. }
            | ObservedEvent::Deleted { key, .. } => key,
        }
    }

    /// The newest state in the event.
    #[must_use]
    pub fn state(&self) -> &ObjectState {
        match self {
            ObservedEvent::Added { state, .. } => state,
            ObservedEvent::Updated { new, .. } => new,
            ObservedEvent::Deleted { last_state, .. } => last_state,
        }
    }
}

impl fmt::Display for ObservedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObservedEvent::Added {
                key,
                state,
                is_initial,
            } => {
                let initial = if *is_initial { " (initial)" } else { "" };
                write!(f, "added {key} {state}{initial}")
            }
            ObservedEvent::Updated {
                key,
                old,
                new,
                is_resync,
            } => {
                let resync = if *is_resync { " (resync)" } else { "" };
                write!(f, "updated {key} {old} to {new}{resync}")
            }
            ObservedEvent::Deleted { key, last_seen, .. } => write!(f, "deleted {key} {last_seen}"),
        }
    }
}

/// The cached state of an event's object while the handler runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedObject {
    /// The version of the cache.
    pub version: Option<ResourceVersion>,
    /// The object, if the cache held it.
    pub state: Option<ObjectState>,
    /// The number of relists, if known. Without a relist, events arrive in the server's order.
    pub relists: Option<u64>,
    /// The number of reported restores of the server, if known. Without a report, unchanged objects are not
    /// delivered again.
    pub went_back: Option<u64>,
}

impl CachedObject {
    /// Looks an object up in a snapshot.
    #[must_use]
    pub fn of<K: Kind>(
        snapshot: &Snapshot<K>,
        key: &Key,
        state_of: impl Fn(&Object<K>) -> ObjectState,
    ) -> CachedObject {
        CachedObject {
            version: snapshot.version().cloned(),
            state: snapshot.get(key).as_ref().map(state_of),
            relists: None,
            went_back: None,
        }
    }
}
