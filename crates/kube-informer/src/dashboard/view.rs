//! An informer as the dashboard sees it, without the type of its objects.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kube::core::DynamicObject;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use super::facts::facts;
use super::filter::Filter;
use super::history::{History, Scribe};
use crate::error::Chain;
use crate::fields::{Difference, differences_in_shown, is_secret, redact};
use crate::handler::{HandlerOptions, Registration};
use crate::informer::{SharedInformer, Status};
use crate::object::{Key, Kind, Object, WatchedResource};
use crate::pipeline::store::Snapshot;

/// The name of the handler that writes the history.
pub(super) const HANDLER: &str = "dashboard";

/// No more are told of a change; an object that changed in more places is better read as a whole.
const DIFFERENCES: usize = 200;

/// How many of an index's values are proposed.
const PROPOSED: usize = 200;

/// An informer that is shown.
///
/// Everything that leaves it, or is compared with what comes in, is redacted first: pages, objects, filters, histories. So
/// nothing of a Secret leaves it, and there is nothing that a filter could find out by guessing.
pub(crate) trait View: Send + Sync {
    /// The same for all that show one informer.
    fn identity(&self) -> usize;
    fn resource(&self) -> &WatchedResource;
    fn status(&self) -> Status;
    /// What went wrong, in words that may be shown.
    fn words(&self, status: &Status) -> Option<String>;
    fn is_secret(&self) -> bool;
    /// Whether whole objects are shown, not only their metadata.
    fn is_whole(&self) -> bool;
    fn indexes(&self) -> Vec<String>;
    fn index_values(&self, index: &str) -> Vec<String>;
    /// Changes whenever the cache does.
    fn tag(&self) -> String;
    fn page(&self, filter: &Filter) -> Result<Page, String>;
    fn object(&self, key: &Key) -> Option<Value>;
    /// The newest changes first, of one object or of all.
    fn history(&self, key: Option<&Key>, limit: usize) -> Vec<Told>;
    /// Begins to write the history, if it is not written yet.
    fn remember(&self, most: usize);
}

/// A page of objects.
pub(crate) struct Page {
    pub(super) tag: String,
    /// How many fit altogether.
    pub(super) total: usize,
    pub(super) rows: Vec<Value>,
}

/// A change, ready to be told.
pub(crate) struct Told {
    pub(super) at: SystemTime,
    pub(super) what: &'static str,
    pub(super) key: Key,
    pub(super) version: String,
    pub(super) differences: Vec<Difference>,
}

/// How an object becomes JSON; none if it cannot.
type Print<K> = fn(&K) -> Option<Value>;

struct Shown<K: Kind> {
    informer: SharedInformer<K>,
    print: Option<Print<K>>,
    is_secret: bool,
    written: Mutex<Option<Written<K>>>,
    is_written: AtomicBool,
}

/// A history, and what writes it for as long as this is held.
struct Written<K> {
    history: Arc<History<K>>,
    scribe: Registration,
}

impl<K> Drop for Written<K> {
    fn drop(&mut self) {
        self.scribe.remove();
    }
}

/// Shows what every object has: metadata. Dynamic objects are shown whole: that they can be is known.
pub(crate) fn metadata_of<K: Kind>(informer: &SharedInformer<K>) -> Arc<dyn View> {
    match (informer as &dyn Any).downcast_ref::<SharedInformer<DynamicObject>>() {
        Some(dynamic) => whole(dynamic),
        None => shown(informer, None),
    }
}

/// Shows whole objects.
pub(crate) fn whole<K: Kind + Serialize>(informer: &SharedInformer<K>) -> Arc<dyn View> {
    shown(informer, Some(|object| serde_json::to_value(object).ok()))
}

fn shown<K: Kind>(informer: &SharedInformer<K>, print: Option<Print<K>>) -> Arc<dyn View> {
    Arc::new(Shown {
        informer: informer.clone(),
        print,
        is_secret: is_secret(informer.resource()),
        written: Mutex::new(None),
        is_written: AtomicBool::new(false),
    })
}

impl<K: Kind> Shown<K> {
    /// An object as it may be seen.
    fn show(&self, object: &Object<K>) -> Value {
        // What is decoded here is not to be kept by whoever holds the object.
        let object = object.clone();
        let printed = self.print.and_then(|print| print(&object));
        let mut value = printed.unwrap_or_else(|| json!({ "metadata": object.meta() }));
        if let Value::Object(fields) = &mut value {
            let resource = self.informer.resource();
            fields
                .entry("apiVersion")
                .or_insert_with(|| resource.api_version().into());
            fields.entry("kind").or_insert_with(|| resource.kind().into());
        }
        redact(&mut value, self.is_secret);
        value
    }

    fn differences(&self, old: &Object<K>, new: &Object<K>) -> Vec<Difference> {
        let mut found = differences_in_shown(&self.show(old), &self.show(new));
        found.truncate(DIFFERENCES);
        found.shrink_to_fit();
        found
    }

