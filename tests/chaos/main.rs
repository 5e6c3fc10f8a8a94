//! The contract on a real cluster with faults of servers and connections.
//!
//! `KUBE_INFORMER_CHAOS_SEED` determines the faults and the writes, `KUBE_INFORMER_CHAOS_SECONDS` the
//! duration. The timing of the servers varies, so a seed repeats the plan but not the exact history.

mod cluster;
mod handlers;
mod oracle;
mod plan;
mod sorts;
mod subjects;
mod truth;
mod two_servers;
mod writers;

use std::env;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use contract_checker::CacheChecker;
use kube::Client;
use kube_informer::client::watching_client;
use tokio::sync::Mutex;
use tokio::time::{Instant, interval};

use cluster::{ChaosResult, Cluster};
use handlers::Checks;
use oracle::Oracle;
use plan::Disturbance;
use sorts::{NAMES, NAMESPACES};
use subjects::Subject;
use writers::Writers;

/// Number of disturbances between two quiet points.
const HAND: usize = 6;
/// Runs of at least this length start with a server that lags for minutes.
const LONG_RUN: Duration = Duration::from_mins(5);
/// Interval of checks of versions and backlogs.
const LOOK: Duration = Duration::from_millis(5);
/// Objects that are not written by the writers: the markers, and those of the API servers.
const OTHERS: usize = 2 + 10;

/// The tests of this file run one at a time, because each has several servers.
static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real server: cargo xtask chaos"]
async fn contract_holds_while_servers_and_connections_fail() -> ChaosResult {
    let _alone = ALONE.lock().await;
    let seed = given("SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let lasts = Duration::from_secs(given("SECONDS").unwrap_or(45));
    println!("chaos: seed {seed}, at least {lasts:?}");

    let cluster = Cluster::start().await?;
    let checks = Checks::new();
    let config = cluster.server.guest_config(cluster.proxy.address()).await?;
    let client = watching_client(config)?;
    let mut run = Run {
        writers: Writers::start(&cluster.clients, seed),
        subjects: subjects::all(&client, &checks),
        random: fastrand::Rng::with_seed(seed),
        checks,
        client,
        cluster,
    };
    run.subjects.iter().for_each(|subject| subject.start());
    let views = run.subjects.iter().map(|subject| subject.view().clone());
    let mut oracle = Oracle::start(&run.cluster, views).await;
    run.watch_closely();

    let began = Instant::now();
    let mut disturbances = 0;
    if lasts >= LONG_RUN {
        run.disturb(&[Disturbance::LongLag]).await?;
    }
    while disturbances == 0 || began.elapsed() < lasts {
        let deck = Disturbance::shuffled(&mut run.random);
        for hand in deck.chunks(HAND) {
            run.disturb(hand).await?;
            disturbances += hand.len();
            if disturbances >= deck.len() && began.elapsed() >= lasts {
                break;
            }
        }
        run.ask(&mut oracle).await;
    }
    let events = run.checks.events();
    for subject in &run.subjects {
        subject.stop().await;
    }
    run.checks.findings.assert_none();
    let (written, failed) = run.writers.counts();
    let by_oracle = oracle.events().await;
    println!(
        "chaos: {disturbances} disturbances in {:.1?}, {written} writes ({failed} failed), {events} events, {by_oracle} of client-go",
        began.elapsed(),
    );
    Ok(())
}

/// A run and its parts.
struct Run {
    subjects: Vec<Arc<dyn Subject>>,
    writers: Writers,
    random: fastrand::Rng,
    checks: Arc<Checks>,
    client: Client,
    cluster: Cluster,
}

impl Run {
    /// Applies some disturbances, then checks a quiet point. Handlers are added and removed, and an informer
    /// is started and stopped.
    async fn disturb(&mut self, hand: &[Disturbance]) -> ChaosResult {
        let newcomer = subjects::newcomer("config maps, come late", &self.client, &self.checks);
        for (number, disturbance) in hand.iter().enumerate() {
            let began = Instant::now();
            disturbance.apply(&self.cluster, &mut self.random).await?;
            println!("  {disturbance:?}: {:.1?}", began.elapsed());
            if number == hand.len() / 2 {
                newcomer.start();
                for subject in &self.subjects {
                    subject.remove_handler().await;
                    subject.add_handler();
                }
            }
        }
        let began = Instant::now();
        let [client, _] = &self.cluster.clients;
        self.subjects.push(newcomer);
        let compared = truth::check_prefixes(client, &self.subjects, &self.checks.findings).await;
        let _held = self.writers.hold().await;
        truth::check_all(client, &self.subjects, &self.checks.findings).await;
        if let Some(newcomer) = self.subjects.pop() {
            newcomer.stop().await;
        }
        println!(
            "  quiet: {compared} prefixes, all agree after {:.1?}",
            began.elapsed()
        );
        self.checks.findings.assert_none();
        Ok(())
    }

    /// Checks another quiet point, for client-go's informers.
    async fn ask(&self, oracle: &mut Oracle) {
        let asked = Instant::now();
        let _held = self.writers.hold().await;
        oracle.check(&self.cluster, &self.checks.findings).await;
        println!("  client-go agrees after {:.1?}", asked.elapsed());
        self.checks.findings.assert_none();
    }

    /// Checks continuously whether a version goes back (contract 2) or a backlog exceeds the number of
    /// objects (contract 6).
    fn watch_closely(&self) {
        let (subjects, findings) = (self.subjects.clone(), Arc::clone(&self.checks.findings));
        tokio::spawn(async move {
            let checker = |subject: &Arc<dyn Subject>| {
                CacheChecker::new(subject.view().name, &findings, None, Vec::new())
            };
            let mut caches: Vec<CacheChecker> = subjects.iter().map(checker).collect();
            let mut looks = interval(LOOK);
            loop {
                looks.tick().await;
                for (subject, cache) in subjects.iter().zip(&mut caches) {
                    // etcd never loses data, so an older version is always a violation.
                    cache.check_version(subject.version().as_ref(), 0);
                    for (handler, registration) in subject.handlers() {
                        let (backlog, keys) = (registration.backlog(), NAMES * NAMESPACES.len() + OTHERS);
                        if backlog > keys {
                            let message = format_args!("{backlog} events are queued for {keys} objects");
                            findings.add(6, handler.checker.name(), message);
                        }
                    }
                }
            }
        });
    }
}

/// Parses an environment variable of the run.
fn given<T: FromStr>(name: &str) -> Option<T> {
    let variable = format!("KUBE_INFORMER_CHAOS_{name}");
    let value = env::var(&variable).ok()?;
    let number = value.parse().ok();
    assert!(
        number.is_some(),
        "invalid {variable}={value:?}: expected a number"
    );
    number
}
