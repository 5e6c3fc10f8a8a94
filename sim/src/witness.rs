//! What one handler was told, and whether it may have been.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube_informer::{Deleted, Event, Key, Kind, Object};
use parking_lot::Mutex;

use crate::story::Ground;
use crate::truth::{Collection, Place, Selection, Thing};

/// The annotation that a write leaves its value in.
pub(crate) const VALUE: &str = "sim/value";
/// The label by which some informers select.
pub(crate) const CHOSEN: &str = "chosen";

/// The observer of one handler.
pub(crate) struct Witness {
    name: String,
    ground: Arc<Ground>,
    selection: Selection,
    state: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// What the handler knows to be there.
    there: BTreeMap<Key, Seen>,
    /// Where in its history each object was last seen, also if it is gone.
    last: BTreeMap<Key, Place>,
    /// The objects of the beginning; none if the handler was there before the first list.
    initial: Option<BTreeSet<Key>>,
    /// Those of them that it was told of as such.
    initial_told: BTreeSet<Key>,
    events: u32,
    /// The handler must not be called any more.
    is_over: Option<&'static str>,
}

#[derive(Debug, Clone)]
struct Seen {
    thing: Thing,
    place: Place,
}

/// A store as it is at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Its version.
    pub(crate) version: Option<u64>,
    /// What is in it.
    pub(crate) objects: Collection,
}

/// What is to be told apart of an object.
pub(crate) fn thing<K: Kind>(object: &Object<K>) -> Thing {
    let value = object.annotation(VALUE).and_then(|value| value.parse().ok());
    Thing {
        version: object.version().to_string().parse().unwrap_or_default(),
        value: value.unwrap_or_default(),
        is_chosen: object.label(CHOSEN).is_some(),
    }
}

impl Witness {
    /// Of a handler that joins now. What is in the store is what it has to be told first, if anything was listed yet.
    pub(crate) fn new(
        name: String,
        ground: &Arc<Ground>,
        selection: &Selection,
        store: Option<&View>,
    ) -> Arc<Witness> {
        let told = Memory {
            initial: store.map(|store| store.objects.keys().cloned().collect()),
            ..Memory::default()
        };
        Arc::new(Witness {
            name,
            ground: Arc::clone(ground),
            selection: selection.clone(),
            state: Mutex::new(told),
        })
    }

    /// What it is called in the story.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How many events it was told.
    pub(crate) fn events(&self) -> u32 {
        self.state.lock().events
    }

    /// From now on it must not be called.
    pub(crate) fn is_over(&self, why: &'static str) {
        self.state.lock().is_over = Some(why);
    }

    /// The handler was told an event, while this was in the store.
    pub(crate) fn told<K: Kind>(&self, event: &Event<K>, store: &View) {
        self.ground.counts.lock().events += 1;
        let key = event.key().clone();
        self.ground
            .tell(|| format!("{} is told: {}", self.name, describe(event)));
        let mut told = self.state.lock();
        told.events += 1;
        if let Some(why) = told.is_over {
            self.ground
                .violated(11, format!("{} is told of {key} {why}", self.name));
        }
        match event {
            Event::Added {
                object,
                is_in_initial_list,
            } => self.added(&mut told, &key, thing(object), *is_in_initial_list, store),
            Event::Updated { old, new } => self.updated(&mut told, &key, &thing(old), thing(new), store),
            Event::Deleted(deleted) => self.deleted(&mut told, &key, deleted, store),
        }
    }

    fn added(&self, told: &mut Memory, key: &Key, thing: Thing, initial: bool, store: &View) {
        if told.there.contains_key(key) {
            self.wrong(3, &format!("added {key} {thing}, which it knows already"));
        }
        if initial {
            let is_expected = told.initial.as_ref().is_none_or(|initial| initial.contains(key));
            if !is_expected {
                self.wrong(7, &format!("{key} as there from the beginning, and it was not"));
            }
            if !told.initial_told.insert(key.clone()) {
                self.wrong(7, &format!("{key} as there from the beginning, twice"));
            }
        }
        self.moved(told, key, thing, store);
    }

    fn updated(&self, told: &mut Memory, key: &Key, old: &Thing, new: Thing, store: &View) {
        match told.there.get(key) {
            None => self.wrong(3, &format!("updated {key}, which it does not know")),
            Some(seen) if seen.thing != *old => {
                let seen = &seen.thing;
                self.wrong(3, &format!("updated {key} from {old}, but it saw {seen} before"));
            }
            Some(_) => {}
        }
        if *old == new {
            // A resync repeats what is known, and need not be the newest.
            return;
        }
        self.moved(told, key, new, store);
    }

