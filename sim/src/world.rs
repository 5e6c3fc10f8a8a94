//! Plays a plan.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Once};
use std::time::Duration;

use kube::Client;
use kube_embedded::{Backup, Server};
use kube_informer::planted::{Bug, plant};
use serde_json::json;
use tokio::runtime::{Builder, Handle};
use tokio::time::Instant;

use crate::plan::{NAMESPACES, Plan, RESOURCE, Step, key_of};
use crate::story::{Counts, Ground, Violation};
use crate::subject::Subject;
use crate::truth::{Collection, Selection, Thing};
use crate::witness::{CHOSEN, VALUE};

/// How long it may take until a store is right once nothing is wrong any more. The longest that an informer has to be
/// patient is a watch that stays silent: up to ten minutes, and one more that it is given.
const ARRIVAL: Duration = Duration::from_mins(40);
/// How long handlers and workers may take to be done with what they have.
const REST: Duration = Duration::from_hours(3);
/// In this time...
const WINDOW: Duration = Duration::from_secs(10);
/// ...an informer of one namespace begins at most so many lists and watches.
const MOST_REQUESTS: usize = 24;

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// What went wrong, if anything did.
    pub violation: Option<Violation>,
    /// What happened, if it was to be told.
    pub story: Vec<String>,
    /// How much.
    pub counts: Counts,
}

