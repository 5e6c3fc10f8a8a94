//! The state of one server, without any IO: objects, what is served, faults, and the record of requests.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::api::{Registry, Resource};
use crate::auth::Access;
use crate::faults::Faults;
use crate::garbage::Chore;
use crate::record::Record;
use crate::store::Store;

/// The state of one server.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) store: Store,
    pub(crate) faults: Faults,
    pub(crate) record: Record,
    pub(crate) access: Access,
    pub(crate) settings: Settings,
    registry: watch::Sender<Arc<Registry>>,
    random: Mutex<fastrand::Rng>,
    /// Held from the choice of a Service's address until it is stored, so that it is chosen once.
    addresses: Mutex<()>,
    /// What is left to do after a deletion.
    pub(crate) chores: mpsc::UnboundedSender<Chore>,
    /// Ends every connection and watch that exists now.
    connections: RwLock<CancellationToken>,
}

/// What a user may set before the server starts.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Changes each resource remembers.
    pub(crate) history: usize,
    /// Time between bookmarks of a watch.
    pub(crate) bookmark_interval: Duration,
    /// How long a request for a version not reached yet waits for it.
    pub(crate) too_large_wait: Duration,
    /// Seed of uids and generated names.
    pub(crate) seed: Option<u64>,
    /// Address that `/api` tells clients.
    pub(crate) advertised: String,
}

impl Cluster {
    pub(crate) fn new(settings: Settings, access: Access, chores: mpsc::UnboundedSender<Chore>) -> Cluster {
        let random = settings
            .seed
            .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Cluster {
            store: Store::new(settings.history),
            faults: Faults::default(),
            record: Record::default(),
            access,
            settings,
            registry: watch::Sender::new(Arc::new(Registry::builtin().clone())),
            random: Mutex::new(random),
            addresses: Mutex::new(()),
            chores,
            connections: RwLock::new(CancellationToken::new()),
        }
    }

    /// What is served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.borrow().clone()
    }

    /// Serves what `find` finds now. Nobody else changes what is served meanwhile, so the last to look is the last to
    /// set it.
    pub(crate) fn update_registry(&self, find: impl FnOnce() -> Registry) {
        self.registry.send_modify(|registry| *registry = Arc::new(find()));
    }

    /// Tells when something else is served.
    pub(crate) fn follow_registry(&self) -> watch::Receiver<Arc<Registry>> {
        self.registry.subscribe()
    }

    /// Keeps others from choosing addresses for a Service; other kinds have none to choose.
    pub(crate) fn choosing_addresses(&self, resource: &Resource) -> Option<MutexGuard<'_, ()>> {
        resource.is("", "Service").then(|| self.addresses.lock())
    }

    /// Cancelled when the connections of this moment are to end.
    pub(crate) fn connections(&self) -> CancellationToken {
        self.connections.read().clone()
    }

    /// Ends every connection and watch that exists now; new ones may come.
    pub(crate) fn cut_connections(&self) {
        let old = std::mem::take(&mut *self.connections.write());
        old.cancel();
    }

    /// A number below `bound`.
    pub(crate) fn random_below(&self, bound: u64) -> u64 {
        self.random.lock().u64(..bound)
    }

    /// A random (version 4) UUID.
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

    /// `base` with five random letters behind it, as `generateName` asks for.
    pub(crate) fn generated_name(&self, base: &str) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut random = self.random.lock();
        // Names have at most 63 characters where a label is wanted, five of which are generated.
        let mut name: String = base.chars().take(58).collect();
        name.extend((0..5).map(|_| char::from(LETTERS[random.usize(..LETTERS.len())])));
        name
    }
}