    /// An object is there in a state that is new to the handler.
    fn moved(&self, told: &mut Memory, key: &Key, thing: Thing, store: &View) {
        let truth = self.ground.truth.lock();
        let from = told.last.get(key).map_or(0, |last| last + 1);
        let Some(place) = truth.place(key, &thing, from) else {
            let problem = if truth.place(key, &thing, 0).is_some() {
                "which is older than what it saw before"
            } else {
                "which never was"
            };
            return self.wrong(3, &format!("{key} {thing}, {problem}"));
        };
        let in_store = match store.objects.get(key) {
            Some(stored) => truth.place(key, stored, place).is_some(),
            None => truth.was_gone_after(key, place, &self.selection),
        };
        drop(truth);
        if !in_store {
            let stored = store
                .objects
                .get(key)
                .map_or("nothing".to_owned(), Thing::to_string);
            self.wrong(4, &format!("{key} {thing}, and the store has {stored}"));
        }
        told.last.insert(key.clone(), place);
        told.there.insert(key.clone(), Seen { thing, place });
    }

    fn deleted<K: Kind>(&self, told: &mut Memory, key: &Key, deleted: &Deleted<K>, store: &View) {
        let Some(seen) = told.there.remove(key) else {
            return self.wrong(3, &format!("deleted {key}, which it does not know"));
        };
        let last_seen = thing(deleted.last_seen());
        if seen.thing != last_seen {
            let seen = &seen.thing;
            self.wrong(3, &format!("deleted {key} {last_seen}, but it saw {seen} before"));
        }
        let truth = self.ground.truth.lock();
        let was_gone = truth.was_gone_after(key, seen.place, &self.selection);
        let stored = store.objects.get(key);
        // Another object may have taken its name, so that the name was never out of sight.
        let is_replaced = stored.is_some_and(|stored| truth.place(key, stored, seen.place + 1).is_some());
        drop(truth);
        if !was_gone && !is_replaced {
            self.wrong(
                3,
                &format!("deleted {key}, which was never gone after {last_seen}"),
            );
        } else if let Some(stored) = stored
            && !is_replaced
        {
            self.wrong(
                4,
                &format!("deleted {key} {last_seen}, and the store has {stored}"),
            );
        }
    }

    /// Its registration says that everything of the beginning was told.
    pub(crate) fn has_synced(&self, store: &View) {
        let told = self.state.lock();
        // What is gone meanwhile need not be told.
        let missing = told
            .initial
            .iter()
            .flatten()
            .find(|key| !told.initial_told.contains(*key) && store.objects.contains_key(*key));
        if let Some(missing) = missing {
            self.wrong(8, &format!("synced, and it was not told of {missing}"));
        }
    }

    /// Everything is at rest: the handler's last word has to be the store's.
    pub(crate) fn at_rest(&self, store: &View) {
        let told = self.state.lock();
        let there: Collection = told
            .there
            .iter()
            .map(|(key, seen)| (key.clone(), seen.thing.clone()))
            .collect();
        if let Some(difference) = difference(&there, &store.objects) {
            self.wrong(5, &format!("{difference} (handler | store)"));
        }
    }

    fn wrong(&self, contract: u8, what: &str) {
        self.ground
            .violated(contract, format!("{} is told: {what}", self.name));
    }
}

/// The first difference between two collections, for people.
pub(crate) fn difference(one: &Collection, other: &Collection) -> Option<String> {
    let keys: BTreeSet<&Key> = one.keys().chain(other.keys()).collect();
    let state = |collection: &Collection, key| collection.get(key).map_or("-".to_owned(), Thing::to_string);
    let different = keys.into_iter().find(|key| one.get(*key) != other.get(*key))?;
    Some(format!(
        "{different}: {} | {}",
        state(one, different),
        state(other, different)
    ))
}

fn describe<K: Kind>(event: &Event<K>) -> String {
    let key = event.key();
    match event {
        Event::Added {
            object,
            is_in_initial_list,
        } => {
            let initial = if *is_in_initial_list {
                ", from the beginning"
            } else {
                ""
            };
            format!("added {key} {}{initial}", thing(object))
        }
        Event::Updated { old, new } if old.version() == new.version() => {
            format!("again {key} {}", thing(new))
        }
        Event::Updated { old, new } => format!("updated {key} {} to {}", thing(old), thing(new)),
        Event::Deleted(deleted) => format!("deleted {key} {}", thing(deleted.last_seen())),
    }
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witness")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
