//! Contract 9: no server behaviour causes requests in a tight loop.
//!
//! The server is an adversary: it sends random responses, at once or after a moment, in patterns that repeat
//! for a while. Only the waits of the machine and these moments take time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::table::{
    Action, MachineTest, ServerAction, answers, answers_later, bad_data, broke, expired, play, refused,
    steady, too_large,
};
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::Settings;

/// Maximum number of requests in a second.
///
/// Requests without a wait are the first one, two fallbacks, the watch and the discovery request. The
/// shortest wait is less than a second, so a second may contain two such bursts.
const IN_A_BURST: usize = 5;
/// Maximum number of requests in a minute. A watch that lasts a second is renewed at once, and some failures
/// are added.
const IN_A_MINUTE: usize = 70;

struct Adversary {
    random: fastrand::Rng,
    pattern: Vec<(u8, u8)>,
    repeat: usize,
    at: usize,
    version: u32,
    tokens: u32,
}

impl Adversary {
    fn new(seed: u64) -> Adversary {
        Adversary {
            random: fastrand::Rng::with_seed(seed),
            pattern: Vec::new(),
            repeat: 0,
            at: 0,
            version: 100,
            tokens: 0,
        }
    }

    /// Returns the next response and the time it takes.
    fn next(&mut self) -> (ServerAction, Duration) {
        if self.at == self.pattern.len() {
            self.at = 0;
            if self.repeat == 0 {
                let length = self.random.usize(1..6);
                self.pattern = (0..length)
                    .map(|_| (self.random.u8(..), self.random.u8(..)))
                    .collect();
                self.repeat = self.random.usize(1..80);
            }
            self.repeat -= 1;
        }
        let (what, pace) = self.pattern[self.at];
        self.at += 1;
        let moment = match pace % 8 {
            0..=4 => Duration::from_millis(1),
            5 => Duration::from_secs(1),
            6 => Duration::from_millis(self.random.u64(1..3000)),
            _ => Duration::from_secs(self.random.u64(1..200)),
        };
        (self.answer(what), moment)
    }

    fn answer(&mut self, what: u8) -> ServerAction {
        match what % 26 {
            0 => ServerAction::Page(self.some_version(), self.new_token()),
            1 => ServerAction::EmptyPage(self.some_version(), self.new_token()),
            2 => ServerAction::Page(self.some_version(), "again"),
            3..=5 => ServerAction::Listed(self.some_version()),
            6 | 7 => ServerAction::Opened,
            8 | 9 => ServerAction::Changed(self.some_version()),
            10 => ServerAction::Bookmark(self.some_version()),
            11..=13 => ServerAction::InitialEnd(self.some_version()),
            14..=16 => ServerAction::Closed,
            17 => ServerAction::Nothing,
            18 => expired(),
            19 => too_large()[self.random.usize(..3)].clone(),
            20 => refused(),
            21 => broke(),
            22 => bad_data(),
            23 => answers_later(429, self.random.u64(..4)),
            24 => answers([400, 403, 404, 422][self.random.usize(..4)]),
            _ => answers([500, 503, 504][self.random.usize(..3)]),
        }
    }

    fn discovery(&mut self) -> Option<bool> {
        [Some(true), Some(false), None][self.random.usize(..3)]
    }

    fn some_version(&mut self) -> &'static str {
        self.version += 1;
        match self.random.u8(..8) {
            0 => "5",
            1 => "opaque",
            _ => leak(self.version),
        }
    }

    fn new_token(&mut self) -> &'static str {
        self.tokens += 1;
        leak(self.tokens)
    }
}

/// Tables contain static text, so the test leaks some memory.
fn leak(number: u32) -> &'static str {
    number.to_string().leak()
}

