//! `kubectl-informer`: see informers at work.
//!
//! A kubectl plugin by its name (`kubectl informer …`) and a program on its own: `watch` shows what happens in a cluster,
//! `get` queries an indexed cache, `serve` shows caches on a dashboard, and `demo` (feature `demo`, on by default) needs no cluster.

mod cache;
mod cluster;
mod completions;
#[cfg(feature = "demo")]
mod demo;
mod duration;
mod failure;
mod get;
mod print;
mod serve;
mod stop;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::Outcome;

/// See Kubernetes informers at work.
#[derive(Debug, Parser)]
#[command(name = "kubectl-informer", version, about)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start an embedded API server with a simulated cluster, and show its changes. Nothing needs to be installed.
    #[cfg(feature = "demo")]
    Demo(demo::Options),
    Watch(watch::Options),
    Get(get::Options),
    Serve(serve::Options),
    Completions(completions::Options),
}

impl Command {
    async fn run(self) -> Outcome {
        match self {
            #[cfg(feature = "demo")]
            Command::Demo(options) => demo::run(options).await,
            Command::Watch(options) => stop::until_stopped(watch::run(options)).await,
            Command::Get(options) if options.is_interactive() => stop::until_stopped(get::run(options)).await,
            Command::Get(options) => stop::until_answered(get::run(options)).await,
            Command::Serve(options) => serve::run(options).await,
            Command::Completions(options) => completions::run(&options, Options::command()),
        }
    }
}

fn main() -> ExitCode {
    // Not a command like the others, so that completions do not offer it.
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(completions::COMPLETE) {
        let words: Vec<_> = words.collect();
        return ended(completions::complete(&words, &Options::command()));
    }
    let command = Options::parse().command;
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return ended(Err(error.into())),
    };
    let outcome = runtime.block_on(command.run());
    // What still waits for a terminal or a pipe is left behind.
    runtime.shutdown_background();
    ended(outcome)
}

fn ended(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                eprintln!("kubectl-informer: {failure}");
            }
            failure.exit_code().into()
        }
    }
}
