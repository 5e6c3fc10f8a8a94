//! Runs a plan.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::time::Duration;

use contract_checker::Finding;
use kube::Client;
use tokio::runtime::{Builder, Handle};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::context::{Context, Counts};
use crate::informer::CheckedInformer;
use crate::objects::{FEW, key_of};
use crate::plan::{Plan, Step};

/// Timeout for a cache to become current after all faults have ended. The longest wait of an informer is for
/// a silent watch: up to ten minutes, and one more minute of tolerance.
const CURRENT_TIMEOUT: Duration = Duration::from_mins(40);
/// Timeout for handlers and workers to process their backlog.
const IDLE_TIMEOUT: Duration = Duration::from_hours(3);
/// Interval of checks while time passes.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The first violation of the contract, if any.
    pub finding: Option<Finding>,
    /// The log, if one was kept.
    pub log: Vec<String>,
    /// The counters.
    pub counts: Counts,
}

thread_local! {
    /// Unplanned panics of the run on this thread; none outside of a run.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Collects panics of runs instead of printing them. Planned panics do not call the hook.
fn collect_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.with_borrow_mut(|panics| match panics {
                Some(panics) => panics.push(panic.to_string()),
                None => before(panic),
            });
        }));
    });
}

/// Runs a plan on this thread, with or without a log.
#[must_use]
pub fn play(plan: &Plan, keeps_log: bool) -> Outcome {
    collect_panics();
    PANICS.set(Some(Vec::new()));
    fastrand::seed(plan.seed);
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread can be built");
    let context = runtime.block_on(async { Arc::new(Context::new(keeps_log)) });
    let run = AssertUnwindSafe(|| runtime.block_on(Run::play(plan, &context)));
    // The hook has collected the message.
    let _ended = catch_unwind(run);
    drop(runtime);
    if let Some(panic) = PANICS.take().unwrap_or_default().first() {
        context.findings.add(12, "panic", panic);
    }
    Outcome {
        finding: context.findings.first(),
        log: context.log.lines(),
        counts: *context.counts.lock(),
    }
}

struct Run<'a> {
    plan: &'a Plan,
    context: Arc<Context>,
    cluster: Cluster,
    client: Client,
    informers: Vec<CheckedInformer>,
    /// Number of started informers.
    started: usize,
    /// Number of tasks that do not belong to informers.
    tasks: usize,
}

impl<'a> Run<'a> {
    async fn play(plan: &'a Plan, context: &Arc<Context>) {
        context.log.line(|| plan.settings());
        let cluster = Cluster::start(plan, context).await;
        let mut run = Run {
            client: cluster.server.direct_client(),
            cluster,
            plan,
            context: Arc::clone(context),
            informers: Vec::new(),
            started: 0,
            tasks: 0,
        };
        turns(5).await;
        run.tasks = alive_tasks();
        for number in 0..plan.informers.len() {
            let informer = run.start_informer(number).await;
            run.informers.push(informer);
        }
        run.play_steps().await;
    }

    async fn start_informer(&mut self, number: usize) -> CheckedInformer {
        let name = if self.started < self.plan.informers.len() {
            format!("informer {number}")
        } else {
            format!("informer {number} ({})", self.started)
        };
        self.started += 1;
        let seed = self.plan.seed.wrapping_mul(31).wrapping_add(self.started as u64);
        let plan = &self.plan.informers[number];
        let client = self.client.clone();
        CheckedInformer::start(name, plan, client, self.plan.is_custom, seed, &self.context).await
    }

    async fn play_steps(mut self) {
        for step in &self.plan.steps {
            self.context.counts.lock().steps += 1;
            self.context.log.line(|| format!("* {step}"));
            self.step(step).await;
            self.check();
            if self.context.has_failed() {
                return;
            }
        }
        self.settle().await;
        if !self.context.has_failed() {
            self.end().await;
        }
    }

