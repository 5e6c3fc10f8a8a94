//! The touched pods that came to a handler.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kube::api::ObjectMeta;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::STAMP;

/// Counts the touched pods, and keeps how long each was under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    phase: Mutex<Phase>,
    all: Notify,
}

#[derive(Debug, Default)]
struct Phase {
    since: Duration,
    missing: usize,
    waits: Vec<Duration>,
}

/// From write to handler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delays {
    pub(super) median: Duration,
    /// The 99th percentile.
    pub(super) late: Duration,
}

impl Arrivals {
    /// From now on, so many are expected.
    pub(super) fn expect(&self, count: usize) {
        *self.phase() = Phase {
            since: now(),
            missing: count,
            waits: Vec::with_capacity(count),
        };
    }

    /// A pod has come.
    pub(super) fn came(&self, metadata: &ObjectMeta) {
        let stamp = metadata.annotations.as_ref().and_then(|all| all.get(STAMP));
        self.came_with(stamp.map(String::as_str));
    }

    /// The same for a pod with this annotation.
    pub(super) fn came_with(&self, stamp: Option<&str>) {
        let Some(touched) = stamp
            .and_then(|stamp| stamp.parse().ok())
            .map(Duration::from_nanos)
        else {
            return;
        };
        let mut phase = self.phase();
        // Those of before are seen again after a relist.
        if touched < phase.since || phase.missing == 0 {
            return;
        }
        phase.waits.push(now().saturating_sub(touched));
        phase.missing -= 1;
        if phase.missing == 0 {
            self.shared.all.notify_one();
        }
    }

    /// Waits for all that are expected.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub(super) async fn all(&self) {
        self.shared.all.notified().await;
    }

    /// How long they were under way. None if none came.
    pub(super) fn delays(&self) -> Option<Delays> {
        let mut phase = self.phase();
        phase.waits.sort();
        let at = |percent: usize| phase.waits.get(phase.waits.len() * percent / 100).copied();
        Some(Delays {
            median: at(50)?,
            late: at(99)?,
        })
    }

    fn phase(&self) -> parking_lot::MutexGuard<'_, Phase> {
        self.shared.phase.lock()
    }
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched_at(time: Duration) -> ObjectMeta {
        ObjectMeta {
            annotations: Some([(STAMP.to_owned(), time.as_nanos().to_string())].into()),
            ..ObjectMeta::default()
        }
    }

    #[tokio::test]
    async fn only_pods_touched_since_count() {
        let arrivals = Arrivals::default();
        let before = touched_at(now());
        arrivals.expect(2);
        arrivals.came(&before);
        arrivals.came(&ObjectMeta::default());
        assert!(arrivals.delays().is_none());
        for _ in 0..3 {
            arrivals.came(&touched_at(now()));
        }
        arrivals.all().await;
        assert_eq!(arrivals.phase().waits.len(), 2);
        assert!(arrivals.delays().is_some());
    }
}