/// Returns whether the server action is possible for a request: a list is not closed, a watch has no pages, and events
/// follow the response.
fn fits(action: &Action, step: &ServerAction) -> bool {
    match (action, step) {
        (Action::Wait(_) | Action::WaitForPage(_), _) | (_, ServerAction::Discovered(_)) => false,
        (_, ServerAction::Failed(_) | ServerAction::Nothing) => true,
        (Action::List { .. }, step) => {
            matches!(
                step,
                ServerAction::Page(..) | ServerAction::EmptyPage(..) | ServerAction::Listed(_)
            )
        }
        (Action::Watch { .. }, step) => matches!(step, ServerAction::Opened),
        (_, step) => matches!(
            step,
            ServerAction::Changed(_)
                | ServerAction::Bookmark(_)
                | ServerAction::InitialEnd(_)
                | ServerAction::Closed
        ),
    }
}

/// Counts requests in time windows and keeps the maximum.
struct Window {
    length: Duration,
    times: VecDeque<Instant>,
    max: usize,
}

impl Window {
    fn new(length: Duration) -> Window {
        Window {
            length,
            times: VecDeque::new(),
            max: 0,
        }
    }

    fn requested(&mut self, now: Instant) {
        while self
            .times
            .front()
            .is_some_and(|first| now - *first >= self.length)
        {
            self.times.pop_front();
        }
        self.times.push_back(now);
        self.max = self.max.max(self.times.len());
    }
}

/// The maximum numbers of requests.
#[derive(Debug, Default)]
struct MaxRequests {
    in_a_second: usize,
    in_a_minute: usize,
    without_a_wait: usize,
}

/// Runs the machine against an adversary. A page after a page with objects is part of the transfer of a list
/// and not counted.
fn max_requests(settings: Settings, seed: u64, steps: usize) -> MaxRequests {
    let first = if settings.streaming {
        "stream newest"
    } else {
        "list 0 by 500"
    };
    let mut adversary = Adversary::new(seed);
    let mut play: MachineTest = play(settings, first, &[]);
    let mut second = Window::new(Duration::from_secs(1));
    let mut minute = Window::new(Duration::from_mins(1));
    let (mut burst, mut longest_burst, mut requested) = (1, 1, play.now);
    for _ in 0..steps {
        if play.is_checking() {
            play.now += Duration::from_millis(1);
            play.apply(ServerAction::Discovered(adversary.discovery()));
        } else if matches!(play.action, Action::Wait(_) | Action::WaitForPage(_)) {
            play.apply(ServerAction::Waited);
            burst = 0;
        } else {
            let (step, moment) = adversary.next();
            if !fits(&play.action, &step) {
                continue;
            }
            let deadline = play.deadline();
            play.now = (play.now + moment).min(deadline);
            let is_transfer = matches!(step, ServerAction::Page(..));
            let answer = play.apply(step);
            let continues = ["good", "apply", "collect", "skip"].contains(&answer.as_str());
            let continues_as_watch = answer.starts_with("replace at") && !answer.contains(", ");
            if continues || continues_as_watch || is_transfer && answer.starts_with("page") {
                continue;
            }
        }
        if play.is_checking() || !matches!(play.action, Action::Wait(_) | Action::WaitForPage(_)) {
            second.requested(play.now);
            minute.requested(play.now);
            burst = if play.now - requested < Duration::from_secs(1) {
                burst + 1
            } else {
                1
            };
            longest_burst = longest_burst.max(burst);
            requested = play.now;
        }
    }
    MaxRequests {
        in_a_second: second.max,
        in_a_minute: minute.max,
        without_a_wait: longest_burst,
    }
}

#[test]
fn contract_9_no_server_behaviour_causes_many_requests() {
    for seed in 0..40 {
        for streaming in [true, false] {
            let settings = Settings {
                streaming,
                backoff: Backoff::default(),
                seed,
                ..steady()
            };
            let max = max_requests(settings, seed, 10_000);
            let few = max.without_a_wait <= IN_A_BURST
                && max.in_a_second <= 2 * IN_A_BURST
                && max.in_a_minute <= IN_A_MINUTE;
            assert!(few, "seed {seed}, streaming {streaming}: {max:?}");
        }
    }
}