    async fn step(&mut self, step: &Step) {
        let cluster = &mut self.cluster;
        match step {
            Step::Write {
                key,
                is_chosen,
                is_poisoned,
            } => drop(cluster.write(*key, *is_chosen, *is_poisoned)),
            Step::WriteMany { first, count } => {
                for number in *first..first + count {
                    cluster.write(number, number % 3 > 0, false);
                }
            }
            Step::DeleteMany { first, count } => (*first..first + count).for_each(|key| cluster.delete(key)),
            Step::Delete { key } => cluster.delete(*key),
            Step::Recreate { key } => {
                cluster.delete(*key);
                cluster.write(*key, true, false);
            }
            Step::Advance(by) => cluster.server.advance_resource_version(*by),
            Step::Pause(time) => self.pause(*time).await,
            Step::Turns(count) => turns(*count).await,
            Step::Fault(fault) => cluster.add_fault(fault),
            Step::Heal => cluster.end_faults(),
            Step::Cut => cluster.server.cut_connections(),
            Step::Compact => cluster.server.compact_history(),
            Step::Down => cluster.server.go_down().await,
            Step::Up => cluster.up().await,
            Step::Backup => cluster.make_backup(),
            Step::Restore => cluster.restore_with_newer_versions(),
            Step::GoBack { writes } => self.go_back(*writes).await,
            Step::RepeatVersion { key } => self.repeat_version(*key).await,
            Step::RemoveKind => cluster.remove_kind(),
            Step::ServeKind => cluster.serve_kind().await,
            Step::Settle => self.settle().await,
            Step::Join { .. }
            | Step::Leave { .. }
            | Step::Restart { .. }
            | Step::AddIndex { .. }
            | Step::HoldSnapshot { .. }
            | Step::DropSnapshots { .. }
            | Step::WaitForWrite { .. }
            | Step::WaitForSync { .. }
            | Step::CheckConsistency { .. } => self.step_of_informer(step).await,
        }
    }

    async fn step_of_informer(&mut self, step: &Step) {
        match step {
            Step::Join { informer, handler } => self.informers[*informer].join(handler),
            Step::Leave {
                informer,
                handler,
                waits,
            } => {
                let leaving = self.informers[*informer].leave(*handler, *waits);
                if tokio::time::timeout(IDLE_TIMEOUT, leaving).await.is_err() {
                    self.found(11, "a removed handler never ends");
                }
            }
            Step::Restart { informer } => self.restart(*informer).await,
            Step::AddIndex { informer } => self.informers[*informer].add_index(),
            Step::HoldSnapshot { informer } => self.informers[*informer].hold_snapshot(),
            Step::DropSnapshots { informer } => self.informers[*informer].drop_snapshots(),
            Step::WaitForWrite {
                informer,
                key,
                timeout,
            } => {
                if let Some(version) = self.cluster.write(*key, true, false) {
                    self.informers[*informer].wait_for_write(key_of(*key), version, *timeout);
                }
            }
            Step::WaitForSync { informer, timeout } => self.informers[*informer].wait_for_sync(*timeout),
            Step::CheckConsistency { informer } => self.informers[*informer].check_consistency(),
            _ => {}
        }
    }

    /// Lets time pass, with checks in between.
    async fn pause(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.context.has_failed() {
            tokio::time::sleep_until(end.min(Instant::now() + CHECK_INTERVAL)).await;
            self.check();
        }
    }

    async fn restart(&mut self, number: usize) {
        let new = self.start_informer(number).await;
        let old = std::mem::replace(&mut self.informers[number], new);
        if tokio::time::timeout(IDLE_TIMEOUT, old.stop(&self.cluster))
            .await
            .is_err()
        {
            self.found(11, "an informer does not stop");
        }
    }

    /// Makes the server go back to older versions. Informers can notice this only while the server's version
    /// is below theirs, so only few objects are written before.
    async fn go_back(&mut self, writes: usize) {
        self.settle().await;
        let newest = self.cluster.server.resource_version();
        let least = self.informers.iter().filter_map(CheckedInformer::version).min();
        let reports: Vec<u64> = self.informers.iter().map(CheckedInformer::went_back).collect();
        let Some(version) = self.cluster.go_back() else {
            return;
        };
        let room = least.unwrap_or_default().saturating_sub(version + 1);
        for number in 0..(writes as u64).min(room) {
            let number = usize::try_from(number).unwrap_or_default();
            self.cluster.write(number % FEW, true, false);
        }
        // An informer whose objects are the same in the backup need not notice the restore.
        let now = self.cluster.server.resource_version();
        let must_notice = |informer: &CheckedInformer| {
            informer.version().is_some_and(|version| version > now) && !informer.is_current()
        };
        let affected: Vec<bool> = self.informers.iter().map(must_notice).collect();
        self.settle().await;
        for (at, informer) in self.informers.iter().enumerate() {
            if affected[at] && informer.went_back() == reports[at] {
                self.found(
                    2,
                    &format!("informer {at} does not report that the server went back"),
                );
            }
        }
        self.skip_versions(newest);
    }

