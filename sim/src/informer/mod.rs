//! An informer whose cache, handlers and requests are checked.

mod build;
mod checks;
mod erased;
mod handlers;
mod reads;
mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use contract_checker::{CacheChecker, HandlerChecker, HandlerRules, Selects, difference};
use kube::Client;
use kube_informer::Key;
use tokio::task::JoinHandle;

use self::checks::LastCheck;
use self::erased::{AnyInformer, HeldSnapshot};
use self::handlers::JoinedHandler;
use self::waits::{Caller, Wait};
use crate::cluster::Cluster;
use crate::context::Context;
use crate::objects::is_chosen;
use crate::plan::{HandlerPlan, InformerPlan, Pace};
use crate::requests::RequestChecker;
use crate::workers::Workers;

/// An informer, its handlers, and their checkers.
pub(crate) struct CheckedInformer {
    name: String,
    plan: InformerPlan,
    is_custom: bool,
    context: Arc<Context>,
    informer: Arc<dyn AnyInformer>,
    cache: CacheChecker,
    requests: Arc<RequestChecker>,
    handlers: Vec<JoinedHandler>,
    /// Readers of removed streams.
    readers: Vec<JoinHandle<()>>,
    workers: Option<Workers>,
    waits: Vec<Wait>,
    held: Vec<HeldSnapshot>,
    joined: usize,
    looks: usize,
    last: Option<LastCheck>,
}

impl CheckedInformer {
    /// Builds and starts an informer.
    pub(crate) async fn start(
        name: String,
        plan: &InformerPlan,
        client: Client,
        is_custom: bool,
        seed: u64,
        context: &Arc<Context>,
    ) -> CheckedInformer {
        context.log.line(|| format!("{name} starts: {plan}"));
        let requests = RequestChecker::new(&name, &context.findings);
        let informer = build::build(&requests.client(client), plan, is_custom, seed).await;
        let workers = plan
            .works
            .then(|| informer.start_workers(seed, context, &name))
            .flatten();
        let history = context.history_of(selects(plan, false));
        let namespaces = plan.selection.several_namespaces().to_vec();
        let cache = CacheChecker::new(&name, &context.findings, Some(history), namespaces);
        informer.start();
        CheckedInformer {
            name,
            plan: plan.clone(),
            is_custom,
            context: Arc::clone(context),
            informer,
            cache,
            requests,
            handlers: Vec::new(),
            readers: Vec::new(),
            workers,
            waits: Vec::new(),
            held: Vec::new(),
            joined: 0,
            looks: 0,
            last: None,
        }
    }

    /// Adds a handler.
    pub(crate) fn join(&mut self, plan: &HandlerPlan) {
        let name = format!("{}'s handler {}", self.name, self.joined);
        self.joined += 1;
        let selects = selects(&self.plan, plan.is_filtered);
        let contents = self.informer.contents();
        let initial: Option<BTreeSet<Key>> = self.informer.has_synced().then(|| {
            let cached = contents.objects.iter();
            let selected = cached.filter(|(key, state)| selects(key, state));
            selected.map(|(key, _)| key.clone()).collect()
        });
        let rules = HandlerRules {
            resyncs: !plan.resync.unwrap_or(self.plan.resync).is_zero(),
            // When the kind is removed, objects disappear in any order.
            is_ordered: plan.every_event && !plan.is_filtered && !self.is_custom,
            initial,
            several_namespaces: !self.plan.selection.several_namespaces().is_empty(),
            server_may_go_back: false,
            history: Some(self.context.history_of(selects)),
        };
        let checker = HandlerChecker::new(name, &self.context.findings, rules);
        match self.informer.join(plan, &checker, &self.context, &Arc::default()) {
            Some(handler) => self.handlers.push(handler),
            None => self.found(7, "cannot add a handler"),
        }
    }

    /// Removes a handler.
    pub(crate) async fn leave(&mut self, number: usize, waits: bool) {
        if self.handlers.is_empty() {
            return;
        }
        let handler = self.handlers.remove(number % self.handlers.len());
        self.context
            .log
            .line(|| format!("{} is removed", handler.checker.name()));
        handler.registration.remove();
        handler.checker.end("after it was removed");
        handler.release.notify_one();
        self.readers.extend(handler.task);
        if waits {
            handler.registration.remove_and_wait().await;
        }
    }

    /// Adds an index to the running informer. A second one with the same name is refused.
    pub(crate) fn add_index(&self) {
        if let Err(error) = self.informer.add_index()
            && !error.is_conflict()
        {
            self.found(12, &format!("cannot add an index: {error}"));
        }
    }

    pub(crate) fn hold_snapshot(&mut self) {
        self.held.push(self.informer.hold_snapshot());
    }

    pub(crate) fn drop_snapshots(&mut self) {
        self.check_held();
        self.held.clear();
    }

    pub(crate) fn wait_for_write(&mut self, key: Key, version: u64, timeout: Duration) {
        let is_in_namespace = version.is_multiple_of(2);
        let wait = self
            .caller()
            .wait_for_write(key, version, is_in_namespace, timeout);
        self.waits.push(wait);
    }

