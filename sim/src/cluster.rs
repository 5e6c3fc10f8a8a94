//! The embedded server, and the history of its objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract_checker::{Collection, ObjectState};
use kube_embedded::{Backup, Fault, On, Server};
use kube_informer::{Key, ResourceVersion};
use serde_json::json;

use crate::context::Context;
use crate::objects::{GROUP, NAMESPACES, NewObject, definition, key_of};
use crate::plan::{FaultPlan, Plan};

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The server of a run.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the server")]
pub(crate) struct Cluster {
    pub(crate) server: Server,
    context: Arc<Context>,
    resource: String,
    is_custom: bool,
    is_served: bool,
    padding: usize,
    lasting: Option<crate::plan::LastingFault>,
    /// Numbers of the objects for which transforms fail.
    poisoned: BTreeSet<usize>,
    backup: Option<SavedState>,
    writes: u64,
    /// Lists may return older objects than before.
    pub(crate) is_lagging: bool,
    /// Watches have repeated events.
    pub(crate) has_repeated_events: bool,
}

struct SavedState {
    backup: Backup,
    objects: Collection,
    version: u64,
}

impl Cluster {
    pub(crate) async fn start(plan: &Plan, context: &Arc<Context>) -> Cluster {
        let started = Server::builder()
            .without_port()
            .seed(plan.seed)
            .history(plan.history)
            .bookmark_interval(plan.bookmarks)
            .start()
            .await;
        let server = started.expect("starting a server without a port cannot fail");
        let namespaces = NAMESPACES
            .map(|name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }));
        server.load(namespaces).expect("namespaces are valid");
        if plan.is_custom {
            server.load([definition()]).expect("the definition is valid");
        }
        let resource = if plan.is_custom {
            format!("widgets.{GROUP}")
        } else {
            "configmaps".to_owned()
        };
        let mut cluster = Cluster {
            server,
            context: Arc::clone(context),
            resource,
            is_custom: plan.is_custom,
            is_served: true,
            padding: plan.padding,
            lasting: plan.lasting,
            poisoned: BTreeSet::new(),
            backup: None,
            writes: 0,
            is_lagging: false,
            has_repeated_events: false,
        };
        cluster.end_faults();
        for number in 0..plan.objects {
            cluster.write(number, number % 3 > 0, false);
        }
        cluster
    }

    /// Creates or replaces an object. Returns its version.
    pub(crate) fn write(&mut self, number: usize, is_chosen: bool, is_poisoned: bool) -> Option<u64> {
        if !self.is_served {
            return None;
        }
        let key = key_of(number);
        self.writes += 1;
        let object = NewObject {
            key: &key,
            value: self.writes,
            is_chosen,
            is_poisoned,
            padding: self.padding,
            is_custom: self.is_custom,
        };
        self.server
            .load([object.manifest()])
            .expect("the manifest is valid");
        if is_poisoned {
            self.poisoned.insert(number);
        } else {
            self.poisoned.remove(&number);
        }
        let known = self
            .context
            .history
            .lock()
            .get(&key)
            .and_then(|state| state.uid.clone());
        let version = self.server.resource_version();
        let state = ObjectState {
            version: ResourceVersion::from(version.to_string()),
            uid: known.or_else(|| self.uid_of(&key)),
            content: object.content(),
        };
        self.record(version, &key, Some(state));
        Some(version)
    }

    fn uid_of(&self, key: &Key) -> Option<String> {
        let stored = self.server.object(&self.resource, key.namespace(), key.name())?;
        stored["metadata"]["uid"].as_str().map(str::to_owned)
    }

    /// Deletes an object if it exists.
    pub(crate) fn delete(&mut self, number: usize) {
        let key = key_of(number);
        if self.is_served && self.server.delete(&self.resource, key.namespace(), key.name()) {
            self.poisoned.remove(&number);
            self.record(self.server.resource_version(), &key, None);
        }
    }

    fn record(&self, version: u64, key: &Key, state: Option<ObjectState>) {
        self.context.counts.lock().writes += 1;
        self.context.log.line(|| match &state {
            Some(state) => format!("  the server has {key} {state}"),
            None => format!("  the server deleted {key} at {version}"),
        });
        self.context.history.lock().record(version, key, state);
    }

    /// Writes all poisoned objects again without the poison.
    pub(crate) fn heal_objects(&mut self) {
        for number in std::mem::take(&mut self.poisoned) {
            self.write(number, true, false);
        }
    }

    pub(crate) fn add_fault(&mut self, plan: &FaultPlan) {
        self.is_lagging |= plan.is_lagging();
        self.has_repeated_events |= plan.repeats_events();
        if plan.loses_events() {
            self.context.history.lock().set_lost_event(true);
        }
        let (on, fault) = plan.rule(self.plural());
        self.server.faults().add(on, fault);
    }

    /// Ends all faults except the lasting one.
    pub(crate) fn end_faults(&mut self) {
        self.server.faults().clear();
        self.is_lagging = false;
        if let Some(lasting) = self.lasting {
            let (on, fault) = lasting.rule(self.plural());
            self.server.faults().add(on, fault);
        }
    }

    /// Makes watches expire from now on, so that informers list.
    pub(crate) fn expire_watches(&self) {
        let watches = On::watch(self.plural()).when(|request| !request.is_streaming_list());
        self.server.faults().add(watches, Fault::ExpireAfterEvents(0));
    }

    fn plural(&self) -> &'static str {
        if self.is_custom { "widgets" } else { "configmaps" }
    }

    pub(crate) async fn up(&self) {
        let up = self.server.restart().await;
        up.expect("restarting a server without a port cannot fail");
    }

    pub(crate) fn make_backup(&mut self) {
        if !self.is_served {
            return;
        }
        // A poisoned object would have to be replaced right after the restore, at versions that exist
        // already.
        self.heal_objects();
        self.backup = Some(SavedState {
            backup: self.server.backup(),
            objects: self.context.history.lock().current(&|_, _| true),
            version: self.server.resource_version(),
        });
    }

    /// Restores the backup; versions continue after the newest one.
    pub(crate) fn restore_with_newer_versions(&mut self) {
        let Some(saved) = self.backup.as_ref().filter(|_| self.is_served) else {
            return;
        };
        let newest = self.server.resource_version();
        self.server.restore(&saved.backup);
        self.server
            .advance_resource_version(newest.saturating_sub(saved.version) + 1_000);
        self.server.compact_history();
        self.poisoned.clear();
        let now = self.server.resource_version();
        self.context.history.lock().restored(now, &saved.objects, true);
    }

    /// Restores the backup and its versions. Returns the version, if there is a backup older than the
    /// server's state.
    pub(crate) fn go_back(&mut self) -> Option<u64> {
        let saved = self.backup.as_ref().filter(|_| self.is_served)?;
        if saved.version >= self.server.resource_version() {
            return None;
        }
        self.server.restore(&saved.backup);
        self.poisoned.clear();
        let now = self.server.resource_version();
        self.context.history.lock().restored(now, &saved.objects, false);
        Some(now)
    }

    /// Removes the definition of the kind and all objects.
    pub(crate) fn remove_kind(&mut self) {
        if !self.is_custom || !self.is_served {
            return;
        }
        let objects = self.context.history.lock().current(&|_, _| true);
        for key in objects.keys() {
            self.server.delete(&self.resource, key.namespace(), key.name());
            self.record(self.server.resource_version(), key, None);
        }
        self.poisoned.clear();
        self.is_served = false;
        self.server.delete(DEFINITIONS, None, &self.resource);
        // Watches must not deliver the deletions.
        self.server.cut_connections();
        self.context
            .history
            .lock()
            .kind_removed(self.server.resource_version());
    }

    /// Creates the definition again, once the old one is deleted.
    pub(crate) async fn serve_kind(&mut self) {
        if self.is_custom && !self.is_served {
            while self.server.object(DEFINITIONS, None, &self.resource).is_some() {
                tokio::task::yield_now().await;
            }
            self.server.load([definition()]).expect("the definition is valid");
            self.is_served = true;
        }
    }

    /// Returns the number of requests that were affected by faults since the last call.
    pub(crate) fn take_faulty_requests(&self) -> u64 {
        let requests = self.server.requests();
        self.server.forget_requests();
        requests
            .iter()
            .filter(|request| !request.faults.is_empty())
            .count() as u64
    }
}
