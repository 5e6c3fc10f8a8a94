//! Checks the events of one handler: contract 3, 4, 5, 7, 8, 10 and 11.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use kube_informer::{Key, ResourceVersion};
use parking_lot::Mutex;

use crate::cache::CacheContents;
use crate::finding::Findings;
use crate::history::{Collection, HistoryView, Position, difference};
use crate::observe::{CachedObject, ObjectState, ObservedEvent};

/// The rules for a handler.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate rule")]
pub struct HandlerRules {
    /// The handler asked for resyncs, or the informer resyncs by default.
    pub resyncs: bool,
    /// The handler receives every event unfiltered, so that events arrive in the server's order between two lists.
    pub is_ordered: bool,
    /// The keys in the cache when the handler was added; none before the first list.
    pub initial: Option<BTreeSet<Key>>,
    /// The informer watches several namespaces, each with its own version.
    pub several_namespaces: bool,
    /// The server may send anything, including older versions. Then versions and unchanged objects are not
    /// checked.
    pub server_may_go_back: bool,
    /// The history of the server, if known.
    pub history: Option<HistoryView>,
}

/// Checks the events of one handler.
#[derive(Debug)]
pub struct HandlerChecker {
    name: String,
    rules: HandlerRules,
    findings: Arc<Findings>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The objects that exist according to the handler's events.
    present: BTreeMap<Key, LastState>,
    /// The last seen position of each object in its history, including deleted ones.
    last_position: BTreeMap<Key, Position>,
    /// The newest version of each object, including deleted ones.
    newest: BTreeMap<Key, ResourceVersion>,
    /// The version of the last event of each namespace, for the order across objects.
    last_in_order: BTreeMap<Option<String>, ResourceVersion>,
    delivered_initial: BTreeSet<Key>,
    /// Number of unchanged deliveries of each object because of a restored server.
    repeated: BTreeMap<Key, u64>,
    events: u64,
    /// The reason why the handler must not be called any more.
    ended: Option<&'static str>,
}

#[derive(Debug, Clone)]
struct LastState {
    state: ObjectState,
    position: Position,
}

