//! The caches behind `watch` and `get`: an informer for each resource, packed, that tells how it is getting on.

mod contact;
mod source;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use kube::Client;
use kube_informer::{ApiListWatch, CacheFormat, DiscoveredResource, Discovery, Selector, SharedInformer};

pub(crate) use self::contact::Contact;
use self::source::Watched;
pub(crate) use self::source::{Tally, grouped};
pub(crate) use self::whole::{Any, As, Metadata, Shape, Whole};
use crate::cluster;
use crate::failure::{Failure, Outcome};
use crate::print::notes::Notes;

/// The flags that say which objects are meant.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Which objects")]
#[group(skip)]
pub(crate) struct Selection {
    /// All namespaces, whatever --namespace says.
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
    /// Only objects with these labels, as in app=web,tier!=cache.
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = selector)]
    pub(crate) selector: Option<Selector>,
    /// Only objects with these fields, as in spec.nodeName=north; the server says which fields it knows.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,
}

/// Reads a label selector.
pub(crate) fn selector(text: &str) -> Result<Selector, String> {
    text.parse::<Selector>()
        .map_err(|error| format!("{error}; write it as app=web, tier!=cache, env in (a, b) or !canary"))
}

/// A resource that was asked for by any of its names, and maybe one object of it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) resource: DiscoveredResource,
    pub(crate) name: Option<String>,
}

/// What the words of a command line mean: `pods deploy`, `pods,deploy`, `pod/web-1`.
pub(crate) async fn resolve(
    client: &Client,
    options: &cluster::Options,
    words: &[String],
) -> Outcome<Vec<Asked>> {
    let discovery = async { Ok(Discovery::ask(client).await?) };
    let discovery = options.in_time(discovery).await?;
    let mut asked: Vec<Asked> = Vec::new();
    for word in words.iter().flat_map(|words| words.split(',')) {
        let (word, name) = match word.split_once('/') {
            Some((word, name)) => (word, Some(name.to_owned())),
            None => (word, None),
        };
        if word.is_empty() || name.as_deref() == Some("") {
            return Err(Failure::usage(
                "a resource is missing: write pods, pods,deploy or pod/web-1",
            ));
        }
        let resource = discovery.resolve(word)?.clone();
        let twice = |known: &Asked| known.resource == resource && known.name == name;
        if !asked.iter().any(twice) {
            asked.push(Asked { resource, name });
        }
    }
    Ok(asked)
}

/// A cache of one resource that was not started yet.
pub(crate) struct Cache<S: Shape> {
    pub(crate) informer: SharedInformer<Whole<S>>,
    /// What has come so far.
    pub(crate) tally: Arc<Tally>,
    pub(crate) contact: Arc<Contact>,
}

impl<S: Shape> Cache<S> {
    pub(crate) fn new(
        client: &Client,
        asked: &Asked,
        selection: &Selection,
        resync: Duration,
        contact: &Arc<Contact>,
    ) -> Cache<S> {
        let kind = asked.resource.api_resource();
        let namespace = namespace(client, &asked.resource, selection);
        let mut api = ApiListWatch::<Whole<S>>::new(client.clone(), kind, namespace.as_deref());
        if let Some(selector) = &selection.selector {
            api = api.labels(selector);
        }
        let by_name = asked.name.iter().map(|name| format!("metadata.name={name}"));
        let fields: Vec<_> = selection.field_selector.iter().cloned().chain(by_name).collect();
        if !fields.is_empty() {
            api = api.fields(fields.join(","));
        }
        let tally = Arc::new(Tally::default());
        let name = asked.resource.to_string();
        let source = Watched::new(api, &name, Arc::clone(&tally), Arc::clone(contact));
        let failures = Arc::clone(contact);
        let informer = SharedInformer::builder_from(source, kind.clone())
            .namespace(namespace.unwrap_or_default())
            .resync(resync)
            .cache_format(CacheFormat::Packed)
            .watch_error_handler(move |error| failures.told(&name, error))
            .build();
        Cache {
            informer,
            tally,
            contact: Arc::clone(contact),
        }
    }

    /// Waits for the first full list, and says meanwhile how far it is. Fails if there is no hope of one.
    pub(crate) async fn synced(&self, notes: &Notes) -> Outcome {
        let resource = self.informer.resource().group_resource();
        let result = tokio::select! {
            biased;
            synced = self.informer.synced() => synced.map_err(Failure::from),
            error = self.contact.hopeless() => Err(error.into()),
            () = self.tally.report(&resource, notes) => Ok(()),
        };
        notes.clear();
        if result.is_ok() {
            self.contact.synced(&resource);
        }
        result
    }
}

/// The namespace to look at, if it is one.
fn namespace(client: &Client, resource: &DiscoveredResource, selection: &Selection) -> Option<String> {
    let one = resource.is_namespaced() && !selection.all_namespaces;
    one.then(|| client.default_namespace().to_owned())
}
