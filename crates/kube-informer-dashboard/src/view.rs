//! An informer as the dashboard shows it.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kube::core::DynamicObject;
use kube_informer::erased::{AnyInformer, AnyObject};
use kube_informer::{HandlerOptions, Key, Kind, Registration, SharedInformer, status::Status};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::facts::facts;
use crate::fields::{Difference, differences_in_redacted, is_secret, redact};
use crate::filter::Filter;
use crate::history::History;

/// Name of the handler that records the history.
const HANDLER: &str = "dashboard";

/// Maximum number of differences in one change. An object that changed in more fields is easier to read as a whole.
const MAX_DIFFERENCES: usize = 200;

/// Maximum number of suggested values of an index.
const MAX_SUGGESTIONS: usize = 200;

/// An informer that is shown.
///
/// All data is redacted before it leaves the view or is compared with a request: pages, objects, filters and
/// histories. So no value of a Secret is shown, and filters cannot be used to guess one.
pub(crate) struct InformerView {
    informer: AnyInformer,
    /// Shows whole objects if set, otherwise metadata.
    to_json: Option<ToJson>,
    is_secret: bool,
    recording: Mutex<Option<HistoryRecorder>>,
    is_recording: AtomicBool,
}

/// Serializes a whole object. Returns `None` if that fails.
type ToJson = fn(&AnyObject) -> Option<Value>;

/// A page of objects.
pub(crate) struct ObjectPage {
    pub(crate) tag: String,
    /// The number of matching objects on all pages.
    pub(crate) total: usize,
    pub(crate) rows: Vec<Value>,
}

/// A change with its differences, ready to be shown.
pub(crate) struct ChangeReport {
    pub(crate) at: SystemTime,
    pub(crate) what: &'static str,
    pub(crate) key: Key,
    pub(crate) version: String,
    pub(crate) differences: Vec<Difference>,
}

/// A history and the handler that records it. Dropping it removes the handler.
struct HistoryRecorder {
    history: Arc<History>,
    registration: Registration,
}

impl Drop for HistoryRecorder {
    fn drop(&mut self) {
        self.registration.remove();
    }
}

impl InformerView {
    /// Shows the metadata of objects. Dynamic objects are shown whole, because they can always be serialized.
    pub(crate) fn with_metadata(informer: AnyInformer) -> Arc<InformerView> {
        let is_dynamic = informer.downcast::<DynamicObject>().is_some();
        let to_json = is_dynamic.then_some(to_json::<DynamicObject> as ToJson);
        InformerView::new(informer, to_json)
    }

    /// Shows whole objects.
    pub(crate) fn with_whole_objects<K: Kind + Serialize>(informer: &SharedInformer<K>) -> Arc<InformerView> {
        InformerView::new(informer.into(), Some(to_json::<K>))
    }

    fn new(informer: AnyInformer, to_json: Option<ToJson>) -> Arc<InformerView> {
        Arc::new(InformerView {
            to_json,
            is_secret: is_secret(informer.resource()),
            informer,
            recording: Mutex::new(None),
            is_recording: AtomicBool::new(false),
        })
    }

    pub(crate) fn informer(&self) -> &AnyInformer {
        &self.informer
    }

    pub(crate) fn is_secret(&self) -> bool {
        self.is_secret
    }

    pub(crate) fn shows_whole_objects(&self) -> bool {
        self.to_json.is_some()
    }

    /// Returns the message of the last error, without anything that must not be shown.
    pub(crate) fn error_message(&self, status: &Status) -> Option<String> {
        let error = status.last_error.as_ref()?;
        // Messages of user code may contain values of the object.
        if self.is_secret && error.is_user_code() {
            return Some("a user function failed for a Secret; its message is in the log only".to_owned());
        }
        Some(format!("{error:#}"))
    }

    pub(crate) fn indexes(&self) -> Vec<String> {
        self.informer.index_names()
    }

    pub(crate) fn index_values(&self, index: &str) -> Vec<String> {
        if self.is_secret {
            return Vec::new();
        }
        let mut values = self.informer.index_values(index).unwrap_or_default();
        values.truncate(MAX_SUGGESTIONS);
        values
    }

    /// Returns a text that changes whenever the cache does.
    pub(crate) fn tag(&self) -> String {
        tag(&self.informer.status())
    }

