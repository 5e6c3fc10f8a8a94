//! `demo`: an embedded API server, a town of workloads on it, a program with informers that watches it, and a dashboard.

mod labour;
mod show;
mod town;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube_embedded::Server;
use kube_informer::dashboard::Dashboard;
use kube_informer::{SharedInformer, SharedInformerFactory};

use crate::stop;
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
    /// Where to write the kubeconfig with which kubectl joins in.
    #[arg(long, value_name = "FILE")]
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
    show.welcome(&server, &dashboard, &kubeconfig);
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
        interrupted = stop::signalled() => interrupted.map(drop).map_err(Into::into),
        () = until(options.seconds) => Ok(()),
    };
    dashboard.stop().await;
    labour.end().await;
    factory.shutdown().await;
    show.farewell(&server);
    // Its server is gone; a leftover would only mislead.
    let _ = std::fs::remove_file(&kubeconfig);
    server.stop().await;
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
