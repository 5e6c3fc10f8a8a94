//! Contract 9: no behaviour of a server makes the machine ask in a tight loop.
//!
//! The server here is an adversary: it answers anything at all, at once or after a moment, at random and in patterns
//! that it repeats for a while. Time passes only by what the machine waits for and by those moments.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::table::{
    Action, Did, Play, answers, answers_later, bad_data, broke, expired, play, refused, steady, too_large,
};
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::Settings;

/// The requests that may follow each other without a wait: one, two in its place, the watch, and the question whether the
/// kind is served. The shortest wait is less than a second, so a second may see the two bursts at its ends.
const IN_A_BURST: usize = 5;
/// A watch that lives for a second is renewed at once, and a few failures come on top.
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

    /// The next answer and the moment it takes.
    fn next(&mut self) -> (Did, Duration) {
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

    fn answer(&mut self, what: u8) -> Did {
        match what % 26 {
            0 => Did::Page(self.some_version(), self.new_token()),
            1 => Did::EmptyPage(self.some_version(), self.new_token()),
            2 => Did::Page(self.some_version(), "again"),
            3..=5 => Did::Listed(self.some_version()),
            6 | 7 => Did::Opened,
            8 | 9 => Did::Changed(self.some_version()),
            10 => Did::Bookmark(self.some_version()),
            11..=13 => Did::InitialEnd(self.some_version()),
            14..=16 => Did::Closed,
            17 => Did::Nothing,
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

/// Tables hold static text, and a test may leak a little.
fn leak(number: u32) -> &'static str {
    number.to_string().leak()
}

/// Whether a server can do this now: a list is not closed, a watch has no pages, and events follow the response.
fn fits(action: &Action, did: &Did) -> bool {
    match (action, did) {
        (Action::Wait(_), _) | (_, Did::Discovered(_)) => false,
        (_, Did::Failed(_) | Did::Nothing) => true,
        (Action::List { .. }, did) => {
            matches!(did, Did::Page(..) | Did::EmptyPage(..) | Did::Listed(_))
        }
        (Action::Watch { .. }, did) => matches!(did, Did::Opened),
        (_, did) => matches!(
            did,
            Did::Changed(_) | Did::Bookmark(_) | Did::InitialEnd(_) | Did::Closed
        ),
    }
}

/// Counts requests in windows of time and keeps the most there were.
struct Window {
    length: Duration,
    times: VecDeque<Instant>,
    most: usize,
}

impl Window {
    fn new(length: Duration) -> Window {
        Window {
            length,
            times: VecDeque::new(),
            most: 0,
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
        self.most = self.most.max(self.times.len());
    }
}

/// The most requests that came.
#[derive(Debug, Default)]
struct Most {
    in_a_second: usize,
    in_a_minute: usize,
    without_a_wait: usize,
}

/// Plays against an adversary. A page that follows a page with objects is the transfer of a list, as large as the list is,
/// and not counted.
fn most_requests(settings: Settings, seed: u64, steps: usize) -> Most {
    let first = if settings.streaming {
        "stream newest"
    } else {
        "list 0 by 500"
    };
    let mut adversary = Adversary::new(seed);
    let mut play: Play = play(settings, first, &[]);
    let mut second = Window::new(Duration::from_secs(1));
    let mut minute = Window::new(Duration::from_mins(1));
    let (mut burst, mut longest_burst, mut requested) = (1, 1, play.now);
    for _ in 0..steps {
        if play.is_checking() {
            play.now += Duration::from_millis(1);
            play.tell(Did::Discovered(adversary.discovery()));
        } else if matches!(play.action, Action::Wait(_)) {
            play.tell(Did::Waited);
            burst = 0;
        } else {
            let (did, moment) = adversary.next();
            if !fits(&play.action, &did) {
                continue;
            }
            let deadline = play.deadline();
            play.now = (play.now + moment).min(deadline);
            let is_transfer = matches!(did, Did::Page(..));
            let answer = play.tell(did);
            let goes_on = ["good", "apply", "collect", "skip"].contains(&answer.as_str());
            let goes_on_after_all = answer.starts_with("whole at") && !answer.contains(", ");
            if goes_on || goes_on_after_all || is_transfer && answer.starts_with("page") {
                continue;
            }
        }
        if play.is_checking() || !matches!(play.action, Action::Wait(_)) {
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
    Most {
        in_a_second: second.most,
        in_a_minute: minute.most,
        without_a_wait: longest_burst,
    }
}

#[test]
fn contract_9_no_server_draws_more_than_a_few_requests() {
    for seed in 0..40 {
        for streaming in [true, false] {
            let settings = Settings {
                streaming,
                backoff: Backoff::default(),
                seed,
                ..steady()
            };
            let most = most_requests(settings, seed, 10_000);
            let few = most.without_a_wait <= IN_A_BURST
                && most.in_a_second <= 2 * IN_A_BURST
                && most.in_a_minute <= IN_A_MINUTE;
            assert!(few, "seed {seed}, streaming {streaming}: {most:?}");
        }
    }
}