    pub(crate) fn page(&self, filter: &Filter) -> Result<ObjectPage, String> {
        // The tag is read first: if the cache changes in between, the page is newer than its tag and is requested again.
        let tag = self.tag();
        let mut found = self.find(filter)?;
        let total = found.len();
        let by_key = |a: &AnyObject, b: &AnyObject| -> Ordering { a.key().cmp(b.key()) };
        // Sorts the page only; the other objects are only partitioned around it.
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
        Ok(ObjectPage {
            tag,
            total,
            rows: page.iter().map(|object| self.row(object)).collect(),
        })
    }

    pub(crate) fn object(&self, key: &Key) -> Option<Value> {
        let object = self.informer.get(key)?;
        Some(self.show(&object))
    }

    /// Returns the newest changes first, of one object or of all.
    pub(crate) fn history(&self, key: Option<&Key>, limit: usize) -> Vec<ChangeReport> {
        let Some(history) = self
            .recording
            .lock()
            .as_ref()
            .map(|recording| Arc::clone(&recording.history))
        else {
            return Vec::new();
        };
        let changes = history.newest(limit, |change| {
            key.is_none_or(|key| change.object().is_some_and(|object| object.key() == key))
        });
        let reports = changes.iter().filter_map(|change| {
            let object = change.object()?;
            let (what, differences) = match (&change.old, &change.new) {
                (Some(old), Some(new)) => ("updated", self.differences(old, new)),
                (None, _) => ("added", Vec::new()),
                (_, None) => ("deleted", Vec::new()),
            };
            Some(ChangeReport {
                at: change.at,
                what,
                key: object.key().clone(),
                version: object.version().to_string(),
                differences,
            })
        });
        reports.collect()
    }

    /// Starts recording the history, unless this was done before or `capacity` is 0.
    pub(crate) fn record_history(&self, capacity: usize) {
        if capacity == 0 || self.is_recording.swap(true, Memory::Relaxed) {
            return;
        }
        let history = Arc::new(History::new(capacity));
        let recorder = Arc::clone(&history);
        let options = HandlerOptions::new()
            .name(HANDLER)
            .resync(Duration::ZERO)
            .never_blocks();
        // A stopped informer accepts no handler and has no history.
        if let Ok(registration) = self
            .informer
            .add_handler_with(move |event| recorder.record(event), options)
        {
            *self.recording.lock() = Some(HistoryRecorder {
                history,
                registration,
            });
        }
    }

    /// Returns the redacted JSON of an object.
    fn show(&self, object: &AnyObject) -> Value {
        let whole = self.to_json.and_then(|to_json| to_json(object));
        let mut value = whole.unwrap_or_else(|| json!({ "metadata": object.metadata() }));
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

    fn differences(&self, old: &AnyObject, new: &AnyObject) -> Vec<Difference> {
        let mut found = differences_in_redacted(&self.show(old), &self.show(new));
        found.truncate(MAX_DIFFERENCES);
        found.shrink_to_fit();
        found
    }

    fn row(&self, object: &AnyObject) -> Value {
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

    /// Returns the matching objects in no particular order. The cheapest conditions are checked first.
    fn find(&self, filter: &Filter) -> Result<Vec<AnyObject>, String> {
        let mut found = match &filter.index {
            Some(_) if self.is_secret => {
                return Err(
                    "indexes of Secrets are not shown, because they may contain values of Secrets".to_owned(),
                );
            }
            Some((index, value)) => self
                .informer
                .by_index(index, value)
                .map_err(|error| error.to_string())?,
            None => self.informer.list(&filter.namespace),
        };
        found.retain(|object| {
            filter.matches_key(object.key())
                && filter.labels.as_ref().is_none_or(|labels| object.matches(labels))
                && (filter.fields.is_empty() || filter.matches_fields(&self.show(object)))
        });
        Ok(found)
    }
}

fn to_json<K: Kind + Serialize>(object: &AnyObject) -> Option<Value> {
    serde_json::to_value(&*object.downcast::<K>()?).ok()
}

/// Returns a text that changes whenever the cache does.
pub(crate) fn tag(status: &Status) -> String {
    let version = status
        .version
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    // The counters change where the version does not: when one of several watched namespaces changes.
    let (added, updated, deleted) = (status.added, status.updated, status.deleted);
    format!("{version}-{added}-{updated}-{deleted}")
}

/// Returns milliseconds since 1970, as JavaScript counts time.
pub(crate) fn millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
