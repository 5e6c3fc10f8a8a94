//! `demo`: an embedded API server with a simulated cluster, informers and controllers that watch it, and a dashboard.

mod cluster;
mod controllers;
mod printer;

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube_embedded::Server;
use kube_informer::{SharedInformer, SharedInformerFactory};
use kube_informer_dashboard::Dashboard;

use self::cluster::DemoCluster;
use self::controllers::{Caches, DemoControllers};
use self::printer::EventPrinter;
use crate::failure::Failure;
use crate::stop::{self, Signal};

type DemoResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Flags of `demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoOptions {
    /// End after this many seconds instead of waiting for Ctrl-C.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Write the kubeconfig for kubectl to this file, and delete it at the end. An existing file that this program did not
    /// write is not overwritten.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    // Other commands read this file. Hidden, so that the error can explain the difference.
    #[arg(long, hide = true)]
    kubeconfig: Option<PathBuf>,
    /// Loopback port of the API server; 0 selects a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Loopback port of the dashboard; 0 selects a free port.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    dashboard_port: u16,
    /// Random seed; the same seed repeats the same events.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Delay between events, in milliseconds.
    #[arg(long, default_value_t = 350, value_name = "MS")]
    pace: u64,
}

/// Runs the demo until Ctrl-C or its time is up.
pub(crate) async fn run(options: DemoOptions) -> Result<(), Failure> {
    if options.kubeconfig.is_some() {
        return Err(
            Failure::usage("--kubeconfig is not supported: the demo reads no kubeconfig")
                .with_hint("use --write-kubeconfig FILE to write one"),
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
    // Handled before the kubeconfig is written, so that a signal never leaves it behind.
    let stop = stop::signalled()?;
    let kubeconfig = server.write_kubeconfig(path)?;
    let result = simulate(&options, &server, kubeconfig.path(), stop).await;
    // A modified file is kept, with a message.
    if let Err(error) = kubeconfig.remove() {
        eprintln!("kubectl-informer: {}", Failure::from(error));
    }
    server.stop().await;
    Ok(result?)
}

/// Runs the cluster, controllers, dashboard and output until the demo ends.
async fn simulate(
    options: &DemoOptions,
    server: &Server,
    kubeconfig: &Path,
    stop: impl Future<Output = io::Result<Signal>>,
) -> DemoResult {
    let client = server.direct_client();
    let mut cluster = DemoCluster::create(client.clone(), options.seed).await?;
    let factory = SharedInformerFactory::new(client);
    let of = |group, version, kind, plural| informer(&factory, group, version, kind, plural);
    let nodes = of("", "v1", "Node", "nodes");
    let caches = Caches {
        pods: of("", "v1", "Pod", "pods"),
        deployments: of("apps", "v1", "Deployment", "deployments"),
        backups: of("demo.example", "v1", "Backup", "backups"),
    };
    // Shown only by the dashboard, which hides the values.
    of("", "v1", "Secret", "secrets");
    let controllers = DemoControllers::start(&caches)?;
    let dashboard = Dashboard::new()
        .factory(&factory)
        .queue(&controllers.deployments)
        .queue(&controllers.backups)
        .serve((Ipv4Addr::LOCALHOST, options.dashboard_port))
        .await?;
    let printer = EventPrinter::new();
    printer.introduction(server, &dashboard, kubeconfig);
    factory.start();

    let pace = Duration::from_millis(options.pace.max(1));
    let result = tokio::select! {
        result = cluster.run(pace) => result,
        result = printer.follow([
            ("Node", &nodes),
            ("Pod", &caches.pods),
            ("Deployment", &caches.deployments),
            ("Backup", &caches.backups),
        ]) => result,
        signal = stop => signal.map(drop).map_err(Into::into),
        () = elapsed(options.seconds) => Ok(()),
    };
    dashboard.stop().await;
    controllers.stop().await;
    factory.shutdown().await;
    printer.summary(server);
    result
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

async fn elapsed(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}