    pub(crate) fn wait_for_sync(&mut self, timeout: Duration) {
        self.waits.push(self.caller().wait_for_sync(timeout));
    }

    pub(crate) fn check_consistency(&mut self) {
        self.waits.push(self.caller().check_consistency());
    }

    fn caller(&self) -> Caller {
        Caller {
            name: self.name.clone(),
            informer: Arc::clone(&self.informer),
            context: Arc::clone(&self.context),
            selects: selects(&self.plan, false),
        }
    }

    /// Returns the version of the cache, as a number.
    pub(crate) fn version(&self) -> Option<u64> {
        self.informer
            .version()
            .and_then(|version| version.to_string().parse().ok())
    }

    /// Returns how often the informer reported that the server went back.
    pub(crate) fn went_back(&self) -> u64 {
        self.informer.status().went_back
    }

    /// Returns whether the cache equalled the server at the last check.
    pub(crate) fn is_current(&self) -> bool {
        let Some(LastCheck { contents, .. }) = &self.last else {
            return false;
        };
        let history = self.context.history.lock();
        contents.version.is_some() && history.is(&*selects(&self.plan, false), &contents.objects)
    }

    /// Reports the differences between the cache and the server.
    pub(crate) fn report_stale(&self) {
        let contents = self.informer.contents();
        let current = self.context.history.lock().current(&*selects(&self.plan, false));
        let difference = difference(&contents.objects, &current).unwrap_or_else(|| "never listed".to_owned());
        let last_error = self.informer.status().last_error;
        let error = last_error
            .map(|error| format!("; last error: {error}"))
            .unwrap_or_default();
        self.found(
            5,
            &format!("the cache does not follow the server: {difference} (cache | server){error}"),
        );
    }

    /// Lets stuck handlers continue.
    pub(crate) fn release(&mut self) {
        for handler in &mut self.handlers {
            handler.plan.pace = Pace::Quick;
            handler.release.notify_one();
        }
        self.calm(true);
    }

    /// Sets whether reconcilers stop failing.
    pub(crate) fn calm(&self, is_calm: bool) {
        if let Some(workers) = &self.workers {
            workers.calm(is_calm);
        }
    }

    /// Returns whether nothing is pending.
    pub(crate) fn is_idle(&self) -> bool {
        let is_idle = |handler: &JoinedHandler| {
            let is_done = handler.registration.backlog() == 0 && handler.registration.has_synced();
            is_done || handler.has_left() || handler.plan.pace == Pace::Stuck
        };
        self.handlers.iter().all(is_idle) && self.workers.as_ref().is_none_or(Workers::is_idle)
    }

    /// Reports which parts are busy.
    pub(crate) fn report_busy(&self) {
        let handlers = self.handlers.iter();
        let busy: Vec<String> = handlers
            .map(|handler| format!("{:?}", handler.registration))
            .collect();
        self.found(5, &format!("does not become idle: {}", busy.join(", ")));
    }

    /// Checks a settled informer: handlers and workers have the last state of each object.
    pub(crate) fn check_settled(&self) {
        let contents = self.informer.contents();
        let mut filtered = contents.objects.clone();
        filtered.retain(|_, state| is_chosen(state));
        for handler in &self.handlers {
            // A stuck handler does not receive further events.
            if handler.has_left() || handler.plan.pace == Pace::Stuck {
                continue;
            }
            let cached = if handler.plan.is_filtered {
                &filtered
            } else {
                &contents.objects
            };
            handler.checker.check_settled(cached);
        }
        if let Some(workers) = &self.workers {
            workers.check_settled(&contents.objects);
        }
    }

    /// Stops the informer. None of its tasks may continue.
    pub(crate) async fn stop(mut self, cluster: &Cluster) {
        self.context.log.line(|| format!("{} stops", self.name));
        self.release();
        if let Some(workers) = self.workers.take() {
            workers.stop().await;
        }
        self.informer.shutdown().await;
        for handler in &mut self.handlers {
            // Streams have no task; the owner drains them.
            if let Some(task) = handler.task.take() {
                let _ended = task.await;
            }
            handler.checker.end("after its informer stopped");
        }
        for reader in std::mem::take(&mut self.readers) {
            let _ended = reader.await;
        }
        for wait in std::mem::take(&mut self.waits) {
            wait.end().await;
        }
        self.check_held();
        self.check(cluster);
        let mut counts = self.context.counts.lock();
        counts.busiest = counts.busiest.max(self.requests.busiest());
    }

    fn found(&self, contract: u8, message: &str) {
        self.context.findings.add(contract, &self.name, message);
    }
}

/// Returns the selection of an informer, or of a filtered handler of it.
fn selects(plan: &InformerPlan, is_filtered: bool) -> Selects {
    let selection = plan.selection.clone();
    Arc::new(move |key, state| selection.selects(key, state) && (!is_filtered || is_chosen(state)))
}

impl std::fmt::Debug for CheckedInformer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckedInformer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
