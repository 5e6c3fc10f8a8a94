//! `get`: queries an indexed cache, once or at a prompt.

mod printer;
mod prompt;
mod query;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use self::printer::ObjectPrinter;
use self::query::{IndexDefinition, IndexLookup, Query};
use crate::cache::{Cache, ConnectionMonitor, RequestedResource, Selection, resolve};
use crate::cluster;
use crate::failure::{Failure, Outcome};
use crate::print::Output;
use crate::print::columns::columns_of;
use crate::print::messages::Messages;

const EXAMPLES: &str = "\
Examples:
  # The pods of a node, using an index
  kubectl-informer get pods -A --index node=.spec.nodeName --by node=north

  # The deployments that use an image; [*] selects all elements of a list
  kubectl-informer get deploy --index image=.spec.template.spec.containers[*].image --by image=web:1.27

  # Two indexes, both must match; escape a dot that is part of a name as \\.
  kubectl-informer get pods --index node=.spec.nodeName --index 'app=.metadata.labels.app\\.kubernetes\\.io/name' \\
      --by node=north --by app=shop

  # Run several queries against the same cache
  kubectl-informer get pods -A --index node=.spec.nodeName --prompt
";

/// Query a cache with indexes by any field, once or at a prompt.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetOptions {
    /// Resource to get, by any name that kubectl accepts: pods, deploy, pod/web-1.
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// Name of a single object.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only objects that an index lists under a value, for example node=north; if repeated, all must match.
    #[arg(long, value_name = "INDEX=VALUE")]
    by: Vec<IndexLookup>,
    /// Index by the values of a field, for example node=.spec.nodeName; can be given several times.
    #[arg(long, value_name = "INDEX=PATH")]
    index: Vec<IndexDefinition>,
    /// Read queries from a prompt or a pipe while the cache is kept up to date.
    #[arg(long, short = 'i')]
    prompt: bool,
    #[command(flatten)]
    selection: Selection,
    /// How to print objects.
    #[arg(long, short, value_enum, default_value = "table")]
    output: Output,
    #[command(flatten)]
    cluster: cluster::ClusterOptions,
}

impl GetOptions {
    /// Returns whether the command reads queries from a prompt.
    pub(crate) fn is_interactive(&self) -> bool {
        self.prompt
    }
}

/// Runs one query, or reads queries from the prompt.
pub(crate) async fn run(options: GetOptions) -> Outcome {
    let query = query_of(&options)?;
    let client = options.cluster.client().await?;
    let asked = resolve(&client, &options.cluster, std::slice::from_ref(&options.resource)).await?;
    let [asked] = asked.as_slice() else {
        return Err(Failure::usage("get accepts only one resource"));
    };
    let name = match (&asked.name, &options.name) {
        (Some(name), Some(other)) if name != other => {
            return Err(Failure::usage("conflicting names: give at most one"));
        }
        (name, other) => name.as_ref().or(other.as_ref()).cloned(),
    };
    // Without a prompt, only the named object is needed.
    let fetched = RequestedResource {
        name: name.clone().filter(|_| !options.prompt),
        ..asked.clone()
    };
    let messages = Arc::new(Messages::new());
    let connection = Arc::new(ConnectionMonitor::new(Arc::clone(&messages)));
    let cache = Cache::new(&client, &fetched, &options.selection, Duration::ZERO, &connection);
    for index in &options.index {
        index.add_to(&cache.informer)?;
    }
    cache.informer.start()?;
    let columns = columns_of(&client, &asked.resource).await;
    cache.synced(&messages).await?;
    let with_namespace = options.selection.all_namespaces && asked.resource.is_namespaced();
    let printer = ObjectPrinter::new(asked.resource.clone(), columns, with_namespace, options.output);
    let query = Query { name, ..query };
    if options.prompt {
        return prompt::run(&cache.informer, printer, messages).await;
    }
    let found = query.run(&cache.informer)?;
    if found.is_empty() {
        if let Some(name) = &query.name {
            return Err(Failure::new(format!("{} {name:?} not found", asked.resource)));
        }
        messages.print("No resources found.");
    }
    printer.print(options.output, query.name.is_some(), found)
}

/// Returns the query of the command line.
fn query_of(options: &GetOptions) -> Outcome<Query> {
    for by in &options.by {
        if !options.index.iter().any(|index| index.name() == by.index) {
            let name = &by.index;
            return Err(Failure::usage(format!(
                "unknown index {name:?} in --by {name}={}: add --index {name}=PATH, for example --index node=.spec.nodeName",
                by.value
            )));
        }
    }
    let mut names: Vec<_> = options.index.iter().map(IndexDefinition::name).collect();
    names.sort_unstable();
    let repeated = names
        .iter()
        .zip(names.iter().skip(1))
        .find(|(one, next)| one == next);
    if let Some((name, _)) = repeated {
        return Err(Failure::usage(format!("duplicate index {name:?}")));
    }
    Ok(Query {
        by: options.by.clone(),
        ..Query::default()
    })
}
