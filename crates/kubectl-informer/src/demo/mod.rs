//! `demo`: an embedded API server, a town of workloads on it, a program with informers that watches it, and a dashboard.

mod labour;
mod show;
mod town;

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube_embedded::Server;
use kube_informer::{SharedInformer, SharedInformerFactory};
use kube_informer_dashboard::Dashboard;

use crate::failure::Failure;
use crate::stop::{self, Signal};
use labour::{Caches, Labour};
use show::Show;
use town::Town;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Options of the demo.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// End after this many seconds instead of waiting for Ctrl-C.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Write the kubeconfig for kubectl to this file, and delete it at the end. An existing file that this program did not
    /// write is not overwritten.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    // Elsewhere it names a file to read; here it once named the file to write.
    #[arg(long, hide = true)]
    kubeconfig: Option<PathBuf>,
    /// Loopback port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Loopback port of the dashboard; 0 takes a free one.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    dashboard_port: u16,
    /// The same seed gives the same story.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds between two things that happen.
    #[arg(long, default_value_t = 350, value_name = "MS")]
    pace: u64,
}

/// Runs the demo until Ctrl-C or its time is up.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    if options.kubeconfig.is_some() {
        return Err(
            Failure::usage("--kubeconfig is not supported: the demo reads no kubeconfig")
                .advise("hint: use --write-kubeconfig FILE to write one"),
        );
    }
    let server = Server::builder()
        .port(options.port)
        .seed(options.seed)
        .start()
        .await?;
    let path = options.write_kubeconfig.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("kube-informer-demo-{}.kubeconfig", std::process::id()))
    });
    // Before the kubeconfig is written, so that a signal never leaves it behind.
    let stop = stop::signalled()?;
    let kubeconfig = server.write_kubeconfig(path)?;
    let ended = play(&options, &server, kubeconfig.path(), stop).await;
    // A file that was changed is kept. That is worth a message, and no failure.
    if let Err(error) = kubeconfig.remove() {
        eprintln!("kubectl-informer: {}", Failure::from(error));
    }
    server.stop().await;
    Ok(ended?)
}

/// Everything between the start of the server and its end.
async fn play(
    options: &Options,
    server: &Server,
    kubeconfig: &Path,
    stop: impl Future<Output = io::Result<Signal>>,
) -> Outcome {
    let client = server.direct_client();
    let mut town = Town::found(client.clone(), options.seed).await?;
    let factory = SharedInformerFactory::new(client);
    let of = |group, version, kind, plural| informer(&factory, group, version, kind, plural);
    let nodes = of("", "v1", "Node", "nodes");
    let caches = Caches {
        pods: of("", "v1", "Pod", "pods"),
        deployments: of("apps", "v1", "Deployment", "deployments"),
        backups: of("demo.example", "v1", "Backup", "backups"),
    };
    // Not in the output: it is there to be looked at in the dashboard, which does not show its values.
    of("", "v1", "Secret", "secrets");
    let labour = Labour::begin(&caches)?;
    let dashboard = Dashboard::new()
        .factory(&factory)
        .queue(&labour.deployments)
        .queue(&labour.backups)
        .serve((Ipv4Addr::LOCALHOST, options.dashboard_port))
        .await?;
    let show = Show::open();
    show.welcome(server, &dashboard, kubeconfig);
    factory.start();

    let pace = Duration::from_millis(options.pace.max(1));
    let ended = tokio::select! {
        ended = town.live(pace) => ended,
        ended = show.follow([
            ("Node", &nodes),
            ("Pod", &caches.pods),
            ("Deployment", &caches.deployments),
            ("Backup", &caches.backups),
        ]) => ended,
        interrupted = stop => interrupted.map(drop).map_err(Into::into),
        () = until(options.seconds) => Ok(()),
    };
    dashboard.stop().await;
    labour.end().await;
    factory.shutdown().await;
    show.farewell(server);
    ended
}

fn informer(
    factory: &SharedInformerFactory,
    group: &str,
    version: &str,
    kind: &str,
    plural: &str,
) -> SharedInformer<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, version, kind);
    factory.dynamic(ApiResource::from_gvk_with_plural(&kind, plural))
}

async fn until(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}