impl HandlerChecker {
    /// Returns a checker for a handler that is added now.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        findings: &Arc<Findings>,
        rules: HandlerRules,
    ) -> Arc<HandlerChecker> {
        Arc::new(HandlerChecker {
            name: name.into(),
            rules,
            findings: Arc::clone(findings),
            state: Mutex::default(),
        })
    }

    /// Returns the handler's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of delivered events.
    pub fn events(&self) -> u64 {
        self.state.lock().events
    }

    /// Returns the objects that exist according to the handler's events.
    pub fn present(&self) -> Collection {
        let state = self.state.lock();
        let present = state.present.iter();
        present
            .map(|(key, seen)| (key.clone(), seen.state.clone()))
            .collect()
    }

    /// Ends the handler: it must not be called any more (contract 11).
    pub fn end(&self, why: &'static str) {
        self.state.lock().ended = Some(why);
    }

    /// Checks an event during its delivery, with the state of the cache at that time.
    pub fn check(&self, event: &ObservedEvent, cached: &CachedObject) {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.events += 1;
        if let Some(why) = state.ended {
            self.found(11, format_args!("{event} {why}"));
        }
        self.check_order(state, event, cached);
        match event {
            ObservedEvent::Added {
                key,
                state: new,
                is_initial,
            } => {
                if let Some(seen) = state.present.get(key) {
                    self.found(
                        3,
                        format_args!("{event}, but the object exists at {}", seen.state),
                    );
                }
                if *is_initial {
                    self.check_initial(state, event);
                }
                self.check_change(state, event, new, cached);
            }
            ObservedEvent::Updated { key, old, new, .. } => {
                match state.present.get(key) {
                    None => self.found(3, format_args!("{event}, but the object does not exist")),
                    Some(seen) if seen.state != *old => {
                        self.found(
                            3,
                            format_args!("{event}, but the handler saw {} before", seen.state),
                        );
                    }
                    Some(_) => {}
                }
                if !old.is_same_object(new) {
                    self.found(3, format_args!("{event}, but the uids differ"));
                }
                if old == new {
                    self.check_unchanged(state, event, cached);
                } else {
                    self.check_change(state, event, new, cached);
                }
            }
            ObservedEvent::Deleted { .. } => self.check_deletion(state, event, cached),
        }
    }

    /// Contract 7: an initial add is delivered once, and only for objects that were in the cache.
    fn check_initial(&self, state: &mut State, event: &ObservedEvent) {
        let key = event.key();
        let is_expected = self
            .rules
            .initial
            .as_ref()
            .is_none_or(|initial| initial.contains(key));
        if !is_expected {
            self.found(
                7,
                format_args!("{event}, but the object was not in the cache when the handler was added"),
            );
        }
        if !state.delivered_initial.insert(key.clone()) {
            self.found(7, format_args!("{event}, for the second time"));
        }
    }

    /// Contract 10: an unchanged object is delivered only as a resync, and only to a handler that asked for resyncs.
    fn check_unchanged(&self, state: &mut State, event: &ObservedEvent, cached: &CachedObject) {
        if self.rules.server_may_go_back {
            return;
        }
        let is_resync = matches!(event, ObservedEvent::Updated { is_resync: true, .. });
        if is_resync && self.rules.resyncs {
            return;
        }
        // An informer that reports a restored server does not trust versions in its next list, and delivers
        // each object once more.
        let reports = cached.went_back.unwrap_or_else(|| self.noticeable_restores());
        let repeated = state.repeated.entry(event.key().clone()).or_default();
        if *repeated < reports {
            *repeated += 1;
            return;
        }
        if let Some(seen) = state.present.get_mut(event.key()) {
            // The object may have changed and changed back, for example after a restore.
            let again = self.rules.history.as_ref().and_then(|view| {
                view.history
                    .lock()
                    .position(event.key(), event.state(), seen.position + 1)
            });
            if let Some(position) = again {
                seen.position = position;
                state.last_position.insert(event.key().clone(), position);
                return;
            }
        }
        if is_resync {
            self.found(
                10,
                format_args!("{event}, but the handler did not ask for resyncs"),
            );
        } else {
            self.found(
                10,
                format_args!("{event}, but nothing changed, and it is not marked as a resync"),
            );
        }
    }

    /// Checks a state that is new to the handler: it is later in history than the one before (contract 3),
    /// and the cache contains it or a newer one (contract 4).
    fn check_change(
        &self,
        state: &mut State,
        event: &ObservedEvent,
        new: &ObjectState,
        cached: &CachedObject,
    ) {
        let key = event.key();
        if matches!(event, ObservedEvent::Updated { is_resync: true, .. }) {
            self.found(3, format_args!("{event}, but the object has changed"));
        }
        let position = if let Some(view) = &self.rules.history {
            self.check_with_history(state, event, new, cached, view)
        } else {
            self.check_versions(state, event, new, cached);
            Some(0)
        };
        let Some(position) = position else { return };
        let seen = LastState {
            state: new.clone(),
            position,
        };
        state.last_position.insert(key.clone(), position);
        state.newest.insert(key.clone(), new.version.clone());
        state.present.insert(key.clone(), seen);
    }

    fn check_with_history(
        &self,
        state: &State,
        event: &ObservedEvent,
        new: &ObjectState,
        cached: &CachedObject,
        view: &HistoryView,
    ) -> Option<Position> {
        let key = event.key();
        let history = view.history.lock();
        let from = state.last_position.get(key).map_or(0, |last| last + 1);
        let Some(position) = history.position(key, new, from) else {
            let problem = if history.position(key, new, 0).is_some() {
                "which is older than what the handler saw before"
            } else {
                "a state that never existed on the server"
            };
            self.found(3, format_args!("{event}, {problem}"));
            return None;
        };
        let is_cached = match &cached.state {
            Some(cached) => history.position(key, cached, position).is_some(),
            None => history.was_absent_after(key, position, &*view.selects),
        };
        if !is_cached {
            let cached = cached
                .state
                .as_ref()
                .map_or("nothing".to_owned(), ObjectState::to_string);
            self.found(4, format_args!("{event}, but the cache holds {cached}"));
        }
        Some(position)
    }

    fn check_versions(&self, state: &State, event: &ObservedEvent, new: &ObjectState, cached: &CachedObject) {
        if self.rules.server_may_go_back {
            return;
        }
        if let Some(newest) = state.newest.get(event.key())
            && !newest.is_before(&new.version)
        {
            self.found(
                3,
                format_args!("{event}, but the handler saw version {newest} before"),
            );
        }
        match &cached.state {
            Some(held) if held.version.is_before(&new.version) => {
                self.found(4, format_args!("{event}, but the cache holds {held}"));
            }
            // The object was deleted in the meantime, so the cache must be newer than this.
            None if !self.rules.several_namespaces => {
                let at = cached.version.as_ref();
                if at.is_none_or(|at| !new.version.is_before(at)) {
                    self.found(
                        4,
                        format_args!("{event}, but the cache at {at:?} does not hold it"),
                    );
                }
            }
            _ => {}
        }
    }

    fn check_deletion(&self, state: &mut State, event: &ObservedEvent, cached: &CachedObject) {
        let ObservedEvent::Deleted {
            key,
            last_seen,
            last_state,
            ..
        } = event
        else {
            return;
        };
        let Some(seen) = state.present.remove(key) else {
            return self.found(3, format_args!("{event}, but the object does not exist"));
        };
        if seen.state != *last_seen {
            self.found(
                3,
                format_args!("{event}, but the handler saw {} before", seen.state),
            );
        }
        let Some(view) = &self.rules.history else {
            if self.rules.server_may_go_back {
                return;
            }
            if last_state.version.is_before(&seen.state.version) {
                self.found(
                    3,
                    format_args!("{event}, at the older version {}", last_state.version),
                );
            }
            if let Some(held) = &cached.state
                && held.is_same_object(last_state)
                && !last_state.version.is_before(&held.version)
            {
                self.found(4, format_args!("{event}, but the cache holds {held}"));
            }
            return;
        };
        let history = view.history.lock();
        let was_absent = history.was_absent_after(key, seen.position, &*view.selects);
        // Another object may have taken the name, so that the name was never absent.
        let is_replaced = cached.state.as_ref().is_some_and(|cached| {
            history.position(key, cached, seen.position + 1).is_some() && !cached.is_same_object(last_seen)
        });
        let is_back = cached
            .state
            .as_ref()
            .is_some_and(|cached| history.position(key, cached, seen.position + 1).is_some());
        let has_lost_event = history.has_lost_event();
        drop(history);
        if !was_absent && !is_replaced {
            self.found(3, format_args!("{event}, but it was never absent after that"));
        } else if let Some(held) = &cached.state
            && !is_back
            && !has_lost_event
        {
            self.found(4, format_args!("{event}, but the cache holds {held}"));
        }
    }

    /// Without a relist, the events of a handler that receives all of them are in the server's order.
    fn check_order(&self, state: &mut State, event: &ObservedEvent, cached: &CachedObject) {
        let is_change = match event {
            ObservedEvent::Added { is_initial, .. } => !is_initial,
            ObservedEvent::Updated { old, new, .. } => old != new,
            // A deletion that was not observed has the version of the last known state.
            ObservedEvent::Deleted {
                is_final_state_unknown,
                ..
            } => !is_final_state_unknown,
        };
        if !self.rules.is_ordered || cached.relists != Some(0) || !is_change {
            return;
        }
        let scope = event.key().namespace().filter(|_| self.rules.several_namespaces);
        let version = &event.state().version;
        let last = state
            .last_in_order
            .insert(scope.map(str::to_owned), version.clone());
        if let Some(last) = last
            && version.is_before(&last)
        {
            self.found(
                3,
                format_args!("{event}, after an event at the newer version {last}"),
            );
        }
    }

    /// Checks a registration that reports to be synced: every initial add was delivered (contract 8).
    pub fn check_synced(&self, cache: &CacheContents) {
        let state = self.state.lock();
        // An object that was deleted in the meantime need not be delivered.
        let missing = self.rules.initial.iter().flatten().find(|key| {
            !state.delivered_initial.contains(*key)
                && !state.present.contains_key(*key)
                && cache.objects.contains_key(*key)
        });
        if let Some(missing) = missing {
            self.found(8, format_args!("has synced, but {missing} was not delivered"));
        }
    }

    /// Checks a settled handler: the last event of each object matches the cache (contract 5).
    pub fn check_settled(&self, cached: &Collection) {
        if let Some(difference) = difference(&self.present(), cached) {
            self.found(5, format_args!("{difference} (handler | cache)"));
        }
    }

    /// Returns how often an informer may have noticed a restored server. It may select more than this handler
    /// receives.
    fn noticeable_restores(&self) -> u64 {
        let history = self.rules.history.as_ref();
        history.map_or(0, |view| {
            view.history.lock().noticeable_restores(&|_, _| true) as u64
        })
    }

    fn found(&self, contract: u8, message: impl fmt::Display) {
        self.findings.add(contract, &self.name, message);
    }
}
