//! Injected faults.
//!
//! A rule consists of the affected requests ([`On`]) and a fault ([`Fault`]):
//!
//! ```
//! # use kube_embedded::{Fault, On, Server};
//! # async fn example(server: &Server) {
//! // The next watch of pods breaks within its third event.
//! server.faults().add(On::watch("pods").once(), Fault::CutAfterEvents(2));
//! // Lists fail twice, then one is slow.
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
pub(crate) use fault::{ObjectFault, ResponseFaults, WatchEnd, failure};
pub use on::On;

use crate::record::Request;

/// The rules that inject faults into a server.
///
/// See [`Fault`] for the faults, and [`On`] for the affected requests.
#[doc(alias("Reactor", "PrependReactor"))]
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Vec<Arc<FaultRule>>>,
}

#[derive(Debug)]
struct FaultRule {
    on: On,
    state: Mutex<RuleState>,
}

#[derive(Debug)]
struct RuleState {
    /// Number of matching requests to skip.
    skip: usize,
    /// Number of matching requests that still get the fault; `None` if unlimited.
    left: Option<usize>,
    plan: Plan,
    hits: usize,
}

#[derive(Debug)]
enum Plan {
    Always(Fault),
    Script(VecDeque<Fault>),
}

/// A handle of a rule, to count the affected requests or to end it.
///
/// ```
/// # use kube_embedded::{Fault, On, Server};
/// # async fn example(server: &Server) {
/// let rule = server.faults().add(On::list("pods"), Fault::unavailable());
/// // The program under test runs.
/// assert!(rule.hits() > 0, "the program did not list pods");
/// rule.end();
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FaultHandle {
    rule: Arc<FaultRule>,
}

impl FaultHandle {
    /// Returns the number of requests that got the fault.
    pub fn hits(&self) -> usize {
        self.rule.state.lock().hits
    }

    /// Ends the rule. Responses that have started keep their fault.
    pub fn end(&self) {
        self.rule.state.lock().left = Some(0);
    }
}

impl Faults {
    /// Adds a rule.
    pub fn add(&self, on: On, fault: Fault) -> FaultHandle {
        let left = on.times;
        self.push(on, left, Plan::Always(fault))
    }

    /// Adds a script: the first matching request gets the first fault, the second one the second, and so on. Requests
    /// after the last get none. [`Fault::None`] skips a request.
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
        let rule = Arc::new(FaultRule {
            on,
            state: Mutex::new(state),
        });
        self.rules.lock().push(rule.clone());
        FaultHandle { rule }
    }

    /// Ends all rules. Responses that have started keep their fault.
    pub fn clear(&self) {
        self.rules.lock().clear();
    }

    /// Returns the faults of a request and counts it for the matching rules.
    pub(crate) fn take(&self, request: &Request) -> Vec<Fault> {
        let mut rules = self.rules.lock();
        let taken = rules.iter().filter_map(|rule| rule.take(request)).collect();
        rules.retain(|rule| rule.state.lock().left != Some(0));
        taken
    }
}

impl FaultRule {
    fn take(&self, request: &Request) -> Option<Fault> {
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
