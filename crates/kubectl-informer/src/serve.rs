//! `serve`: shows resources of a cluster on a dashboard.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use kube::Client;
use kube_informer::metrics::InformerMetrics;
use kube_informer::metrics::prometheus_client::encoding::text;
use kube_informer::metrics::prometheus_client::registry::Registry;
use kube_informer::{CacheFormat, SharedInformerFactory};
use kube_informer_dashboard::Dashboard;
use kube_informer_dashboard::axum::http::StatusCode;
use kube_informer_dashboard::axum::http::header::CONTENT_TYPE;
use kube_informer_dashboard::axum::response::{IntoResponse, Response};
use kube_informer_dashboard::axum::routing::get;
use parking_lot::Mutex;

use crate::cache::{Selection, resolve};
use crate::failure::{Failure, Outcome, chain};
use crate::{cluster, stop};

const EXAMPLES: &str = "\
Examples:
  # Pods and deployments of the current namespace
  kubectl-informer serve pods deploy

  # Everything that runs, in all namespaces, always at the same address
  kubectl-informer serve pods,deployments,statefulsets,daemonsets,jobs -A --address 127.0.0.1:8090

The page shows how the informers do, and their caches with filters and recent changes. Values of Secrets are not shown.
";

/// Show the caches of resources, and how they are kept up to date, on a dashboard.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeOptions {
    /// Resources to show, by any name that kubectl accepts: pods, deploy, ingresses.networking.k8s.io.
    #[arg(value_name = "RESOURCE", required = true)]
    resources: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Address of the dashboard; port 0 selects a free port. There is no authentication: unless the address
    /// is loopback, anyone who can reach it can see the resources.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "HOST:PORT")]
    address: SocketAddr,
    #[command(flatten)]
    cluster: cluster::ClusterOptions,
}

/// Serves the dashboard until Ctrl-C or SIGTERM.
pub(crate) async fn run(options: ServeOptions) -> Outcome {
    let client = options.cluster.client().await?;
    let asked = resolve(&client, &options.cluster, &options.resources).await?;
    if let Some(one) = asked.iter().find_map(|asked| asked.name.as_ref()) {
        return Err(Failure::usage(format!(
            "cannot serve the single object {one:?}: expected a resource"
        ))
        .with_hint(format!("select it with --field-selector metadata.name={one}")));
    }
    let factory = factory(client, &options);
    for asked in &asked {
        // The factory owns the informer.
        let _ = factory.dynamic(&asked.resource);
    }
    let mut registry = Registry::default();
    InformerMetrics::register(&mut registry).add_factory(&factory);
    let registry = Arc::new(registry);
    let listening = Dashboard::new()
        .factory(&factory)
        .beside("/metrics", get(async move || metrics(&registry)))
        .serve(options.address)
        .await;
    let dashboard =
        listening.map_err(|error| Failure::new(format!("cannot listen on {}: {error}", options.address)))?;
    factory.start();
    let mut out = io::stdout();
    // Handle signals before printing the address: a script may send one as soon as it reads the address.
    let stop = stop::signalled()?;
    writeln!(out, "dashboard: {0}\nmetrics:   {0}metrics", dashboard.url())?;
    if !options.address.ip().is_loopback() {
        eprintln!(
            "warning: anyone who can reach {} can see the dashboard",
            options.address
        );
    }
    stop.await?;
    dashboard.stop().await;
    factory.shutdown().await;
    Ok(())
}

fn factory(client: Client, options: &ServeOptions) -> SharedInformerFactory {
    let namespace = client.default_namespace().to_owned();
    let last_message = Mutex::new(String::new());
    // Objects are read rarely, so keep them small.
    let mut factory = SharedInformerFactory::builder(client)
        .cache_format(CacheFormat::Packed)
        .watch_error_handler(move |error| {
            let message = chain(error);
            let mut last_message = last_message.lock();
            if !error.is_expired() && !error.is_no_streaming_list() && *last_message != message {
                eprintln!("kubectl-informer: {message}");
                *last_message = message;
            }
        });
    if !options.selection.all_namespaces {
        factory = factory.namespace(namespace);
    }
    if let Some(selector) = &options.selection.selector {
        factory = factory.labels(selector);
    }
    if let Some(fields) = &options.selection.field_selector {
        factory = factory.fields(fields);
    }
    factory.build()
}

/// Returns the metrics in Prometheus' text format.
fn metrics(registry: &Registry) -> Response {
    let mut page = String::new();
    match text::encode(&mut page, registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(CONTENT_TYPE, kind)], page).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
