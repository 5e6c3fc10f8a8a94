//! The command line of the simulator.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use clap::Parser;
use parking_lot::Mutex;
use sim::{Counts, Plan, play, shrink};

/// Play seeded plans of writes and faults against the library, and check its contract
#[derive(Debug, Parser)]
#[command(name = "sim")]
struct Arguments {
    /// Number of seeds to play
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Play one seed and print its log
    #[arg(long, value_name = "SEED")]
    replay: Option<u64>,
    /// Continue after failures, and print one line for each
    #[arg(long)]
    keep_going: bool,
    /// Play every seed twice, and compare the logs
    #[arg(long)]
    twice: bool,
    /// Print a failure without making its plan shorter
    #[arg(long)]
    no_shrink: bool,
}

fn main() -> ExitCode {
    let cli = Arguments::parse();
    if let Some(seed) = cli.replay {
        return print_run(&Plan::draw(seed));
    }
    if cli.twice {
        return play_twice(&cli);
    }
    let began = tokio::time::Instant::now();
    let (failed, counts) = play_all(&cli);
    let took = began.elapsed();
    let Some(seed) = failed else {
        print_summary(&cli, counts, took);
        return ExitCode::SUCCESS;
    };
    println!("seed {seed} failed after {:.1} s", took.as_secs_f64());
    let plan = Plan::draw(seed);
    let plan = if cli.no_shrink { plan } else { shrink(&plan) };
    println!("plan with {} steps:\n", plan.steps.len());
    print_run(&plan);
    println!("\nreplay the whole plan with: cargo xtask sim --replay {seed}");
    ExitCode::FAILURE
}

fn play_twice(cli: &Arguments) -> ExitCode {
    let mut different = 0;
    for seed in cli.from..cli.from + cli.seeds {
        let [one, other] = [(); 2].map(|()| play(&Plan::draw(seed), true).log);
        if let Some(at) = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at)) {
            different += 1;
            let line = |log: &[String]| log.get(at).cloned().unwrap_or_else(|| "(end)".to_owned());
            println!("seed {seed}, line {at}:\n{}\n{}", line(&one), line(&other));
        }
    }
    println!("{} seeds twice: {different} differ", cli.seeds);
    if different > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Runs all seeds on all CPUs. Returns the lowest seed that failed, and the counters.
fn play_all(cli: &Arguments) -> (Option<u64>, Counts) {
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
                    let outcome = play(&Plan::draw(seed), false);
                    counts.lock().add(outcome.counts);
                    if let Some(finding) = outcome.finding {
                        if cli.keep_going {
                            println!("seed {seed}: {finding}");
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

fn print_summary(cli: &Arguments, counts: Counts, took: Duration) {
    println!(
        "{} seeds from {} in {:.1} s: {} steps, {} writes, {} requests with faults, {} relists, {} events, \
         {} reconciles, {} waits, {} checks; at most {} requests of a reflector in 10 s",
        cli.seeds,
        cli.from,
        took.as_secs_f64(),
        counts.steps,
        counts.writes,
        counts.faults,
        counts.relists,
        counts.events,
        counts.reconciles,
        counts.waits,
        counts.checks,
        counts.busiest,
    );
}

fn print_run(plan: &Plan) -> ExitCode {
    let outcome = play(plan, true);
    for line in &outcome.log {
        println!("{line}");
    }
    if let Some(finding) = outcome.finding {
        println!("\n{finding}");
        return ExitCode::FAILURE;
    }
    println!("\nno violation of the contract");
    ExitCode::SUCCESS
}
