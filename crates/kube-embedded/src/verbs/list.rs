//! Reads one object, or a collection at one version.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use kube_wire::protobuf::{Envelope, ListEncoder};
use serde_json::{Value, json};

use super::options::{Continue, ListOptions, RequestedVersion, parse_revision};
use super::view::{View, unwanted_table};
use crate::cluster::Cluster;
use crate::faults::{ObjectFault, ResponseFaults};
use crate::request::{ObjectForm, ObjectPath, Query};
use crate::response::{Body, Chunks, encode};
use crate::status::{Result, Status};
use crate::store::{HistoryCompacted, Key, Snapshot, Stored};

/// Returns an object. Waits for the requested minimum version.
pub(crate) async fn get(cluster: &Cluster, path: &ObjectPath, query: &Query) -> Result<Arc<Stored>> {
    match query.text("resourceVersion") {
        "" | "0" => {}
        text => wait_for_version(cluster, parse_revision(text, false)?).await?,
    }
    find(cluster, path)
}

/// Returns the newest version of an object.
pub(crate) fn find(cluster: &Cluster, path: &ObjectPath) -> Result<Arc<Stored>> {
    let name = path.name.as_deref().unwrap_or_default();
    let key = Key::new(path.namespace.as_deref(), name);
    cluster
        .store
        .get(&path.resource.collection, &key)
        .ok_or_else(|| Status::not_found(path.resource.subject(name)))
}

async fn wait_for_version(cluster: &Cluster, revision: u64) -> Result<()> {
    if cluster
        .store
        .wait_for_revision(revision, cluster.settings.too_large_wait)
        .await
    {
        return Ok(());
    }
    Err(Status::too_large(revision, cluster.store.revision()))
}

/// Lists a collection, or a page of it.
pub(crate) async fn list(
    cluster: &Cluster,
    path: &ObjectPath,
    options: &ListOptions,
    faults: &ResponseFaults,
) -> Result<Page> {
    let requested = path.namespace.as_deref();
    if let Some(other) = faults.other_namespace(requested) {
        let page = list_in(cluster, Some(other), path, options, faults).await?;
        // Clients cannot distinguish an empty list of the other namespace from one of the requested namespace.
        if !page.objects.is_empty() {
            return Ok(page);
        }
    }
    list_in(cluster, requested, path, options, faults).await
}

async fn list_in(
    cluster: &Cluster,
    namespace: Option<&str>,
    path: &ObjectPath,
    options: &ListOptions,
    faults: &ResponseFaults,
) -> Result<Page> {
    let (from, to) = Key::range(namespace);
    let collection = &path.resource.collection;
    let mut range = (from, to);
    let mut version = options.version;
    if let Some(continues) = &options.continues {
        let start = Key::from_text(&continues.start);
        // A continue token cannot select objects of another namespace.
        if !matches!(&range.0, Bound::Included(first) if *first > start) {
            range.0 = Bound::Included(start);
        }
        version = continues
            .revision
            .map_or(RequestedVersion::Newest, RequestedVersion::Exact);
    }
    if let RequestedVersion::NotOlderThan(revision) | RequestedVersion::Exact(revision) = version {
        wait_for_version(cluster, revision).await?;
    }
    if let Some(by) = faults.stale_by {
        version = RequestedVersion::Exact(cluster.store.revision().saturating_sub(by).max(1));
    }
    let snapshot = match version {
        RequestedVersion::Exact(revision) => cluster
            .store
            .list_at(collection, range, revision)
            .map_err(|compacted| expired(options, revision, compacted))?,
        _ => cluster.store.list(collection, range),
    };
    // A real server ignores the limit of a list at version 0.
    let limit = if options.version == RequestedVersion::Any {
        None
    } else {
        options.limit
    };
    Ok(page(snapshot, options, limit))
}

/// Returns the error of a list whose version is no longer in the history.
fn expired(options: &ListOptions, revision: u64, HistoryCompacted(oldest): HistoryCompacted) -> Status {
    let Some(continues) = &options.continues else {
        return Status::too_old(revision, oldest + 1);
    };
    let token = Continue {
        revision: None,
        start: continues.start.clone(),
    }
    .token();
    Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    )
    .with_continue(token)
}

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Stored>>,
    revision: u64,
    continues: Option<String>,
    remaining: Option<usize>,
}

fn page(snapshot: Snapshot, options: &ListOptions, limit: Option<usize>) -> Page {
    let Snapshot {
        mut objects,
        revision,
    } = snapshot;
    let selectors = &options.selectors;
    if !selectors.is_everything() {
        objects.retain(|o| selectors.matches(o));
    }
    let mut page = Page {
        objects,
        revision,
        continues: None,
        remaining: None,
    };
    if let Some(limit) = limit
        && page.objects.len() > limit
    {
        let rest = page.objects.len() - limit;
        page.objects.truncate(limit);
        if let Some(last) = page.objects.last() {
            // The smallest key after the last one.
            let start = format!("{}\0", last.key.as_str());
            page.continues = Some(
                Continue {
                    revision: Some(revision),
                    start,
                }
                .token(),
            );
        }
        // With a selector, the number of remaining objects is unknown.
        page.remaining = selectors.is_everything().then_some(rest);
    }
    page
}