    fn row(&self, object: &Object<K>) -> Value {
        let shown = self.show(object);
        let metadata = &shown["metadata"];
        json!({
            "key": object.key().as_str(),
            "namespace": object.key().namespace(),
            "name": object.key().name(),
            "version": object.version().to_string(),
            "created": metadata["creationTimestamp"],
            "labels": metadata["labels"],
            "terminating": object.is_terminating(),
            "facts": facts(&shown),
        })
    }

    /// Those that fit, in no order. The questions that cost least are asked first.
    fn fitting(&self, snapshot: &Snapshot<K>, filter: &Filter) -> Result<Vec<Object<K>>, String> {
        let fits = |object: &Object<K>| {
            filter.fits_key(object.key())
                && filter.labels.as_ref().is_none_or(|labels| object.matches(labels))
                && (filter.fields.is_empty() || filter.fits_fields(&self.show(object)))
        };
        if let Some((index, value)) = &filter.index {
            if self.is_secret {
                return Err(
                    "indexes of Secrets are not shown, because their values may be the Secrets'".to_owned(),
                );
            }
            let mut found = snapshot
                .by_name(index, value)
                .map_err(|error| error.to_string())?;
            found.retain(fits);
            return Ok(found);
        }
        Ok(snapshot.namespace(&filter.namespace).filter(fits).collect())
    }
}

impl<K: Kind> View for Shown<K> {
    fn identity(&self) -> usize {
        self.informer.identity()
    }

    fn resource(&self) -> &WatchedResource {
        self.informer.resource()
    }

    fn status(&self) -> Status {
        self.informer.status()
    }

    fn words(&self, status: &Status) -> Option<String> {
        let error = status.last_error.as_ref()?;
        // The user's code may say anything, an object's values included.
        if self.is_secret && error.is_user_code() {
            return Some(
                "code of this program failed for a Secret; its words are in the log only".to_owned(),
            );
        }
        Some(Chain(error).to_string())
    }

    fn is_secret(&self) -> bool {
        self.is_secret
    }

    fn is_whole(&self) -> bool {
        self.print.is_some()
    }

    fn indexes(&self) -> Vec<String> {
        self.informer
            .snapshot()
            .index_names()
            .map(str::to_owned)
            .collect()
    }

    fn index_values(&self, index: &str) -> Vec<String> {
        if self.is_secret {
            return Vec::new();
        }
        let mut values = self.informer.snapshot().index_values(index).unwrap_or_default();
        values.truncate(PROPOSED);
        values
    }

    fn tag(&self) -> String {
        tag(&self.informer.snapshot())
    }

    fn page(&self, filter: &Filter) -> Result<Page, String> {
        let snapshot = self.informer.snapshot();
        let mut found = self.fitting(&snapshot, filter)?;
        let total = found.len();
        let by_key = |a: &Object<K>, b: &Object<K>| -> Ordering { a.key().cmp(b.key()) };
        // Only the page is sorted; the rest is only before or behind it.
        let from = filter.offset.min(total);
        if from > 0 && from < total {
            found.select_nth_unstable_by(from, by_key);
        }
        let mut page = found.split_off(from);
        if filter.limit < page.len() {
            page.select_nth_unstable_by(filter.limit, by_key);
            page.truncate(filter.limit);
        }
        page.sort_unstable_by(by_key);
        Ok(Page {
            tag: tag(&snapshot),
            total,
            rows: page.iter().map(|object| self.row(object)).collect(),
        })
    }

    fn object(&self, key: &Key) -> Option<Value> {
        let object = self.informer.snapshot().get(key)?;
        Some(self.show(&object))
    }

    fn history(&self, key: Option<&Key>, limit: usize) -> Vec<Told> {
        let Some(history) = self
            .written
            .lock()
            .as_ref()
            .map(|written| Arc::clone(&written.history))
        else {
            return Vec::new();
        };
        let changes = history.newest(limit, |change| {
            key.is_none_or(|key| change.object().is_some_and(|object| object.key() == key))
        });
        let told = changes.iter().filter_map(|change| {
            let object = change.object()?;
            let (what, differences) = match (&change.old, &change.new) {
                (Some(old), Some(new)) => ("updated", self.differences(old, new)),
                (None, _) => ("added", Vec::new()),
                (_, None) => ("deleted", Vec::new()),
            };
            Some(Told {
                at: change.at,
                what,
                key: object.key().clone(),
                version: object.version().to_string(),
                differences,
            })
        });
        told.collect()
    }

    fn remember(&self, most: usize) {
        if most == 0 || self.is_written.swap(true, Memory::Relaxed) {
            return;
        }
        let history = Arc::new(History::new(most));
        let options = HandlerOptions::new().name(HANDLER).resync(Duration::ZERO);
        // An informer that has stopped has no history any more.
        if let Ok(scribe) = self
            .informer
            .add_handler_with(Scribe(Arc::clone(&history)), options)
        {
            *self.written.lock() = Some(Written { history, scribe });
        }
    }
}

fn tag<K>(snapshot: &Snapshot<K>) -> String {
    let version = snapshot.version().map(ToString::to_string).unwrap_or_default();
    format!("{version}-{}-{:x}", snapshot.len(), snapshot.address())
}

/// Milliseconds since 1970, as scripts count time.
pub(super) fn millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
