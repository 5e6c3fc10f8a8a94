//! Handlers whose events are checked against the contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract_checker::{
    CachedObject, Collection, Findings, HandlerChecker, HandlerRules, ObjectState, ObservedEvent,
};
use kube::api::ObjectMeta;
use kube_informer::{Event, Key, Kind, Lister};
use tokio::sync::watch;
use tokio::time::timeout;

/// The findings of a run, and the number of checked events.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(crate) findings: Arc<Findings>,
    events: AtomicU64,
}

impl Checks {
    pub(crate) fn new() -> Arc<Checks> {
        Arc::new(Checks {
            findings: Arc::new(Findings::reported_to(|finding| println!("  !! {finding}"))),
            events: AtomicU64::new(0),
        })
    }

    /// Returns the number of checked events.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
}

/// A handler of an informer whose events are checked.
pub(crate) struct CheckedHandler {
    pub(crate) checker: Arc<HandlerChecker>,
    checks: Arc<Checks>,
    events: watch::Sender<u64>,
}

impl CheckedHandler {
    /// `several` means that the informer watches several namespaces.
    pub(crate) fn new(name: String, several: bool, checks: &Arc<Checks>) -> Arc<CheckedHandler> {
        let rules = HandlerRules {
            several_namespaces: several,
            ..HandlerRules::default()
        };
        Arc::new(CheckedHandler {
            checker: HandlerChecker::new(name, &checks.findings, rules),
            checks: Arc::clone(checks),
            events: watch::Sender::new(0),
        })
    }

    /// Checks an event, as the informer's handler.
    pub(crate) fn receive<K: Kind>(&self, event: &Event<K>, lister: &Lister<K>) {
        let cached = CachedObject::of(&lister.snapshot(), event.key(), ObjectState::of);
        self.checker
            .check(&ObservedEvent::of(event, ObjectState::of), &cached);
        self.checks.events.fetch_add(1, Ordering::Relaxed);
        self.events.send_modify(|events| *events += 1);
    }

    /// Waits until its last event of each object matches. After the timeout this is a finding (contract 5).
    pub(crate) async fn agrees(&self, wanted: &Collection, patience: Duration) {
        let mut events = self.events.subscribe();
        let agreed = timeout(patience, events.wait_for(|_| self.checker.present() == *wanted)).await;
        if agreed.is_err() {
            self.checker.check_settled(wanted);
        }
    }
}

/// Returns key and state of an object that the server listed.
pub(crate) fn entry_of(metadata: ObjectMeta) -> (Key, ObjectState) {
    let key = Key::new(metadata.namespace.as_deref(), &metadata.name.unwrap_or_default());
    let state = ObjectState {
        version: metadata.resource_version.unwrap_or_default().into(),
        uid: metadata.uid,
        content: 0,
    };
    (key, state)
}
