//! The caches of `watch` and `get`: a packed informer for each resource, with progress messages.

mod connection;
mod json_object;
mod source;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use kube::Client;
use kube_informer::{
    CacheFormat, Selector, SharedInformer,
    discovery::{DiscoveredResource, Discovery},
    source::ApiListWatch,
};

pub(crate) use self::connection::ConnectionMonitor;
pub(crate) use self::json_object::{AllFields, JsonObject, Metadata, ObjectForm, TypedFields};
use self::source::ObservedListWatch;
pub(crate) use self::source::{ListProgress, grouped};
use crate::cluster;
use crate::failure::{Failure, Outcome};
use crate::print::messages::Messages;

/// Flags that select objects.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Object selection")]
#[group(skip)]
pub(crate) struct Selection {
    /// All namespaces; overrides --namespace.
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
    /// Only objects with these labels, for example app=web,tier!=cache.
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = selector)]
    pub(crate) selector: Option<Selector>,
    /// Only objects with these fields, for example spec.nodeName=north; supported fields depend on the server.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,
}

/// Parses a label selector.
pub(crate) fn selector(text: &str) -> Result<Selector, String> {
    text.parse::<Selector>().map_err(|error| {
        format!("{error}: expected for example app=web, tier!=cache, env in (a, b) or !canary")
    })
}

/// A resource named on the command line, and optionally the name of one object.
#[derive(Debug, Clone)]
pub(crate) struct RequestedResource {
    pub(crate) resource: DiscoveredResource,
    pub(crate) name: Option<String>,
}

/// Resolves the resources of a command line: `pods deploy`, `pods,deploy`, `pod/web-1`.
pub(crate) async fn resolve(
    client: &Client,
    options: &cluster::ClusterOptions,
    words: &[String],
) -> Outcome<Vec<RequestedResource>> {
    let discovery = async { Ok(Discovery::fetch(client).await?) };
    let discovery = options.in_time(discovery).await?;
    let mut asked: Vec<RequestedResource> = Vec::new();
    for word in words.iter().flat_map(|words| words.split(',')) {
        let (word, name) = match word.split_once('/') {
            Some((word, name)) => (word, Some(name.to_owned())),
            None => (word, None),
        };
        if word.is_empty() || name.as_deref() == Some("") {
            return Err(Failure::usage(
                "missing resource: expected for example pods, pods,deploy or pod/web-1",
            ));
        }
        let resource = discovery.resolve(word)?.clone();
        let is_duplicate = |known: &RequestedResource| known.resource == resource && known.name == name;
        if !asked.iter().any(is_duplicate) {
            asked.push(RequestedResource { resource, name });
        }
    }
    Ok(asked)
}

/// A cache of one resource.
pub(crate) struct Cache<S: ObjectForm> {
    pub(crate) informer: SharedInformer<JsonObject<S>>,
    /// Progress of the current list.
    pub(crate) progress: Arc<ListProgress>,
    pub(crate) connection: Arc<ConnectionMonitor>,
}

impl<S: ObjectForm> Cache<S> {
    pub(crate) fn new(
        client: &Client,
        asked: &RequestedResource,
        selection: &Selection,
        resync: Duration,
        connection: &Arc<ConnectionMonitor>,
    ) -> Cache<S> {
        let kind = asked.resource.api_resource();
        let namespace = namespace(client, &asked.resource, selection);
        let mut api = ApiListWatch::<JsonObject<S>>::new(client.clone(), kind, namespace.as_deref());
        if let Some(selector) = &selection.selector {
            api = api.labels(selector);
        }
        let by_name = asked.name.iter().map(|name| format!("metadata.name={name}"));
        let fields: Vec<_> = selection.field_selector.iter().cloned().chain(by_name).collect();
        if !fields.is_empty() {
            api = api.fields(fields.join(","));
        }
        let progress = Arc::new(ListProgress::default());
        let name = asked.resource.to_string();
        let source = ObservedListWatch::new(api, &name, Arc::clone(&progress), Arc::clone(connection));
        let failures = Arc::clone(connection);
        let informer = SharedInformer::builder_from(source, kind.clone())
            .namespace(namespace.unwrap_or_default())
            .resync(resync)
            .cache_format(CacheFormat::Packed)
            .watch_error_handler(move |error| failures.informer_failed(&name, error))
            .build();
        Cache {
            informer,
            progress,
            connection: Arc::clone(connection),
        }
    }

    /// Waits until the cache has synced, and reports progress. Fails if it can never sync.
    pub(crate) async fn synced(&self, messages: &Messages) -> Outcome {
        let resource = self.informer.resource().group_resource();
        let result = tokio::select! {
            biased;
            synced = self.informer.synced() => synced.map_err(Failure::from),
            error = self.connection.fatal() => Err(error.into()),
            () = self.progress.report(&resource, messages) => Ok(()),
        };
        messages.clear();
        if result.is_ok() {
            self.connection.synced(&resource);
        }
        result
    }
}

/// Returns the namespace to watch, or `None` for all.
fn namespace(client: &Client, resource: &DiscoveredResource, selection: &Selection) -> Option<String> {
    let one = resource.is_namespaced() && !selection.all_namespaces;
    one.then(|| client.default_namespace().to_owned())
}
