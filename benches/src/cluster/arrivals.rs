//! The updated pods that a handler received.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kube::api::ObjectMeta;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::STAMP;

/// Counts updated pods, and records the time from write to handler.
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

/// Times from write to handler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delays {
    pub(super) median: Duration,
    /// The 99th percentile.
    pub(super) late: Duration,
}

impl Arrivals {
    /// Starts to wait for a number of updates.
    pub(super) fn expect(&self, count: usize) {
        *self.phase() = Phase {
            since: now(),
            missing: count,
            waits: Vec::with_capacity(count),
        };
    }

    /// Records a received pod.
    pub(super) fn received(&self, metadata: &ObjectMeta) {
        let stamp = metadata.annotations.as_ref().and_then(|all| all.get(STAMP));
        self.received_with(stamp.map(String::as_str));
    }

    /// Like `received`, for a pod with this annotation.
    pub(super) fn received_with(&self, stamp: Option<&str>) {
        let Some(touched) = stamp
            .and_then(|stamp| stamp.parse().ok())
            .map(Duration::from_nanos)
        else {
            return;
        };
        let mut phase = self.phase();
        // Earlier updates are received again after a relist.
        if touched < phase.since || phase.missing == 0 {
            return;
        }
        phase.waits.push(now().saturating_sub(touched));
        phase.missing -= 1;
        if phase.missing == 0 {
            self.shared.all.notify_one();
        }
    }

    /// Waits for all expected updates.
    ///
    /// # Cancel safety
    /// No update is lost when the future is dropped.
    pub(super) async fn all(&self) {
        self.shared.all.notified().await;
    }

    /// Returns the recorded times, or none without updates.
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
        arrivals.received(&before);
        arrivals.received(&ObjectMeta::default());
        assert!(arrivals.delays().is_none());
        for _ in 0..3 {
            arrivals.received(&touched_at(now()));
        }
        arrivals.all().await;
        assert_eq!(arrivals.phase().waits.len(), 2);
        assert!(arrivals.delays().is_some());
    }
}
