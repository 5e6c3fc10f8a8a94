//! Durations of the phases of a list.

use std::time::Duration;

use tokio::time::Instant;

use crate::object::WatchedResource;

/// Lists that take longer are logged with the durations of their phases, as in client-go.
const SLOW_LIST: Duration = Duration::from_secs(10);

/// The durations of a list that is being read.
#[derive(Debug)]
pub(super) struct ListTrace {
    began: Instant,
    requests: u32,
    /// Time spent waiting for the server.
    waiting: Duration,
    /// Time spent in pauses between pages, which limit the load of the server.
    pausing: Duration,
}

impl ListTrace {
    pub(super) fn begin() -> ListTrace {
        ListTrace {
            began: Instant::now(),
            requests: 0,
            waiting: Duration::ZERO,
            pausing: Duration::ZERO,
        }
    }

    pub(super) fn requested(&mut self) {
        self.requests += 1;
    }

    /// Awaits a response of the server and measures the time.
    pub(super) async fn wait_for<F: Future>(&mut self, response: F) -> F::Output {
        let began = Instant::now();
        let output = response.await;
        self.waiting += began.elapsed();
        output
    }

    pub(super) fn paused(&mut self, pause: Duration) {
        self.pausing += pause;
    }

    /// Logs the list if it was slow. `queueing` is the time until the queue accepted it.
    pub(super) fn finish(&self, resource: &WatchedResource, objects: usize, queueing: Duration) {
        let total = self.began.elapsed();
        if total < SLOW_LIST {
            return;
        }
        tracing::warn!(
            %resource,
            requests = self.requests,
            objects,
            ?total,
            waiting = ?self.waiting,
            pausing = ?self.pausing,
            decoding = ?self.decoding(total, queueing),
            ?queueing,
            "slow list: it took longer than 10 s"
        );
    }

    /// Returns the time that is left for decoding.
    fn decoding(&self, total: Duration, queueing: Duration) -> Duration {
        total.saturating_sub(self.waiting + self.pausing + queueing)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_remaining_time_is_attributed_to_decoding() {
        let second = Duration::from_secs(1);
        let mut trace = ListTrace::begin();
        trace.wait_for(sleep(3 * second)).await;
        advance(2 * second).await;
        trace.wait_for(sleep(second)).await;
        trace.paused(5 * second);
        assert_eq!((trace.waiting, trace.pausing), (4 * second, 5 * second));
        assert_eq!(trace.decoding(20 * second, 7 * second), 4 * second);
    }
}
