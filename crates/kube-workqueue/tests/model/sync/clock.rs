//! A clock that threads advance.

use std::ops::Add;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::Mutex;

loom::lazy_static! {
    /// One per execution of a model.
    static ref CLOCK: Mutex<Clock> = Mutex::new(Clock::default());
}

#[derive(Default)]
struct Clock {
    now: Duration,
    sleepers: Vec<(u64, Duration, Waker)>,
    next: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(crate) fn now() -> Instant {
        Instant(CLOCK.lock().now)
    }

    pub(crate) fn elapsed(self) -> Duration {
        Instant::now().0.saturating_sub(self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0.saturating_add(time))
    }
}

/// Advances the clock and wakes the tasks whose sleep ends.
pub(crate) fn advance(time: Duration) {
    let woken: Vec<Waker> = {
        let mut clock = CLOCK.lock();
        clock.now += time;
        let now = clock.now;
        let (over, asleep) = clock.sleepers.drain(..).partition(|sleeper| sleeper.1 <= now);
        clock.sleepers = asleep;
        let over: Vec<_> = over;
        over.into_iter().map(|(_, _, waker)| waker).collect()
    };
    woken.into_iter().for_each(Waker::wake);
}

pub(crate) struct Sleep {
    until: Duration,
    id: Option<u64>,
}

pub(crate) fn sleep_until(until: Instant) -> Sleep {
    Sleep {
        until: until.0,
        id: None,
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut clock = CLOCK.lock();
        if clock.now >= self.until {
            return Poll::Ready(());
        }
        let id = self.id.unwrap_or(clock.next);
        if self.id.replace(id).is_none() {
            clock.next += 1;
        }
        clock.sleepers.retain(|sleeper| sleeper.0 != id);
        clock.sleepers.push((id, self.until, cx.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            CLOCK.lock().sleepers.retain(|sleeper| sleeper.0 != id);
        }
    }
}

/// Never times out: a future that does not complete is a deadlock.
pub(crate) async fn timeout<T>(_limit: Duration, what: impl Future<Output = T>) -> Result<T, ()> {
    Ok(what.await)
}
