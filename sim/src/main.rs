//! Plays seeds until one fails, and tells its story.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use clap::Parser;
use kube_informer::planted::Bug;
use parking_lot::Mutex;
use sim::{Counts, Plan, play, shrink};

/// Plays seeded disasters against the library, and checks its contract
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(name = "sim")]
struct Cli {
    /// How many seeds to play
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Play one seed and tell its whole story
    #[arg(long, value_name = "SEED")]
    replay: Option<u64>,
    /// Plant a bug, by its name; `list` shows them
    #[arg(long, value_name = "NAME")]
    bug: Option<String>,
    /// Go on after failures, and only name them
    #[arg(long)]
    keep_going: bool,
    /// Plant every bug, one after the other, and see that each is found in a hundred seeds
    #[arg(long)]
    planted: bool,
    /// Play every seed twice, and see that both tell the same story
    #[arg(long)]
    twice: bool,
    /// Tell a failure as it is, without making it shorter
    #[arg(long)]
    no_shrink: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let bug = match cli.bug.as_deref().map(bug_named) {
        None => None,
        Some(Some(bug)) => Some(bug),
        Some(None) => {
            let names: Vec<String> = Bug::ALL.iter().map(|bug| format!("{bug:?}")).collect();
            println!("bugs: {}", names.join(", "));
            return ExitCode::FAILURE;
        }
    };
    if let Some(seed) = cli.replay {
        return tell(&Plan::draw(seed), bug, true);
    }
    if cli.planted {
        return plant_all(&cli);
    }
    if cli.twice {
        return play_twice(&cli);
    }
    let began = tokio::time::Instant::now();
    let (failed, counts) = play_all(&cli, bug);
    let took = began.elapsed();
    let Some(seed) = failed else {
        report(&cli, counts, took);
        return ExitCode::SUCCESS;
    };
    println!("seed {seed} fails; after {:.1} s", took.as_secs_f64());
    let plan = Plan::draw(seed);
    let plan = if cli.no_shrink { plan } else { shrink(&plan, bug) };
    tell(&plan, bug, false);
    let planted = bug.map_or(String::new(), |bug| format!(" --bug {bug:?}"));
    println!("\nreplay it whole: cargo xtask sim --replay {seed}{planted}");
    ExitCode::FAILURE
}

fn play_twice(cli: &Cli) -> ExitCode {
    let mut different = 0;
    for seed in cli.from..cli.from + cli.seeds {
        let [one, other] = [(); 2].map(|()| play(&Plan::draw(seed), None, true).story);
        if let Some(at) = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at)) {
            different += 1;
            let line = |story: &[String]| story.get(at).cloned().unwrap_or_else(|| "the end".to_owned());
            println!("seed {seed}, line {at}:\n{}\n{}", line(&one), line(&other));
        }
    }
    println!("{} seeds twice, {different} of them differ", cli.seeds);
    if different > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// In so many seeds every planted bug shows itself.
const ENOUGH: u64 = 100;

fn plant_all(cli: &Cli) -> ExitCode {
    let mut missed = 0;
    for bug in Bug::ALL.iter().copied() {
        let seeds = cli.from..cli.from + ENOUGH;
        let mut violations = seeds.filter_map(|seed| {
            let violation = play(&Plan::draw(seed), Some(bug), false).violation?;
            Some((seed - cli.from + 1, violation))
        });
        if let Some((seeds, violation)) = violations.next() {
            println!("{bug:?}: found in {seeds} seeds: {violation}");
        } else {
            missed += 1;
            println!("{bug:?}: NOT FOUND in {ENOUGH} seeds");
        }
    }
    if missed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Plays all seeds on all processors; the lowest that failed, and how much happened.
fn play_all(cli: &Cli, bug: Option<Bug>) -> (Option<u64>, Counts) {
    let next = AtomicU64::new(cli.from);
    let end = cli.from.saturating_add(cli.seeds);
    let failed = Mutex::new(None::<u64>);
    let counts = Mutex::new(Counts::default());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || failed.lock().is_some() {
                        return;
                    }
                    let ended = play(&Plan::draw(seed), bug, false);
                    counts.lock().add(ended.counts);
                    if let Some(violation) = ended.violation {
                        if cli.keep_going {
                            println!("seed {seed}: {violation}");
                            continue;
                        }
                        let mut failed = failed.lock();
                        *failed = Some(failed.map_or(seed, |other| other.min(seed)));
                        return;
                    }
                }
            });
        }
    });
    (failed.into_inner(), counts.into_inner())
}

fn report(cli: &Cli, counts: Counts, took: Duration) {
    println!(
        "{} seeds from {}: the contract held. {:.1} s; {} steps, {} writes, {} requests with faults, {} events, {} \
         reconciles, {} looks at a store; at most {} requests of a reflector in 10 s",
        cli.seeds,
        cli.from,
        took.as_secs_f64(),
        counts.steps,
        counts.writes,
        counts.faults,
        counts.events,
        counts.reconciles,
        counts.looks,
        counts.busiest,
    );
}

fn tell(plan: &Plan, bug: Option<Bug>, is_whole: bool) -> ExitCode {
    let ended = play(plan, bug, true);
    if !is_whole {
        println!(
            "the shortest plan that was found has {} steps:\n",
            plan.steps.len()
        );
    }
    for line in &ended.story {
        println!("{line}");
    }
    if let Some(violation) = ended.violation {
        println!("\n{violation}");
        return ExitCode::FAILURE;
    }
    println!("\nthe contract held");
    ExitCode::SUCCESS
}

fn bug_named(name: &str) -> Option<Bug> {
    Bug::ALL
        .iter()
        .copied()
        .find(|bug| format!("{bug:?}").eq_ignore_ascii_case(name))
}
