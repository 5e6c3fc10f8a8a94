//! Writers that continue during faults. Failed writes are ignored: they may or may not have been applied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::from_value;
use tokio::sync::{RwLock, RwLockWriteGuard};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::sorts::{NAMES, NAMESPACES, Sort};

/// Timeout of a write.
const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum time between two writes of one writer.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum length of the text.
const LONGEST: usize = 6_000;

/// One writer for each kind. Dropping this stops them.
pub(crate) struct Writers {
    gate: Arc<RwLock<()>>,
    written: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    /// Dropping this stops them.
    _tasks: JoinSet<()>,
}

impl Writers {
    /// Starts the writers. Each write goes to a random one of these servers.
    pub(crate) fn start(clients: &[Client; 2], seed: u64) -> Writers {
        let gate = Arc::<RwLock<()>>::default();
        let (written, failed) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let mut tasks = JoinSet::new();
        for (sort, seed) in Sort::ALL.into_iter().zip(seed..) {
            let mut random = fastrand::Rng::with_seed(seed);
            let (gate, clients) = (Arc::clone(&gate), clients.clone());
            let (written, failed) = (Arc::clone(&written), Arc::clone(&failed));
            tasks.spawn(async move {
                loop {
                    {
                        let _open = gate.read().await;
                        let done = timeout(PATIENCE, write(sort, &clients, &mut random)).await;
                        let count = if matches!(done, Ok(Ok(()))) {
                            &written
                        } else {
                            &failed
                        };
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    sleep(PAUSE.mul_f64(random.f64())).await;
                }
            });
        }
        Writers {
            gate,
            written,
            failed,
            _tasks: tasks,
        }
    }

    /// Pauses the writers while the result is kept, after their current writes.
    pub(crate) async fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().await
    }

    /// Returns the numbers of successful and failed writes.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.written), read(&self.failed))
    }
}

async fn write(sort: Sort, clients: &[Client; 2], random: &mut fastrand::Rng) -> Result<(), kube::Error> {
    let client = clients[random.usize(..clients.len())].clone();
    let namespace = NAMESPACES[random.usize(..NAMESPACES.len())];
    let name = format!("object-{}", random.usize(..NAMES));
    let tier = random.choice(["a", "b"]).unwrap_or("a");
    let text = "x".repeat(if random.u8(..) < 32 {
        LONGEST
    } else {
        random.usize(1..60)
    });
    let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &sort.resource());
    let done = match random.u8(..10) {
        0..4 => {
            let object = from_value(sort.object(&name, tier, &text)).map_err(kube::Error::SerdeError)?;
            api.create(&PostParams::default(), &object).await.map(drop)
        }
        4..8 => {
            let change = sort.change(random.bool().then_some(tier), &text);
            let patch = Patch::Merge(change);
            api.patch(&name, &PatchParams::default(), &patch).await.map(drop)
        }
        _ => api.delete(&name, &DeleteParams::default()).await.map(drop),
    };
    match done {
        // The object exists already, or is deleted: both are fine.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other,
    }
}
