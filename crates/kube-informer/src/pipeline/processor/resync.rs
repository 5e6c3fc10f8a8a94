//! When which handler gets a resync.

use std::time::Duration;

use tokio::time::Instant;

use crate::util::MAX_DURATION;

/// Handlers are not resynced more often than this.
const MIN_RESYNC: Duration = Duration::from_secs(1);

/// What a handler asked for, and when its time has come.
#[derive(Debug, Clone)]
pub(super) struct ResyncTimes {
    asked: Duration,
    period: Duration,
    next: Instant,
}

impl ResyncTimes {
    /// Whether the handler is to hear of unchanged objects at all.
    pub(super) fn wants(&self) -> bool {
        !self.period.is_zero()
    }

    /// Whether it is due; if so, the next time is set.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        if !self.wants() || now < self.next {
            return false;
        }
        self.next = now + self.period;
        true
    }

    pub(super) fn set_check_period(&mut self, check: Duration) {
        self.period = period(self.asked, check);
    }
}

/// How often the informer looks whether a handler is due. It stands for client-go's `resyncCheckPeriod`: before the
/// start it becomes the shortest period that is asked for, and from then on nobody can have a shorter one.
#[derive(Debug, Clone)]
pub(super) struct CheckPeriod {
    /// What handlers get that ask for nothing.
    default: Duration,
    check: Duration,
}

/// A handler's times, and the check period if others have to follow it.
pub(super) struct ResyncSchedule {
    pub(super) times: ResyncTimes,
    pub(super) lowered: Option<Duration>,
}

impl CheckPeriod {
    pub(super) fn new(default: Duration) -> CheckPeriod {
        let default = within_reason(default);
        CheckPeriod {
            default,
            check: default,
        }
    }

    pub(super) fn get(&self) -> Duration {
        self.check
    }

    /// A handler joins and asks for a period; none means the informer's.
    pub(super) fn join(
        &mut self,
        asked: Option<Duration>,
        started: bool,
        now: Instant,
        handler: &str,
    ) -> ResyncSchedule {
        let asked = asked.map_or(self.default, within_reason);
        let mut lowered = None;
        if !asked.is_zero() && asked < self.check && !started {
            self.check = asked;
            lowered = Some(asked);
        }
        let period = period(asked, self.check);
        if period != asked {
            tracing::warn!(
                handler,
                asked = ?asked,
                got = ?period,
                "this resync period cannot be had: the informer was started with a longer one, or with none"
            );
        }
        ResyncSchedule {
            times: ResyncTimes {
                asked,
                period,
                next: now + period,
            },
            lowered,
        }
    }
}

/// Zero means never, and stays.
fn within_reason(period: Duration) -> Duration {
    if period.is_zero() {
        period
    } else {
        period.clamp(MIN_RESYNC, MAX_DURATION)
    }
}

/// client-go's `determineResyncPeriod`.
fn period(asked: Duration, check: Duration) -> Duration {
    if asked.is_zero() || check.is_zero() {
        Duration::ZERO
    } else {
        asked.max(check)
    }
}
