//! `demo`: an embedded API server, a town of workloads on it, and a view of what happens.

mod show;
mod town;

use std::path::PathBuf;
use std::time::Duration;

use kube_embedded::Server;

use show::Show;
use town::Town;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Options of the demo.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// End after this many seconds instead of waiting for Ctrl-C.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Where to write the kubeconfig with which kubectl joins in.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Loopback port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The same seed gives the same story.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds between two things that happen.
    #[arg(long, default_value_t = 350, value_name = "MS")]
    pace: u64,
}

/// Runs the demo until Ctrl-C or its time is up.
pub(crate) async fn run(options: Options) -> Outcome {
    let server = Server::builder()
        .port(options.port)
        .seed(options.seed)
        .start()
        .await?;
    let kubeconfig = options.kubeconfig.unwrap_or_else(|| {
        std::env::temp_dir().join(format!("kube-informer-demo-{}.kubeconfig", std::process::id()))
    });
    server.write_kubeconfig(&kubeconfig)?;

    let client = server.direct_client();
    let mut town = Town::found(client.clone(), options.seed).await?;
    let show = Show::open();
    show.welcome(&server, &kubeconfig);

    let pace = Duration::from_millis(options.pace.max(1));
    let ended = tokio::select! {
        ended = town.live(pace) => ended,
        ended = show.follow(client) => ended,
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(Into::into),
        () = until(options.seconds) => Ok(()),
    };
    show.farewell(&server);
    // Its server is gone; a leftover would only mislead.
    let _ = std::fs::remove_file(&kubeconfig);
    server.stop().await;
    ended
}

async fn until(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}
