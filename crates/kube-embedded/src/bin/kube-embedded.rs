//! The embedded API server as a program of its own, for people of any language.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use kube_embedded::Server;

/// A Kubernetes API server in one small process, for tests and demos. It keeps everything in memory and serves until
/// Ctrl-C (or SIGTERM).
#[derive(Debug, Parser)]
#[command(version, about)]
struct Options {
    /// Write a kubeconfig here once the server is ready. It is removed when the server stops.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Loopback port to listen on, for HTTP and HTTPS alike; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Load manifests (YAML or JSON, several documents allowed) before serving.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    load: Vec<PathBuf>,
    /// How many changes each resource remembers for watches.
    #[arg(long, default_value_t = 10_000, value_name = "CHANGES")]
    history: usize,
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kube-embedded: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder()
        .port(options.port)
        .history(options.history)
        .start()
        .await?;
    for file in &options.load {
        let loaded = server.load_file(file)?;
        println!("loaded {loaded} objects from {}", file.display());
    }
    println!(
        "serving Kubernetes {} on {} and {}",
        kube_embedded::KUBERNETES_VERSION,
        server.url(),
        server.http_url()
    );
    if let Some(path) = &options.kubeconfig {
        server.write_kubeconfig(path)?;
        println!(
            "kubeconfig written: KUBECONFIG={} kubectl get namespaces",
            path.display()
        );
    }
    stop_signal().await?;
    if let Some(path) = &options.kubeconfig {
        // Its server is gone; a leftover would only mislead. If someone else removed it already, all the better.
        let _ = std::fs::remove_file(path);
    }
    server.stop().await;
    Ok(())
}

async fn stop_signal() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