impl Page {
    fn metadata(&self) -> Value {
        let mut metadata = json!({ "resourceVersion": self.revision.to_string() });
        if let Some(token) = &self.continues {
            metadata["continue"] = token.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }

    /// Returns the page as the body of a response.
    pub(crate) fn body(self, view: &View) -> Result<Body> {
        if let Some(body) = self.direct_body(view) {
            return Ok(body);
        }
        if view.is_protobuf() {
            return self.protobuf_body(view);
        }
        Ok(Body::full(encode(&self.value(view), view.representation)?))
    }

    /// Encodes the page as protobuf.
    fn protobuf_body(&self, view: &View) -> Result<Body> {
        let (kind, api_version) = list_kind(view);
        let failed = |error| Status::internal(format!("cannot encode {kind} as protobuf: {error}"));
        let list = ListEncoder::new(&api_version, &kind).map_err(failed)?;
        let mut items = Vec::with_capacity(self.objects.len());
        for object in &self.objects {
            let enveloped = view.protobuf(object)?;
            let message = Envelope::parse(&enveloped).map_err(failed)?;
            items.push(Bytes::from(list.encoded_item(message.raw)));
        }
        let length = items.iter().map(Bytes::len).sum();
        let head = list.head(&self.metadata(), length).map_err(failed)?;
        if let Some(enveloped) = view.fault.enveloped() {
            let whole = [&head[..], &items.concat(), list.tail()].concat();
            return Ok(Body::full(enveloped(&whole)));
        }
        let mut chunks = Chunks::default();
        chunks.extend(&head);
        for item in items {
            chunks.push(item);
        }
        chunks.extend(list.tail());
        Ok(chunks.into_body())
    }

    fn value(&self, view: &View) -> Value {
        if view.fault == ObjectFault::Table {
            return unwanted_table(&self.metadata());
        }
        if view.representation.form == ObjectForm::Table {
            let objects = self.objects.iter().map(|object| view.versioned(object));
            return view.table(|builder| builder.list(&self.metadata(), objects));
        }
        let (kind, api_version) = list_kind(view);
        let typed = view.resource.custom().is_none() && view.representation.form == ObjectForm::Object;
        let items: Vec<Value> = self
            .objects
            .iter()
            .map(|object| {
                let mut item = view.value(object);
                if let (true, ObjectFault::None, Some(fields)) = (typed, view.fault, item.as_object_mut()) {
                    fields.remove("kind");
                    fields.remove("apiVersion");
                }
                item
            })
            .collect();
        let mut list = json!({ "kind": kind, "apiVersion": api_version, "metadata": self.metadata() });
        // The macro would copy the items.
        list["items"] = items.into();
        list
    }

    /// Builds the body from the stored bytes of the objects, if the response consists of them. Large objects are not
    /// copied.
    fn direct_body(&self, view: &View) -> Option<Body> {
        let (kind, api_version) = list_kind(view);
        let metadata = self.metadata();
        let custom = view.resource.custom().is_some() && view.is_direct();
        // A real server has types for the lists of built-in kinds. It sorts the fields of other lists by name.
        let (head, tail) = if custom {
            (
                format!(r#"{{"apiVersion":"{api_version}","items":["#),
                format!("],\"kind\":\"{kind}\",\"metadata\":{metadata}}}\n"),
            )
        } else {
            (
                format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata},"items":["#),
                "]}\n".to_owned(),
            )
        };
        let mut chunks = Chunks::default();
        chunks.extend(head.as_bytes());
        for (at, object) in self.objects.iter().enumerate() {
            if at > 0 {
                chunks.extend(b",");
            }
            if let Some(metadata) = view.direct_metadata(object) {
                chunks.push(metadata);
            } else if !view.is_direct() {
                return None;
            } else if !view.is_current(object) {
                chunks.push(view.value(object).to_string().into());
            } else if custom {
                chunks.push(object.json());
            } else {
                // Items of built-in kinds do not repeat their kind and version.
                chunks.extend(b"{");
                chunks.push(object.json_rest());
            }
        }
        chunks.extend(tail.as_bytes());
        let spelled = view.is_direct() || !self.objects.is_empty();
        spelled.then(|| chunks.into_body())
    }
}

/// Returns the version and kind of the list.
fn list_kind(view: &View) -> (String, String) {
    match view.representation.form {
        ObjectForm::Metadata => (
            "PartialObjectMetadataList".to_owned(),
            "meta.k8s.io/v1".to_owned(),
        ),
        _ => (view.resource.list_kind.clone(), view.resource.api_version()),
    }
}