thread_local! {
    /// The panics of a run on this thread that nobody meant; none if there is no run.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Notes panics of runs in place of printing them. Those that are meant do not get here, and those outside of a run go where
/// they would go anyway.
fn note_panics() {
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

/// Plays a plan on this thread, with a bug or without, and tells the story or not.
#[must_use]
pub fn play(plan: &Plan, bug: Option<Bug>, tells: bool) -> Ended {
    note_panics();
    plant(bug);
    PANICS.set(Some(Vec::new()));
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread can be had");
    let ended = runtime.block_on(async {
        let ground = Arc::new(Ground::new(tells));
        World::run(plan, &ground).await;
        if let Some(panic) = PANICS.take().unwrap_or_default().first() {
            ground.violated(12, panic.as_str());
        }
        Ended {
            violation: ground.violation(),
            story: ground.lines(),
            counts: *ground.counts.lock(),
        }
    });
    drop(runtime);
    plant(None);
    ended
}

struct World<'a> {
    plan: &'a Plan,
    ground: Arc<Ground>,
    server: Server,
    client: Client,
    subjects: Vec<Subject>,
    backup: Option<(Backup, Collection, u64)>,
    values: u64,
    names: usize,
    /// When lists and watches were last begun.
    asked: VecDeque<Instant>,
    /// Tasks that are nobody's here.
    tasks: usize,
}

impl<'a> World<'a> {
    async fn run(plan: &'a Plan, ground: &Arc<Ground>) {
        let started = Server::builder()
            .without_port()
            .seed(plan.seed)
            .history(plan.history)
            .bookmark_interval(plan.bookmarks)
            .start()
            .await;
        let server = started.expect("a server without a port always starts");
        for namespace in NAMESPACES {
            let made = server.load([json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace },
            })]);
            made.expect("a namespace can be made");
        }
        let mut world = World {
            client: server.direct_client(),
            server,
            plan,
            ground: Arc::clone(ground),
            subjects: Vec::new(),
            backup: None,
            values: 0,
            names: 0,
            asked: VecDeque::new(),
            tasks: 0,
        };
        turns(5).await;
        world.tasks = alive();
        for number in 0..plan.informers.len() {
            let subject = world.subject(number);
            world.subjects.push(subject);
        }
        world.play().await;
    }

    fn subject(&mut self, number: usize) -> Subject {
        let name = if self.names < self.plan.informers.len() {
            format!("informer {number}")
        } else {
            format!("informer {number} ({})", self.names)
        };
        self.names += 1;
        let seed = self.plan.seed.wrapping_mul(31).wrapping_add(self.names as u64);
        Subject::start(
            name,
            &self.plan.informers[number],
            &self.client,
            seed,
            &self.ground,
        )
    }

    async fn play(mut self) {
        for step in &self.plan.steps {
            self.ground.counts.lock().steps += 1;
            self.ground.tell(|| format!("* {step}"));
            self.step(step).await;
            self.look();
            if self.ground.violation().is_some() {
                return;
            }
        }
        self.settle().await;
        if self.ground.violation().is_none() {
            self.end().await;
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Write { key, is_chosen } => self.write(*key, *is_chosen),
            Step::Delete { key } => self.delete(*key),
            Step::Recreate { key } => {
                self.delete(*key);
                self.write(*key, true);
            }
            Step::Advance(by) => self.server.advance_resource_version(*by),
            Step::Pause(time) => self.pause(*time).await,
            Step::Turns(count) => turns(*count).await,
            Step::Fault(fault) => {
                let (on, fault) = fault.rule();
                self.server.faults().add(on, fault);
            }
            Step::Heal => self.server.faults().clear(),
            Step::Cut => self.server.cut_connections(),
            Step::Compact => self.server.compact_history(),
            Step::Down => self.server.go_down().await,
            Step::Up => self.come_back().await,
            Step::Backup => {
                let now = self.ground.truth.lock().current(&Selection::Everything);
                self.backup = Some((self.server.backup(), now, self.server.resource_version()));
            }
            Step::Restore => self.restore(),
            Step::Join { informer, handler } => self.subjects[*informer].join(handler),
            Step::Leave {
                informer,
                handler,
                waits,
            } => {
                let leaving = self.subjects[*informer].leave(*handler, *waits);
                if tokio::time::timeout(REST, leaving).await.is_err() {
                    self.ground.violated(11, "a handler that was removed never ends");
                }
            }
            Step::Restart { informer } => self.restart(*informer).await,
            Step::Settle => self.settle().await,
        }
    }

    /// Lets time pass, and looks now and then.
    async fn pause(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && self.ground.violation().is_none() {
            tokio::time::sleep_until(end.min(Instant::now() + WINDOW)).await;
            self.look();
        }
    }

    fn write(&mut self, number: usize, is_chosen: bool) {
        let key = key_of(number);
        self.values += 1;
        let value = self.values;
        let labels = if is_chosen {
            json!({ CHOSEN: "yes" })
        } else {
            json!({})
        };
        let written = self.server.load([json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": key.name(), "namespace": key.namespace(),
                "labels": labels, "annotations": { VALUE: value.to_string() },
            },
            "data": { "value": value.to_string() },
        })]);
        written.expect("what is written is good");
        let version = self.server.resource_version();
        let thing = Thing {
            version,
            value,
            is_chosen,
        };
        self.happened(version, number, Some(thing));
    }

    fn delete(&mut self, number: usize) {
        let key = key_of(number);
        if self.server.delete(RESOURCE, key.namespace(), key.name()) {
            self.happened(self.server.resource_version(), number, None);
        }
    }

    fn happened(&self, version: u64, number: usize, thing: Option<Thing>) {
        self.ground.counts.lock().writes += 1;
        let key = key_of(number);
        self.ground.tell(|| format!("  the server is at {version}"));
        self.ground.truth.lock().happened(version, &key, thing);
    }

    /// As an administrator who knows what he does: versions go on from where nobody has been yet.
    fn restore(&mut self) {
        let Some((backup, then, version)) = &self.backup else {
            return;
        };
        let before = self.server.resource_version();
        self.server.restore(backup);
        self.server.advance_resource_version(before - version + 1_000);
        self.server.compact_history();
        let now = self.server.resource_version();
        let mut truth = self.ground.truth.lock();
        let current = truth.current(&Selection::Everything);
        for (key, thing) in then {
            if current.get(key) != Some(thing) {
                truth.happened(now, key, Some(thing.clone()));
            }
        }
        for key in current.keys().filter(|key| !then.contains_key(*key)) {
            truth.happened(now, key, None);
        }
    }

    async fn restart(&mut self, number: usize) {
        let new = self.subject(number);
        let old = std::mem::replace(&mut self.subjects[number], new);
        if tokio::time::timeout(REST, old.stop()).await.is_err() {
            self.ground.violated(11, "an informer does not stop");
        }
    }

    async fn come_back(&self) {
        let back = self.server.come_back().await;
        back.expect("a server without a port always comes back");
    }

    fn look(&mut self) {
        for subject in &mut self.subjects {
            subject.look();
        }
        self.look_at_requests();
    }

    /// Ends all trouble and waits until everybody knows everything.
    async fn settle(&mut self) {
        self.server.faults().clear();
        self.come_back().await;
        for subject in &self.subjects {
            subject.calm(true);
        }
        self.come_to_rest().await;
        for subject in &self.subjects {
            subject.calm(false);
        }
    }

    async fn come_to_rest(&mut self) {
        let arrived = self.until(ARRIVAL, Subject::has_arrived).await;
        if let Some(late) = arrived {
            return self.subjects[late].has_not_arrived();
        }
        let at_rest = self.until(REST, Subject::is_at_rest).await;
        if let Some(busy) = at_rest {
            return self.subjects[busy].is_not_at_rest();
        }
        for subject in &self.subjects {
            subject.agree();
        }
    }

    /// Waits until something is so for all informers; if it is not so in time, for which.
    async fn until(&mut self, patience: Duration, is_so: impl Fn(&Subject) -> bool) -> Option<usize> {
        let end = Instant::now() + patience;
        let mut pause = Duration::from_millis(1);
        loop {
            self.look();
            if self.ground.violation().is_some() {
                return None;
            }
            // Whoever has just become so may have told others something to do.
            turns(20).await;
            let late = self.subjects.iter().position(|subject| !is_so(subject));
            if late.is_none() || Instant::now() >= end {
                return late;
            }
            tokio::time::sleep(pause).await;
            // Not in step with anybody who comes round every few seconds.
            pause = (pause * 2).min(Duration::from_millis(1_700));
        }
    }

    /// Ends everything, and looks what is left.
    async fn end(&mut self) {
        for subject in &mut self.subjects {
            subject.release();
        }
        if let Some(busy) = self.until(REST, Subject::is_at_rest).await {
            return self.subjects[busy].is_not_at_rest();
        }
        for subject in std::mem::take(&mut self.subjects) {
            if tokio::time::timeout(REST, subject.stop()).await.is_err() {
                return self.ground.violated(11, "an informer does not stop");
            }
        }
        turns(20).await;
        let left = alive();
        if left > self.tasks {
            self.ground.violated(
                11,
                format!("{} tasks are left when all have stopped", left - self.tasks),
            );
        }
        // Whatever would still happen has all the time in the world.
        self.pause(Duration::from_hours(1)).await;
    }

    /// Whether anybody asked more than is polite.
    fn look_at_requests(&mut self) {
        let requests = self.server.requests();
        self.server.forget_requests();
        let faults = requests
            .iter()
            .filter(|request| !request.faults.is_empty())
            .count();
        self.ground.counts.lock().faults += faults as u64;
        let begins = |request: &&Arc<kube_embedded::Request>| {
            request.resource == RESOURCE && request.param("continue").is_none()
        };
        let sources: usize = self.plan.informers.iter().map(sources).sum();
        // Each that begins anew may ask as one that has just come.
        let most = MOST_REQUESTS * sources + 3 * (self.names - self.plan.informers.len());
        for request in requests.iter().filter(begins) {
            let at = request.at;
            self.asked.push_back(at);
            while self
                .asked
                .front()
                .is_some_and(|first| at.duration_since(*first) >= WINDOW)
            {
                self.asked.pop_front();
            }
            let asked = self.asked.len();
            let mut counts = self.ground.counts.lock();
            counts.busiest = counts.busiest.max(asked.div_ceil(sources) as u64);
            drop(counts);
            if asked > most {
                self.ground.violated(
                    9,
                    format!("{asked} requests of {sources} reflectors in {WINDOW:?}"),
                );
            }
        }
    }
}

/// How many reflectors an informer has.
fn sources(plan: &crate::plan::InformerPlan) -> usize {
    match &plan.selection {
        Selection::Namespaces(namespaces) => namespaces.len(),
        Selection::Everything | Selection::Chosen => 1,
    }
}

/// Lets every task that can go on do so, a few times.
async fn turns(count: u32) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}
