//! `watch`: prints the objects of resources, then every change.

mod change;
mod printer;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::stream::{BoxStream, SelectAll, select_all};
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube_informer::{Event, WatchedResource};

use self::change::changes;
use self::printer::{ChangePrinter, WatchedKind};
use crate::cache::{
    AllFields, Cache, ConnectionMonitor, JsonObject, Metadata, ObjectForm, RequestedResource, Selection,
    TypedFields, grouped, resolve,
};
use crate::failure::Outcome;
use crate::print::colour::ColourOptions;
use crate::print::columns::{columns_of, name_and_age};
use crate::print::messages::Messages;
use crate::print::table::Table;
use crate::print::{Output, objects};
use crate::{cluster, duration};

const EXAMPLES: &str = "\
Examples:
  # The pods of the current namespace, then their changes
  kubectl-informer watch pods

  # Only the changes of pods and deployments in all namespaces
  kubectl-informer watch pods,deploy -A --changes-only

  # One object
  kubectl-informer watch deploy/web

  # The decisions of the scheduler
  kubectl-informer watch pods -A | grep --line-buffered spec.nodeName

  # Every change as a line of JSON, as {\"type\": \"MODIFIED\", \"object\": {...}}
  kubectl-informer watch pods -o json | jq -r '[.type, .object.metadata.name] | @tsv'

In the table, + means added, ~ changed, - deleted, and = repeated by a resync (--resync).
";

/// Watch resources: print a table of all objects, then every change with the fields that differ.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WatchOptions {
    /// Resources to watch, by any name that kubectl accepts: pods, deploy, ingresses.networking.k8s.io, pod/web-1.
    #[arg(value_name = "RESOURCE", required = true)]
    resources: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Output format. json prints one change per line, yaml one per document, each with the type of the
    /// change.
    #[arg(long, short, value_enum, default_value = "table")]
    output: Output,
    /// Leave out the initial objects.
    #[arg(long)]
    changes_only: bool,
    /// Interval after which every object of the cache is repeated, at least one second.
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    resync: Duration,
    /// Only fetch metadata.
    #[arg(long)]
    metadata_only: bool,
    #[command(flatten)]
    colours: ColourOptions,
    #[command(flatten)]
    cluster: cluster::ClusterOptions,
}

/// Prints objects and changes until it is dropped.
pub(crate) async fn run(options: WatchOptions) -> Outcome {
    let client = options.cluster.client().await?;
    let asked = resolve(&client, &options.cluster, &options.resources).await?;
    let is_pods = |asked: &RequestedResource| asked.resource.to_string() == "pods";
    // Names are part of the metadata.
    if options.metadata_only || options.output == Output::Name {
        watch::<Metadata>(&client, &asked, &options).await
    } else if matches!(options.output, Output::Table | Output::Wide) && asked.iter().all(is_pods) {
        // Pods are usually the most numerous objects, and protobuf is cheaper.
        watch::<TypedFields<Pod>>(&client, &asked, &options).await
    } else {
        watch::<AllFields>(&client, &asked, &options).await
    }
}

async fn watch<S: ObjectForm>(
    client: &Client,
    asked: &[RequestedResource],
    options: &WatchOptions,
) -> Outcome {
    let messages = Arc::new(Messages::new());
    let connection = Arc::new(ConnectionMonitor::new(Arc::clone(&messages)));
    let caches: Vec<Cache<S>> = asked
        .iter()
        .map(|asked| Cache::new(client, asked, &options.selection, options.resync, &connection))
        .collect();
    for cache in &caches {
        cache.informer.start()?;
    }
    let mut kinds = Vec::new();
    for one in asked {
        kinds.push(watched_kind::<S>(client, one, asked.len() > 1, options).await);
    }
    let mut printer = ChangePrinter::new(options.output, options.colours.painter(), kinds);
    let mut streams = Vec::new();
    let mut objects = 0;
    for (kind, cache) in caches.iter().enumerate() {
        cache.synced(&messages).await?;
        let (present, changes) = changes(&cache.informer).await?;
        objects += present.len();
        if !options.changes_only {
            printer.initial(kind, present)?;
        }
        streams.push(changes.map(move |change| (kind, change)).boxed());
    }
    if objects == 0 || options.changes_only {
        messages.print(&waiting(objects));
    }
    follow(printer, select_all(streams)).await
}

/// Prints changes as they arrive, and writes buffered output whenever none is pending.
async fn follow<S: ObjectForm>(
    mut printer: ChangePrinter,
    mut changes: SelectAll<BoxStream<'static, (usize, Event<JsonObject<S>>)>>,
) -> Outcome {
    loop {
        let next = if let Some(next) = changes.next().now_or_never() {
            next
        } else {
            printer.flush()?;
            changes.next().await
        };
        let Some((kind, change)) = next else {
            return printer.flush();
        };
        printer.change(kind, &change)?;
    }
}

async fn watched_kind<S: ObjectForm>(
    client: &Client,
    asked: &RequestedResource,
    is_one_of_several: bool,
    options: &WatchOptions,
) -> WatchedKind {
    let resource = asked.resource.clone();
    let columns = if S::METADATA {
        name_and_age()
    } else {
        columns_of(client, &resource).await
    };
    let prefix = if is_one_of_several {
        objects::prefix(&resource)
    } else {
        String::new()
    };
    let with_namespace = options.selection.all_namespaces && resource.is_namespaced();
    WatchedKind {
        table: Table::new(columns, options.output == Output::Wide, prefix, with_namespace),
        names: WatchedResource::of::<JsonObject<S>>(resource.api_resource(), []),
        resource,
    }
}

/// Returns a message for the time until the first change.
fn waiting(objects: usize) -> String {
    match objects {
        0 => "no objects yet; waiting for changes".to_owned(),
        1 => "1 object; waiting for changes".to_owned(),
        objects => format!("{} objects; waiting for changes", grouped(objects as u64)),
    }
}
