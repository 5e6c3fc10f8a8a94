//! Who listens to an informer and knows what it may say.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube_informer::{Event, Key, Kind, Lister, Object, Snapshot, Version};
use tokio::sync::watch;
use tokio::time::timeout;

/// Versions of objects by their keys.
pub(crate) type Versions = BTreeMap<String, String>;

/// What was found to be against the contract. A run ends with the first quiet point that finds any.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    found: Mutex<Vec<String>>,
    events: AtomicU64,
}

impl Findings {
    pub(crate) fn add(&self, who: &str, what: impl Display) {
        let finding = format!("{who}: {what}");
        println!("  !! {finding}");
        lock(&self.found).push(finding);
    }

    pub(crate) fn assert_none(&self) {
        let findings = lock(&self.found);
        assert!(
            findings.is_empty(),
            "{} findings:\n{}",
            findings.len(),
            findings.join("\n")
        );
    }

    /// How many events were looked at.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
}

/// One handler of one informer. It holds everything it is told against contract 2, 3 and 4 at once.
pub(crate) struct Witness {
    pub(crate) name: String,
    /// Whether the cache has several namespaces, each at a version of its own.
    several: bool,
    findings: Arc<Findings>,
    seen: Mutex<Seen>,
    events: watch::Sender<u64>,
}

#[derive(Default)]
struct Seen {
    there: BTreeMap<Key, Version>,
    /// The newest version of each key that ever was, gone ones included.
    newest: HashMap<Key, Version>,
    /// The version that the cache was at.
    cache: Option<Version>,
    dismissed: bool,
}

impl Witness {
    pub(crate) fn new(name: String, several: bool, findings: Arc<Findings>) -> Arc<Self> {
        Arc::new(Self {
            name,
            several,
            findings,
            seen: Mutex::default(),
            events: watch::Sender::new(0),
        })
    }

    /// Is told of an event, as handlers are.
    pub(crate) fn hear<K: Kind>(&self, event: &Event<K>, lister: &Lister<K>) {
        let cache = lister.snapshot();
        {
            let mut seen = lock(&self.seen);
            if seen.dismissed {
                self.finding(format_args!("told of {} after the end", event.key()));
            }
            self.check_cache(&mut seen, event, &cache);
            self.check_history(&mut seen, event);
        }
        self.findings.events.fetch_add(1, Ordering::Relaxed);
        self.events.send_modify(|events| *events += 1);
    }

    /// Store first, and forward only.
    fn check_cache<K: Kind>(&self, seen: &mut Seen, event: &Event<K>, cache: &Snapshot<K>) {
        let (key, version) = (event.key(), event.object().version());
        let held = cache.get(key);
        let held = held.as_ref().map(Object::version);
        let gone = matches!(event, Event::Deleted(_));
        match held {
            Some(held) if gone && !version.is_before(held) => {
                self.finding(format_args!(
                    "{key} at {version} is gone, and the cache has it at {held}"
                ));
            }
            Some(held) if held.is_before(version) => {
                self.finding(format_args!(
                    "{key} is at {version}, and the cache has it at {held}"
                ));
            }
            // It was deleted since, so the cache is further than this.
            None if !gone && !self.several && cache.version().is_none_or(|at| !version.is_before(at)) => {
                let at = cache.version();
                self.finding(format_args!(
                    "{key} is at {version}, and the cache at {at:?} has it not"
                ));
            }
            _ => {}
        }
        if let (Some(before), Some(now)) = (&seen.cache, cache.version())
            && now.is_before(before)
        {
            self.finding(format_args!("the cache went back from {before} to {now}"));
        }
        seen.cache = cache.version().cloned();
    }

    /// `add (update)* delete`, each from what was told before, and never to an older version.
    fn check_history<K: Kind>(&self, seen: &mut Seen, event: &Event<K>) {
        let key = event.key().clone();
        let version = event.object().version().clone();
        let before = seen.there.get(&key);
        match event {
            Event::Added { .. } => {
                if let Some(before) = before {
                    self.finding(format_args!("{key} at {before} was added again at {version}"));
                }
                if let Some(newest) = seen.newest.get(&key)
                    && !newest.is_before(&version)
                {
                    self.finding(format_args!(
                        "{key} was at {newest} once and came back at {version}"
                    ));
                }
            }
            Event::Updated { old, .. } => {
                if before != Some(old.version()) {
                    let old = old.version();
                    self.finding(format_args!("{key} at {before:?} was changed from {old}"));
                }
                if !event.is_resync() && !old.version().is_before(&version) {
                    let old = old.version();
                    self.finding(format_args!("{key} was changed from {old} to {version}"));
                }
            }
            Event::Deleted(deleted) => {
                if before != Some(deleted.last_seen().version()) {
                    let last = deleted.last_seen().version();
                    self.finding(format_args!("{key} at {before:?} was deleted at {last}"));
                }
                if before.is_some_and(|before| version.is_before(before)) {
                    self.finding(format_args!(
                        "{key} at {before:?} was deleted at the older {version}"
                    ));
                }
            }
        }
        if matches!(event, Event::Deleted(_)) {
            seen.there.remove(&key);
        } else {
            seen.there.insert(key.clone(), version.clone());
        }
        seen.newest.insert(key, version);
    }

    fn finding(&self, what: impl Display) {
        self.findings.add(&self.name, what);
    }

    /// From now on it is told of nothing.
    pub(crate) fn dismiss(&self) {
        lock(&self.seen).dismissed = true;
    }

    /// What it takes to be there.
    pub(crate) fn account(&self) -> Versions {
        let seen = lock(&self.seen);
        let there = seen.there.iter();
        there
            .map(|(key, version)| (key.to_string(), version.to_string()))
            .collect()
    }

    /// Waits until its last word on each object is this (contract 5); at the end of the patience that is a finding.
    pub(crate) async fn agrees(&self, wanted: &Versions, patience: Duration) {
        let mut events = self.events.subscribe();
        let agreed = timeout(patience, events.wait_for(|_| self.account() == *wanted)).await;
        if agreed.is_err() {
            let what = difference("the handler", &self.account(), "the cache", wanted);
            self.finding(format_args!("its last words are not what is there: {what}"));
        }
    }
}

/// What two accounts do not agree on.
pub(crate) fn difference(one: &str, a: &Versions, other: &str, b: &Versions) -> String {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differ = keys.into_iter().filter(|key| a.get(*key) != b.get(*key));
    let say = |version: Option<&String>| version.map_or("nothing", String::as_str).to_owned();
    let told = differ.map(|key| {
        format!(
            "{key}: {one} has {}, {other} {}",
            say(a.get(key)),
            say(b.get(key))
        )
    });
    told.collect::<Vec<_>>().join("; ")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
