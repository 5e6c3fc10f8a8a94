//! Compares the caches with the server's state.

use std::sync::Arc;

use contract_checker::{Collection, Findings, difference};
use futures::future::{join_all, try_join_all};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, VersionMatch};
use kube_informer::{Error, ResourceVersion};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::cluster::{AGAIN, PATIENCE};
use crate::handlers::entry_of;
use crate::sorts::{MARKER, NAMESPACES, SELECTED, Sort};
use crate::subjects::{Subject, View};

/// Writes at a quiet point: one object of each kind in each namespace.
pub(crate) struct Markers(Vec<(Sort, &'static str, DynamicObject)>);

impl Markers {
    /// Writes all markers, at a time without faults.
    pub(crate) async fn write(client: &Client) -> Markers {
        let mut written = Vec::new();
        for sort in Sort::ALL {
            for namespace in NAMESPACES {
                written.push((sort, namespace, mark(client, sort, namespace).await));
            }
        }
        Markers(written)
    }

    fn seen_by<'a>(&'a self, view: &'a View) -> impl Iterator<Item = &'a DynamicObject> {
        let seen = self.0.iter();
        seen.filter(|(sort, namespace, _)| *sort == view.sort && view.has(namespace))
            .map(|(.., object)| object)
    }
}

/// Applies the marker until the server accepts it: the server may have just restarted.
async fn mark(client: &Client, sort: Sort, namespace: &str) -> DynamicObject {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &sort.resource());
    let deadline = Instant::now() + PATIENCE;
    let mut marker = sort.object(MARKER, "a", "");
    // A new value each time, otherwise nothing would be written.
    marker["metadata"]["annotations"] = json!({"at": fastrand::u64(..).to_string()});
    loop {
        let apply = PatchParams::apply("chaos").force();
        match api.patch(MARKER, &apply, &Patch::Apply(&marker)).await {
            Ok(object) => return object,
            Err(error) => assert!(Instant::now() < deadline, "no marker in {PATIENCE:?}: {error}"),
        }
        sleep(AGAIN).await;
    }
}

/// Lists the server's state: the newest one, or exactly at a version.
pub(crate) async fn listed(
    client: &Client,
    view: &View,
    at: Option<&ResourceVersion>,
) -> Result<Collection, kube::Error> {
    let mut params = ListParams::default();
    if view.selected {
        params = params.labels(SELECTED);
    }
    if let Some(at) = at {
        params = params.at(&at.to_string()).matching(VersionMatch::Exact);
    }
    let resource = view.sort.resource();
    let apis: Vec<Api<DynamicObject>> = match view.namespaces.as_slice() {
        [] => vec![Api::all_with(client.clone(), &resource)],
        some => some
            .iter()
            .map(|namespace| Api::namespaced_with(client.clone(), namespace, &resource))
            .collect(),
    };
    let mut objects = Collection::new();
    for api in apis {
        let items = api.list_metadata(&params).await?.items;
        objects.extend(items.into_iter().map(|item| entry_of(item.metadata)));
    }
    Ok(objects)
}

/// Checks during writes that each cache equals the server's state at the cache's version (contract 1).
/// Versions that were compacted cannot be checked. Returns the number of compared caches.
pub(crate) async fn check_prefixes(
    client: &Client,
    subjects: &[Arc<dyn Subject>],
    findings: &Findings,
) -> usize {
    let mut compared = 0;
    for subject in subjects.iter().filter(|subject| !subject.view().is_several()) {
        let cache = subject.contents();
        let Some(version) = cache.version else { continue };
        let Ok(had) = listed(client, subject.view(), Some(&version)).await else {
            continue;
        };
        compared += 1;
        if let Some(what) = difference(&cache.objects, &had) {
            let message =
                format_args!("the cache differs from the server at {version}: {what} (cache | server)");
            findings.add(1, subject.view().name, message);
        }
    }
    compared
}

/// Checks at a quiet point that every cache and every handler has the server's state (contract 5).
pub(crate) async fn check_all(client: &Client, subjects: &[Arc<dyn Subject>], findings: &Findings) {
    let markers = Markers::write(client).await;
    let caught_up = subjects.iter().map(async |subject| {
        let reached = markers
            .seen_by(subject.view())
            .map(|marker| subject.reach(marker, PATIENCE));
        match try_join_all(reached).await {
            Ok(_) => check_one(client, &**subject, findings).await,
            Err(error) => late(&**subject, &error, findings),
        }
    });
    join_all(caught_up).await;
}

/// The server may still complete a write after its writer's timeout. Then the lists before and after reading
/// the cache differ, and the comparison is repeated.
async fn check_one(client: &Client, subject: &dyn Subject, findings: &Findings) {
    let view = subject.view();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = listed(client, view, None).await;
        let cache = subject.contents().objects;
        let after = listed(client, view, None).await;
        match (before, after) {
            (Ok(before), Ok(after)) if before == cache && before == after => {
                for (handler, _) in subject.handlers() {
                    handler.agrees(&cache, PATIENCE).await;
                }
                return;
            }
            (Ok(before), Ok(after)) if before == after => {
                let what = difference(&cache, &after).unwrap_or_default();
                let message = format_args!("the cache differs from the server: {what} (cache | server)");
                return findings.add(5, view.name, message);
            }
            (Err(error), _) | (_, Err(error)) if Instant::now() >= deadline => {
                return findings.add(5, view.name, format_args!("the server does not list: {error}"));
            }
            _ => {}
        }
        if let Err(error) = subject
            .reach(&mark(client, view.sort, NAMESPACES[0]).await, PATIENCE)
            .await
        {
            return late(subject, &error, findings);
        }
    }
}

fn late(subject: &dyn Subject, error: &Error, findings: &Findings) {
    let errors = subject.errors();
    let message = format_args!("the cache does not catch up: {error}; {errors}");
    findings.add(5, subject.view().name, message);
}
