//! `kubectl-informer`: watches, queries and inspects Kubernetes objects through informers.
//!
//! It works as a kubectl plugin (`kubectl informer …`) and as a standalone program: `watch` prints changes,
//! `get` queries an indexed cache, `serve` shows caches on a dashboard, and `demo` (feature `demo`, on by
//! default) needs no cluster.

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

/// Watch, query and inspect Kubernetes objects through informers.
#[derive(Debug, Parser)]
#[command(name = "kubectl-informer", version, about)]
struct ProgramOptions {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start an embedded API server with a simulated cluster, and print its changes. No cluster is needed.
    #[cfg(feature = "demo")]
    Demo(demo::DemoOptions),
    Watch(watch::WatchOptions),
    Get(get::GetOptions),
    Serve(serve::ServeOptions),
    Completions(completions::CompletionsOptions),
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
            Command::Completions(options) => completions::run(&options, ProgramOptions::command()),
        }
    }
}

fn main() -> ExitCode {
    // Not a subcommand, so that completions do not offer it.
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(completions::COMPLETE) {
        let words: Vec<_> = words.collect();
        return exit_with(completions::complete(&words, &ProgramOptions::command()));
    }
    let command = ProgramOptions::parse().command;
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return exit_with(Err(error.into())),
    };
    let outcome = runtime.block_on(command.run());
    // Do not wait for blocking reads of a terminal or a pipe.
    runtime.shutdown_background();
    exit_with(outcome)
}

fn exit_with(outcome: Outcome) -> ExitCode {
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
