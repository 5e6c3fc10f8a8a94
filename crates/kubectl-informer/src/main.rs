//! `kubectl-informer`: see informers at work.
//!
//! A kubectl plugin by its name (`kubectl informer …`) and a program on its own. `demo` starts an
//! embedded API server, lets a small town of workloads live on it, and shows what happens; `serve` shows a cluster's resources
//! on a dashboard.

mod cluster;
mod demo;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// See Kubernetes informers at work.
#[derive(Debug, Parser)]
#[command(name = "kubectl-informer", version, about)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start an embedded API server with a lively cluster on it, and show what happens. Nothing needs to be installed.
    Demo(demo::Options),
    Serve(serve::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = match Options::parse().command {
        Command::Demo(options) => demo::run(options).await,
        Command::Serve(options) => serve::run(options).await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kubectl-informer: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
