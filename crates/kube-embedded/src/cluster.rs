//! The state of one server, without IO: objects, served resources, faults and recorded requests.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::api::{Registry, Resource};
use crate::auth::Access;
use crate::faults::Faults;
use crate::record::Record;
use crate::store::{Key, ObjectRef, Store};

/// The state of one server.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) store: Store,
    pub(crate) faults: Faults,
    pub(crate) record: Record,
    pub(crate) access: Access,
    pub(crate) admission: Admission,
    pub(crate) settings: Settings,
    registry: watch::Sender<Arc<Registry>>,
    random: Mutex<fastrand::Rng>,
    /// Locked from the choice of a Service's address until the Service is stored.
    addresses: Mutex<()>,
    /// Work for the controllers.
    pub(crate) tasks: mpsc::UnboundedSender<ControllerTask>,
    /// Cancelled to end all current connections and watches.
    connections: RwLock<CancellationToken>,
}

/// Work that a write causes.
#[derive(Debug, Clone)]
pub(crate) enum ControllerTask {
    /// The owner with this uid was deleted: collect its dependents.
    OwnerGone(Box<str>),
    /// An object has owners: check that they exist.
    Dependent(ObjectRef),
    /// An object is being deleted, and may wait for its dependents.
    Owner(ObjectRef),
    /// A namespace is being deleted, or contains objects although it was deleted.
    Namespace(Box<str>),
    /// The definition of a custom kind was created or changed.
    Definition(Key),
    /// The definition of a custom kind is being deleted.
    CustomKind(Key),
    /// A validating admission policy was created or changed.
    AdmissionPolicy(Key),
}

/// Settings of the builder.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Number of changes kept for each resource.
    pub(crate) history: usize,
    /// Time between bookmarks of a watch.
    pub(crate) bookmark_interval: Duration,
    /// Maximum time that a request waits for a version that was not reached yet.
    pub(crate) too_large_wait: Duration,
    /// Seed of uids and generated names.
    pub(crate) seed: Option<u64>,
    /// Address in the response of `/api`.
    pub(crate) advertised: String,
}

impl Cluster {
    pub(crate) fn new(
        settings: Settings,
        access: Access,
        tasks: mpsc::UnboundedSender<ControllerTask>,
    ) -> Cluster {
        let random = settings
            .seed
            .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Cluster {
            store: Store::new(settings.history),
            faults: Faults::default(),
            record: Record::default(),
            access,
            admission: Admission::default(),
            settings,
            registry: watch::Sender::new(Arc::new(Registry::builtin().clone())),
            random: Mutex::new(random),
            addresses: Mutex::new(()),
            tasks,
            connections: RwLock::new(CancellationToken::new()),
        }
    }

    /// Returns the resources that are served.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.borrow().clone()
    }

    /// Serves the result of `find`. Calls do not overlap, so that an older result never replaces a newer one.
    pub(crate) fn update_registry(&self, find: impl FnOnce() -> Registry) {
        self.registry.send_modify(|registry| *registry = Arc::new(find()));
    }

    /// Returns a receiver of changes of the served resources.
    pub(crate) fn follow_registry(&self) -> watch::Receiver<Arc<Registry>> {
        self.registry.subscribe()
    }

    /// Locks the choice of addresses, if the resource has addresses.
    pub(crate) fn choosing_addresses(&self, resource: &Resource) -> Option<MutexGuard<'_, ()>> {
        resource.is("", "Service").then(|| self.addresses.lock())
    }

    /// Returns the token that is cancelled to end the current connections.
    pub(crate) fn connections(&self) -> CancellationToken {
        self.connections.read().clone()
    }

    /// Ends all current connections and watches. New ones are accepted.
    pub(crate) fn cut_connections(&self) {
        let old = std::mem::take(&mut *self.connections.write());
        old.cancel();
    }

    /// Returns a random number below `bound`.
    pub(crate) fn random_below(&self, bound: u64) -> u64 {
        self.random.lock().u64(..bound)
    }

    /// Returns a random UUID (version 4).
    pub(crate) fn uid(&self) -> String {
        let bits = self.random.lock().u128(..);
        let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }

    /// Returns `base` with five random letters appended, for `generateName`.
    pub(crate) fn generated_name(&self, base: &str) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut random = self.random.lock();
        // A name may have to be a label of at most 63 characters, five of which are generated.
        let mut name: String = base.chars().take(58).collect();
        name.extend((0..5).map(|_| char::from(LETTERS[random.usize(..LETTERS.len())])));
        name
    }
}
