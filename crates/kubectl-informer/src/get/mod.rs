//! `get`: queries an indexed cache, once or at a prompt.

mod printer;
mod prompt;
mod query;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use self::printer::ObjectPrinter;
use self::query::{By, IndexDefinition, Query};
use crate::cache::{Cache, ConnectionMonitor, RequestedResource, Selection, resolve};
use crate::cluster;
use crate::failure::{Failure, Outcome};
use crate::print::Output;
use crate::print::columns::columns_of;
use crate::print::messages::Messages;

const EXAMPLES: &str = "\
Examples:
  # The pods on a node, by an index of your own
  kubectl-informer get pods -A --index node=.spec.nodeName --by node=north

  # The deployments that use an image; [*] is every element of a list
  kubectl-informer get deploy --index image=.spec.template.spec.containers[*].image --by image=web:1.27

  # Two indexes, both must fit; a dot that belongs to a name is written \\.
  kubectl-informer get pods --index node=.spec.nodeName --index 'app=.metadata.labels.app\\.kubernetes\\.io/name' \\
      --by node=north --by app=shop

  # Ask again and again, of a cache that stays live
  kubectl-informer get pods -A --index node=.spec.nodeName --prompt
";

/// Get objects from a cache with indexes by any field: once, or at a prompt while the cache stays live.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// What to get: any name that kubectl knows, as in pods, deploy or pod/web-1.
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// Only the object of this name.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only objects that an index has under a value, as in node=north; several must all fit.
    #[arg(long, value_name = "INDEX=VALUE")]
    by: Vec<By>,
    /// An index by the values of a field, as in node=.spec.nodeName; may be given several times.
    #[arg(long, value_name = "INDEX=PATH")]
    index: Vec<IndexDefinition>,
    /// Ask for queries, line by line, of a cache that stays live. Also reads them from a pipe.
    #[arg(long, short = 'i')]
    prompt: bool,
    #[command(flatten)]
    selection: Selection,
    /// How to print objects.
    #[arg(long, short, value_enum, default_value = "table")]
    output: Output,
    #[command(flatten)]
    cluster: cluster::Options,
}

impl Options {
    /// Whether the command reads queries from a prompt.
    pub(crate) fn is_interactive(&self) -> bool {
        self.prompt
    }
}

/// Runs one query, or reads queries from the prompt.
pub(crate) async fn run(options: Options) -> Outcome {
    let query = query_of(&options)?;
    let client = options.cluster.client().await?;
    let asked = resolve(&client, &options.cluster, std::slice::from_ref(&options.resource)).await?;
    let [asked] = asked.as_slice() else {
        return Err(Failure::usage("get takes one resource; watch takes several"));
    };
    let name = match (&asked.name, &options.name) {
        (Some(name), Some(other)) if name != other => {
            return Err(Failure::usage("two names were given; name one object, or none"));
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
fn query_of(options: &Options) -> Outcome<Query> {
    for by in &options.by {
        if !options.index.iter().any(|index| index.name() == by.index) {
            let name = &by.index;
            return Err(Failure::usage(format!(
                "--by {name}={} needs an index of that name: add --index {name}=PATH, as in --index node=.spec.nodeName",
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
