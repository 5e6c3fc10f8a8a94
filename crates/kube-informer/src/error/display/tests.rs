use std::error::Error as StdError;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

use super::{CheckFailure, Error, ErrorChain, NotSynced, Problem, StatusError};
use crate::error::{DiscoveryProblem, Operation};
use crate::object::WatchedResource;

fn pods() -> WatchedResource {
    WatchedResource::of::<Pod>(&(), ["shop"])
}

fn refused() -> Error {
    let io = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "connection refused");
    Error::connect(io).with_context(Operation::List, &pods())
}

fn forbidden() -> Error {
    let status = StatusError {
        code: 403,
        reason: "Forbidden".to_owned(),
        ..StatusError::default()
    };
    Error::status(status).with_context(Operation::Watch, &pods())
}

fn not_synced(last: Error) -> Error {
    let why = NotSynced::TimedOut(Duration::from_secs(5));
    let last = Some(last);
    Error::new(Problem::NotSynced { why, last }).with_context(Operation::Cache, &pods())
}

fn not_all_synced(errors: Vec<Error>, of: usize) -> Error {
    Error::new(Problem::NotAllSynced { errors, of })
}

/// Every error that has causes, and the texts that its chain must contain.
fn errors_with_causes() -> Vec<(Error, &'static [&'static str])> {
    const LISTING: &[&str] = &[
        "listing pods",
        "shop",
        "cannot reach the server",
        "connection refused",
    ];
    let discovery = DiscoveryProblem::RequestFailed {
        path: "/apis".to_owned(),
        cause: refused(),
    };
    // Shared, so that attaching the context has to copy it.
    let shared = Error::connect("connection refused");
    let clone = shared.clone();
    let checked = Error::new(Problem::NotChecked(CheckFailure::Failed(refused())))
        .with_context(Operation::ConsistencyCheck, &pods());
    let errors = vec![
        (refused(), LISTING),
        (clone.with_context(Operation::List, &pods()), LISTING),
        (
            Error::transport("the watch broke", "connection reset").with_context(Operation::Watch, &pods()),
            &["watching pods", "shop", "the watch broke", "connection reset"][..],
        ),
        (
            Error::bad_data_from("cannot decode shop/cart", "expected a string")
                .with_context(Operation::StreamingList, &pods()),
            &[
                "listing pods",
                "shop",
                "as a stream",
                "cannot decode shop/cart",
                "expected a string",
            ],
        ),
        (
            Error::no_client_because("invalid kubeconfig", "no such context"),
            &["invalid kubeconfig", "no such context"],
        ),
        (
            Error::new(Problem::Discovery(discovery)),
            &["/apis", "connection refused"],
        ),
        (
            checked,
            &[
                "consistency check failed",
                "pods in namespace shop",
                "connection refused",
            ],
        ),
        (
            not_synced(refused()),
            &["did not sync within 5s", "listing pods", "connection refused"],
        ),
        (
            not_all_synced(vec![not_synced(refused())], 1),
            &["did not sync within 5s", "listing pods", "connection refused"],
        ),
        (
            not_all_synced(vec![not_synced(refused())], 40),
            &[
                "1 of 40 caches",
                "pods in namespace",
                "did not sync within 5s",
                "connection refused",
            ],
        ),
        (
            not_all_synced(vec![not_synced(refused()), not_synced(forbidden())], 40),
            &["2 of 40 caches", "connection refused", "watching pods", "403"],
        ),
    ];
    drop(shared);
    errors
}

/// Returns the message of each error of the chain without hints, as printers such as anyhow's print the chain.
fn levels(error: &Error) -> Vec<String> {
    let message = |text: String| text.split("\nhint: ").next().unwrap_or_default().to_owned();
    let mut levels = vec![message(error.to_string())];
    let mut next = error.source();
    while let Some(cause) = next {
        levels.push(message(cause.to_string()));
        next = cause.source();
    }
    levels
}

#[test]
fn each_error_of_a_chain_prints_itself_and_no_cause() {
    for (error, expected) in errors_with_causes() {
        let levels = levels(&error);
        for (at, level) in levels.iter().enumerate() {
            for cause in &levels[at + 1..] {
                assert!(!level.contains(cause.as_str()), "{level:?} repeats {cause:?}");
                assert!(!cause.contains(level.as_str()), "{cause:?} repeats {level:?}");
            }
        }
        let whole = levels.join(": ");
        for text in expected {
            assert!(whole.contains(text), "{whole:?} does not contain {text:?}");
        }
    }
}

#[test]
fn the_alternate_form_logs_and_debug_output_print_the_whole_chain() {
    for (error, _) in errors_with_causes() {
        let alternate = format!("{error:#}");
        assert_eq!(
            alternate.split("\nhint: ").next(),
            Some(levels(&error).join(": ").as_str())
        );
        let line = alternate.replace('\n', "; ");
        assert_eq!(ErrorChain(&error).to_string(), line);
        assert_eq!(format!("{error:?}"), format!("Error({line})"));
    }
}
