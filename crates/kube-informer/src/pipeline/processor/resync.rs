//! Resync periods of handlers.

use std::time::Duration;

use tokio::time::Instant;

use crate::util::MAX_DURATION;

/// Minimum resync period.
const MIN_RESYNC: Duration = Duration::from_secs(1);

/// The resync period of a handler and the time of its next resync.
#[derive(Debug, Clone)]
pub(super) struct ResyncTimes {
    requested: Duration,
    period: Duration,
    next: Instant,
}

impl ResyncTimes {
    /// Returns whether the handler gets resyncs.
    pub(super) fn is_enabled(&self) -> bool {
        !self.period.is_zero()
    }

    /// Returns whether a resync is due, and if so schedules the next one.
    pub(super) fn check_due(&mut self, now: Instant) -> bool {
        if !self.is_enabled() || now < self.next {
            return false;
        }
        self.next = now + self.period;
        true
    }

    pub(super) fn set_check_period(&mut self, check: Duration) {
        self.period = period(self.requested, check);
    }
}

/// The interval at which the informer checks for due resyncs.
///
/// client-go: `resyncCheckPeriod`. Before the start it becomes the shortest requested period; after the start
/// it is fixed, and no handler can have a shorter period.
#[derive(Debug, Clone)]
pub(super) struct CheckPeriod {
    /// The period of handlers that request none.
    default: Duration,
    check: Duration,
}

/// The resync times of a new handler, and the new check period if the handler lowered it.
pub(super) struct ResyncSchedule {
    pub(super) times: ResyncTimes,
    pub(super) lowered_check: Option<Duration>,
}

impl CheckPeriod {
    pub(super) fn new(default: Duration) -> CheckPeriod {
        let default = clamp_period(default);
        CheckPeriod {
            default,
            check: default,
        }
    }

    pub(super) fn get(&self) -> Duration {
        self.check
    }

    /// Adds a handler. Without a requested period it gets the informer's.
    pub(super) fn join(
        &mut self,
        requested: Option<Duration>,
        started: bool,
        now: Instant,
        handler: &str,
    ) -> ResyncSchedule {
        let requested = requested.map_or(self.default, clamp_period);
        let mut lowered_check = None;
        if !requested.is_zero() && requested < self.check && !started {
            self.check = requested;
            lowered_check = Some(requested);
        }
        let period = period(requested, self.check);
        if period != requested && period.is_zero() {
            tracing::warn!(
                handler,
                ?requested,
                "no resyncs: the informer was started without a resync period"
            );
        } else if period != requested {
            tracing::warn!(
                handler,
                ?requested,
                effective = ?period,
                "resync period raised: the informer has already started"
            );
        }
        ResyncSchedule {
            times: ResyncTimes {
                requested,
                period,
                next: now + period,
            },
            lowered_check,
        }
    }
}

/// Limits a period to the supported range. Zero means never and is kept.
fn clamp_period(period: Duration) -> Duration {
    if period.is_zero() {
        period
    } else {
        period.clamp(MIN_RESYNC, MAX_DURATION)
    }
}

/// client-go: `determineResyncPeriod`.
fn period(requested: Duration, check: Duration) -> Duration {
    if requested.is_zero() || check.is_zero() {
        Duration::ZERO
    } else {
        requested.max(check)
    }
}
