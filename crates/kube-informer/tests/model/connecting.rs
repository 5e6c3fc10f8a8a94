//! Requests that need a connection: shared attempts, failures and cancelled attempts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::future::block_on;
use loom::thread::{JoinHandle, spawn};

use crate::in_all_orders;
use crate::single_flight::{AttemptCancelled, AttemptGuard, FindResult, SingleFlight};

/// The number of the connection, if there is one.
type State = Option<usize>;
type Outcome = Result<usize, &'static str>;

/// The result of an attempt.
#[derive(Clone, Copy)]
enum Network {
    Connects,
    Refuses,
    /// The runtime of the attempt ends.
    Cancels,
}

#[derive(Clone)]
struct Client {
    flight: Arc<SingleFlight<State, Outcome>>,
    attempts: Arc<AtomicUsize>,
}

impl Client {
    fn new() -> Client {
        Client {
            flight: Arc::new(SingleFlight::new(None)),
            attempts: Arc::default(),
        }
    }

    /// Runs the first attempts as given, and all others successfully.
    fn begin(&self, networks: &[Network], guard: AttemptGuard<State, Outcome>) {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed);
        let network = networks.get(number).copied().unwrap_or(Network::Connects);
        spawn(move || match network {
            Network::Connects => guard.finish(|state| {
                assert!(state.replace(number).is_none(), "a second connection");
                Ok(number)
            }),
            Network::Refuses => guard.finish(|_| Err("refused")),
            Network::Cancels => drop(guard),
        });
    }

    fn request(&self, networks: &'static [Network]) -> Result<Outcome, AttemptCancelled> {
        let found = self
            .flight
            .find_or_wait(|state| *state, |guard| self.begin(networks, guard));
        block_on(found).map(|found| match found {
            FindResult::Found(connection) => Ok(connection),
            FindResult::Waited(outcome) => outcome,
        })
    }

    fn requester(&self, networks: &'static [Network]) -> JoinHandle<Result<Outcome, AttemptCancelled>> {
        let client = self.clone();
        spawn(move || client.request(networks))
    }
}

#[test]
fn requests_that_begin_together_share_one_connection() {
    in_all_orders(3, || {
        let client = Client::new();
        let other = client.requester(&[]);
        assert_eq!(client.request(&[]), Ok(Ok(0)));
        assert_eq!(other.join().expect("a request"), Ok(Ok(0)));
        assert_eq!(client.request(&[]), Ok(Ok(0)), "it is used again");
        assert_eq!(client.attempts.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn after_a_failure_the_next_request_tries_again() {
    in_all_orders(3, || {
        const NETWORKS: &[Network] = &[Network::Refuses];
        let client = Client::new();
        let other = client.requester(NETWORKS);
        // A request after the failure has a connection.
        let first = client.request(NETWORKS).expect("nothing is cancelled");
        let second = other.join().expect("a request").expect("nothing is cancelled");
        assert!(
            first.is_err() || second.is_err(),
            "one made the attempt that failed"
        );
        assert_eq!(client.request(NETWORKS), Ok(Ok(1)));
        assert_eq!(client.attempts.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn after_a_cancelled_attempt_the_next_request_connects() {
    in_all_orders(3, || {
        const NETWORKS: &[Network] = &[Network::Cancels];
        let client = Client::new();
        assert_eq!(client.request(NETWORKS), Err(AttemptCancelled));
        assert_eq!(client.request(NETWORKS), Ok(Ok(1)));
    });
}

/// The runtime of one request ends; the other request has its own runtime.
#[test]
fn a_request_that_waits_for_a_cancelled_attempt_starts_its_own() {
    in_all_orders(3, || {
        const NETWORKS: &[Network] = &[Network::Cancels];
        let client = Client::new();
        let other = client.requester(NETWORKS);
        let first = client.request(NETWORKS);
        let second = other.join().expect("a request");
        // The request that started the attempt gets an error, the other one a connection.
        match (first, second) {
            (Err(AttemptCancelled), Ok(Ok(1))) | (Ok(Ok(1)), Err(AttemptCancelled)) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(client.request(NETWORKS), Ok(Ok(1)));
        assert_eq!(client.attempts.load(Ordering::Relaxed), 2);
    });
}

/// A runtime that has already ended drops the attempt immediately, during the request.
#[test]
fn an_attempt_in_an_ended_runtime_ends_at_once() {
    in_all_orders(3, || {
        let client = Client::new();
        let refused = client.flight.find_or_wait(|state| *state, drop);
        assert!(matches!(block_on(refused), Err(AttemptCancelled)));
        assert_eq!(client.request(&[]), Ok(Ok(0)));
    });
}
