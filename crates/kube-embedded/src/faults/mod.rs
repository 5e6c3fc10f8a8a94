//! Misbehaviour on demand.
//!
//! A rule says *on which requests* ([`On`]) *what goes wrong* ([`Fault`]):
//!
//! ```
//! # use kube_embedded::{Fault, On, Server};
//! # async fn example(server: &Server) {
//! // The next watch of pods breaks off in the middle of its third event …
//! server.faults().add(On::watch("pods").once(), Fault::CutAfterEvents(2));
//! // … and lists fail twice, then are slow, then are well again.
//! server.faults().script(
//!     On::list("pods"),
//!     [Fault::unavailable(), Fault::too_many_requests(1), Fault::Delay(std::time::Duration::from_secs(2))],
//! );
//! # }
//! ```

mod fault;
mod on;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

pub use fault::Fault;
pub(crate) use fault::{Ending, ObjectTwist, Twist, failure};
pub use on::On;

use crate::record::Request;

/// The rules of a server.
///
/// See [`Fault`] for what can go wrong, and [`On`] for when.
#[doc(alias("Reactor", "PrependReactor"))]
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Vec<Arc<Rule>>>,
}

#[derive(Debug)]
struct Rule {
    on: On,
    state: Mutex<RuleState>,
}

#[derive(Debug)]
struct RuleState {
    /// Matching requests still to let pass.
    skip: usize,
    /// Matching requests still to be hit; `None` is without end.
    left: Option<usize>,
    plan: Plan,
    hits: usize,
}

#[derive(Debug)]
enum Plan {
    Always(Fault),
    Script(VecDeque<Fault>),
}

/// A rule that was set, to ask about it or to take it back.
///
/// ```
/// # use kube_embedded::{Fault, On, Server};
/// # async fn example(server: &Server) {
/// let rule = server.faults().add(On::list("pods"), Fault::unavailable());
/// // … the program under test does its work …
/// assert!(rule.hits() > 0, "nobody listed pods");
/// rule.end();
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FaultHandle {
    rule: Arc<Rule>,
}

impl FaultHandle {
    /// How many requests it has hit.
    pub fn hits(&self) -> usize {
        self.rule.state.lock().hits
    }

    /// Ends the rule. Answers already under way keep their fault.
    pub fn end(&self) {
        self.rule.state.lock().left = Some(0);
    }
}

impl Faults {
    /// Sets a rule: on such requests, this goes wrong.
    pub fn add(&self, on: On, fault: Fault) -> FaultHandle {
        let left = on.times;
        self.push(on, left, Plan::Always(fault))
    }

    /// Sets a script: the first such request meets the first fault, the second one the second, and so on; those after
    /// the last meet none. [`Fault::None`] lets a request pass.
    pub fn script(&self, on: On, faults: impl IntoIterator<Item = Fault>) -> FaultHandle {
        let faults: VecDeque<Fault> = faults.into_iter().collect();
        let left = Some(on.times.unwrap_or(usize::MAX).min(faults.len()));
        self.push(on, left, Plan::Script(faults))
    }

    fn push(&self, on: On, left: Option<usize>, plan: Plan) -> FaultHandle {
        let state = RuleState {
            skip: on.skip,
            left,
            plan,
            hits: 0,
        };
        let rule = Arc::new(Rule {
            on,
            state: Mutex::new(state),
        });
        self.rules.lock().push(rule.clone());
        FaultHandle { rule }
    }

    /// Ends every rule. Answers already under way keep their fault.
    pub fn clear(&self) {
        self.rules.lock().clear();
    }

    /// The faults that a request meets, each rule being counted.
    pub(crate) fn meet(&self, request: &Request) -> Vec<Fault> {
        let mut rules = self.rules.lock();
        let met = rules.iter().filter_map(|rule| rule.meet(request)).collect();
        rules.retain(|rule| rule.state.lock().left != Some(0));
        met
    }
}

impl Rule {
    fn meet(&self, request: &Request) -> Option<Fault> {
        if !self.on.matches(request) {
            return None;
        }
        let mut state = self.state.lock();
        if state.skip > 0 {
            state.skip -= 1;
            return None;
        }
        if state.left == Some(0) {
            return None;
        }
        state.left = state.left.map(|n| n - 1);
        let fault = match &mut state.plan {
            Plan::Always(fault) => fault.clone(),
            Plan::Script(faults) => faults.pop_front()?,
        };
        if matches!(fault, Fault::None) {
            return None;
        }
        state.hits += 1;
        Some(fault)
    }
}