    /// Creates an object twice at the same version, with different uids: the server goes back in between.
    async fn repeat_version(&mut self, key: usize) {
        self.cluster.delete(key);
        self.settle().await;
        self.cluster.make_backup();
        self.cluster.write(key, true, false);
        self.settle().await;
        let newest = self.cluster.server.resource_version();
        if self.context.has_failed() || self.cluster.go_back().is_none() {
            return;
        }
        self.cluster.write(key, true, false);
        // Watches cannot show this, so they expire until every informer has listed.
        self.cluster.expire_watches();
        self.cluster.server.cut_connections();
        self.wait_until_current().await;
        self.settle().await;
        self.skip_versions(newest);
    }

    /// Skips versions that informers may have seen before the server went back.
    fn skip_versions(&self, newest: u64) {
        let now = self.cluster.server.resource_version();
        self.cluster
            .server
            .advance_resource_version(newest.saturating_sub(now) + 1);
    }

    fn check(&mut self) {
        for informer in &mut self.informers {
            informer.check(&self.cluster);
        }
        self.context.counts.lock().faults += self.cluster.take_faulty_requests();
    }

    /// Ends all faults and waits until every cache, handler and worker is up to date.
    async fn settle(&mut self) {
        self.cluster.end_faults();
        // Open watches may still omit an event.
        if self.context.history.lock().has_lost_event() {
            self.cluster.server.cut_connections();
        }
        self.cluster.up().await;
        self.cluster.serve_kind().await;
        self.cluster.heal_objects();
        for informer in &self.informers {
            informer.calm(true);
        }
        self.wait_until_settled().await;
        self.context.history.lock().set_lost_event(false);
        for informer in &self.informers {
            informer.calm(false);
        }
    }

    async fn wait_until_current(&mut self) {
        if let Some(stale) = self.until(CURRENT_TIMEOUT, CheckedInformer::is_current).await {
            self.informers[stale].report_stale();
        }
    }

    async fn wait_until_settled(&mut self) {
        self.wait_until_current().await;
        if self.context.has_failed() {
            return;
        }
        if let Some(busy) = self.until(IDLE_TIMEOUT, CheckedInformer::is_idle).await {
            return self.informers[busy].report_busy();
        }
        for informer in &self.informers {
            informer.check_settled();
        }
    }

    /// Waits until a condition holds for all informers. Returns one for which it does not hold in time.
    async fn until(
        &mut self,
        patience: Duration,
        condition: impl Fn(&CheckedInformer) -> bool,
    ) -> Option<usize> {
        let end = Instant::now() + patience;
        let mut pause = Duration::from_millis(1);
        loop {
            self.check();
            if self.context.has_failed() {
                return None;
            }
            // The change that fulfilled the condition may have woken other tasks.
            turns(20).await;
            let late = self.informers.iter().position(|informer| !condition(informer));
            if late.is_none() || Instant::now() >= end {
                return late;
            }
            tokio::time::sleep(pause).await;
            // Not a divisor of the intervals of other events.
            pause = (pause * 2).min(Duration::from_millis(1_700));
        }
    }

    /// Stops everything, and checks that no task remains.
    async fn end(&mut self) {
        for informer in &mut self.informers {
            informer.release();
        }
        if let Some(busy) = self.until(IDLE_TIMEOUT, CheckedInformer::is_idle).await {
            return self.informers[busy].report_busy();
        }
        for informer in std::mem::take(&mut self.informers) {
            if tokio::time::timeout(IDLE_TIMEOUT, informer.stop(&self.cluster))
                .await
                .is_err()
            {
                return self.found(11, "an informer does not stop");
            }
        }
        turns(20).await;
        let left = alive_tasks().saturating_sub(self.tasks);
        if left > 0 {
            self.found(
                11,
                &format!("{left} tasks remain after all informers have stopped"),
            );
        }
        self.pause(Duration::from_hours(1)).await;
    }

    fn found(&self, contract: u8, message: &str) {
        self.context.findings.add(contract, "run", message);
    }
}

/// Runs all ready tasks, several times.
async fn turns(count: u32) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}
