//! `watch`: what is there, and then every change as it happens.

mod change;
mod show;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::stream::{BoxStream, SelectAll, select_all};
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube_informer::{Event, WatchedResource};

use self::change::changes;
use self::show::{Show, Shown};
use crate::cache::{Any, As, Asked, Cache, Contact, Metadata, Selection, Shape, Whole, grouped, resolve};
use crate::failure::Outcome;
use crate::print::colour::ColourOptions;
use crate::print::columns::{columns_of, name_and_age};
use crate::print::notes::Notes;
use crate::print::table::Table;
use crate::print::{Output, objects};
use crate::{cluster, duration};

const EXAMPLES: &str = "\
Examples:
  # The pods of the current namespace, then what happens to them
  kubectl-informer watch pods

  # Pods and deployments of all namespaces, only what changes
  kubectl-informer watch pods,deploy -A --changes-only

  # One object
  kubectl-informer watch deploy/web

  # What the scheduler decides
  kubectl-informer watch pods -A | grep --line-buffered spec.nodeName

  # Every change as a line of JSON, as {\"type\": \"MODIFIED\", \"object\": {...}}
  kubectl-informer watch pods -o json | jq -r '[.type, .object.metadata.name] | @tsv'

In the table, + is new, ~ has changed, - is gone, and = is repeated by a resync (--resync).
";

/// Watch resources: a table of what is there, then every change with the fields that differ.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// What to watch: any names that kubectl knows, as in pods, deploy, ingresses.networking.k8s.io, or pod/web-1.
    #[arg(value_name = "RESOURCE", required = true)]
    resources: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// How to print objects. json prints one change a line, yaml one a document, each with the type of the change.
    #[arg(long, short, value_enum, default_value = "table")]
    output: Output,
    /// Leave out what is there at the beginning.
    #[arg(long)]
    changes_only: bool,
    /// Repeat every object from the cache after this time, as informers do for their handlers; at least a second.
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    resync: Duration,
    /// Ask the server for the metadata of objects only: much smaller, and blind for everything else.
    #[arg(long)]
    metadata_only: bool,
    #[command(flatten)]
    colours: ColourOptions,
    #[command(flatten)]
    cluster: cluster::Options,
}

/// Watches until nobody wants to see more.
pub(crate) async fn run(options: Options) -> Outcome {
    let client = options.cluster.client().await?;
    let asked = resolve(&client, &options.cluster, &options.resources).await?;
    let is_pods = |asked: &Asked| asked.resource.to_string() == "pods";
    // A name is all that would be shown.
    if options.metadata_only || options.output == Output::Name {
        watch::<Metadata>(&client, &asked, &options).await
    } else if matches!(options.output, Output::Table | Output::Wide) && asked.iter().all(is_pods) {
        // There are more of them than of anything else.
        watch::<As<Pod>>(&client, &asked, &options).await
    } else {
        watch::<Any>(&client, &asked, &options).await
    }
}

async fn watch<S: Shape>(client: &Client, asked: &[Asked], options: &Options) -> Outcome {
    let notes = Arc::new(Notes::new());
    let contact = Arc::new(Contact::new(Arc::clone(&notes)));
    let caches: Vec<Cache<S>> = asked
        .iter()
        .map(|asked| Cache::new(client, asked, &options.selection, options.resync, &contact))
        .collect();
    for cache in &caches {
        cache.informer.start()?;
    }
    let mut kinds = Vec::new();
    for one in asked {
        kinds.push(shown::<S>(client, one, asked.len() > 1, options).await);
    }
    let mut show = Show::new(options.output, options.colours.paint(), kinds);
    let mut streams = Vec::new();
    let mut objects = 0;
    for (kind, cache) in caches.iter().enumerate() {
        cache.synced(&notes).await?;
        let (present, changes) = changes(&cache.informer).await?;
        objects += present.len();
        if !options.changes_only {
            show.present(kind, present)?;
        }
        streams.push(changes.map(move |change| (kind, change)).boxed());
    }
    if objects == 0 || options.changes_only {
        notes.say(&waiting(objects));
    }
    follow(show, select_all(streams)).await
}

/// Shows changes as they come; in between, everything that was written is to be seen.
async fn follow<S: Shape>(
    mut show: Show,
    mut changes: SelectAll<BoxStream<'static, (usize, Event<Whole<S>>)>>,
) -> Outcome {
    loop {
        let next = if let Some(next) = changes.next().now_or_never() {
            next
        } else {
            show.flush()?;
            changes.next().await
        };
        let Some((kind, change)) = next else {
            return show.flush();
        };
        show.change(kind, &change)?;
    }
}

async fn shown<S: Shape>(
    client: &Client,
    asked: &Asked,
    is_one_of_several: bool,
    options: &Options,
) -> Shown {
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
    Shown {
        table: Table::new(columns, options.output == Output::Wide, prefix, with_namespace),
        names: WatchedResource::of::<Whole<S>>(resource.api_resource(), []),
        resource,
    }
}

/// Why nothing is to be seen yet.
fn waiting(objects: usize) -> String {
    match objects {
        0 => "nothing is there yet; waiting for changes".to_owned(),
        1 => "1 object is there; waiting for changes".to_owned(),
        objects => format!(
            "{} objects are there; waiting for changes",
            grouped(objects as u64)
        ),
    }
}
