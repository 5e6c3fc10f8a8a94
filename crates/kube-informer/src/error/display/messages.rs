//! Compares the text of every error with `src/error/messages.txt`, so that the wording can be reviewed as a whole.
//!
//! Run the test with `UPDATE_ERROR_MESSAGES=1` to rewrite the file.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};

use crate::error::{
    CheckFailure, DiscoveryProblem, Error, NotSynced, Operation, Problem, StatusError, UnservedStage,
    VersionNotReached,
};
use crate::types::{ConsistencyReport, Key, ResourceVersion, WatchedResource};

const FIVE_SECONDS: Duration = Duration::from_secs(5);

/// Returns the name of a variant. A new variant does not compile until it is listed here and in [`errors`].
fn variant(problem: &Problem) -> &'static str {
    match problem {
        Problem::Status(_) => "Status",
        Problem::Connect => "Connect",
        Problem::Transport(_) => "Transport",
        Problem::BadData(_) => "BadData",
        Problem::VeryShortWatch => "VeryShortWatch",
        Problem::StalledWatch(_) => "StalledWatch",
        Problem::NoStreamingList(_) => "NoStreamingList",
        Problem::WentBack { .. } => "WentBack",
        Problem::Behind { .. } => "Behind",
        Problem::NotServed { .. } => "NotServed",
        Problem::UserCode(_) => "UserCode",
        Problem::Internal(_) => "Internal",
        Problem::InvalidKey(_) => "InvalidKey",
        Problem::NoClient(_) => "NoClient",
        Problem::AlreadyStarted => "AlreadyStarted",
        Problem::Stopped => "Stopped",
        Problem::IndexConflict(_) => "IndexConflict",
        Problem::InformerConflict => "InformerConflict",
        Problem::NestedIndex(_) => "NestedIndex",
        Problem::UnknownIndex(_) => "UnknownIndex",
        Problem::NotFound(_) => "NotFound",
        Problem::ReservedParameter { .. } => "ReservedParameter",
        Problem::NotSynced { .. } => "NotSynced",
        Problem::NotAllSynced { .. } => "NotAllSynced",
        Problem::NothingStarted => "NothingStarted",
        Problem::HandlerNotSynced { .. } => "HandlerNotSynced",
        Problem::Discovery(problem) => match problem {
            DiscoveryProblem::RequestFailed { .. } => "Discovery::RequestFailed",
            DiscoveryProblem::Stale(_) => "Discovery::Stale",
            DiscoveryProblem::Unknown { .. } => "Discovery::Unknown",
            DiscoveryProblem::NotWatchable { .. } => "Discovery::NotWatchable",
        },
        Problem::NotReached { .. } => "NotReached",
        Problem::Inconsistent { .. } => "Inconsistent",
        Problem::NotChecked(why) => match why {
            CheckFailure::NotListed => "NotChecked::NotListed",
            CheckFailure::KindRemoved => "NotChecked::KindRemoved",
            CheckFailure::NoExactLists => "NotChecked::NoExactLists",
            CheckFailure::OtherVersion { .. } => "NotChecked::OtherVersion",
            CheckFailure::TooLong(_) => "NotChecked::TooLong",
            CheckFailure::Failed(_) => "NotChecked::Failed",
        },
    }
}

const VARIANTS: usize = 38;

fn pods() -> WatchedResource {
    WatchedResource::of::<Pod>(&(), ["shop"])
}

fn websites() -> WatchedResource {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Website"));
    WatchedResource::of::<DynamicObject>(&kind, None)
}

fn status(code: u16, reason: &str, message: &str) -> StatusError {
    StatusError {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..StatusError::default()
    }
}

fn in_cache(problem: Problem) -> Error {
    Error::new(problem).with_context(Operation::Cache, &pods())
}

fn watching(problem: Problem) -> Error {
    Error::new(problem).with_context(Operation::Watch, &pods())
}

fn checking(problem: Problem) -> Error {
    Error::new(problem).with_context(Operation::ConsistencyCheck, &pods())
}

fn version(version: &str) -> ResourceVersion {
    ResourceVersion::from(version)
}

fn forbidden() -> Error {
    let message = "pods is forbidden: User \"jane\" cannot list resource \"pods\"";
    Error::status(status(403, "Forbidden", message)).with_context(Operation::List, &pods())
}

fn refused() -> Error {
    Error::connect("connection refused").with_context(Operation::List, &pods())
}

fn not_synced(last: Option<Error>) -> Error {
    let why = NotSynced::TimedOut(FIVE_SECONDS);
    in_cache(Problem::NotSynced { why, last })
}

fn not_served(stage: UnservedStage) -> Problem {
    let status = status(404, "", "404 page not found");
    Problem::NotServed { stage, status }
}

fn report() -> Arc<ConsistencyReport> {
    let mut report = ConsistencyReport::new(version("7"));
    report.missing.add(&Key::namespaced("shop", "cart"));
    for name in ["a", "b", "c", "d"] {
        report.different.add(&Key::namespaced("shop", name));
    }
    report.unexpected.add(&Key::namespaced("shop", "web"));
    Arc::new(report)
}

fn errors() -> Vec<Error> {
    let mut errors = request_errors();
    errors.extend(usage_errors());
    errors.extend(wait_errors());
    errors.extend(discovery_errors());
    errors.extend(check_errors());
    errors
}

fn request_errors() -> Vec<Error> {
    vec![
        forbidden(),
        watching(Problem::Status(status(401, "Unauthorized", "Unauthorized"))),
        watching(Problem::Status(status(404, "", "404 page not found"))),
        watching(Problem::Status(status(
            410,
            "Expired",
            "too old resource version: 1 (5)",
        ))),
        watching(Problem::Status(status(500, "", ""))),
        Error::status(StatusError::default()),
        refused(),
        Error::transport("the watch broke", "connection reset").with_context(Operation::Watch, &pods()),
        Error::bad_data_from("cannot decode shop/cart", "expected a string")
            .with_context(Operation::StreamingList, &pods()),
        watching(Problem::VeryShortWatch),
        watching(Problem::StalledWatch(Duration::from_secs(30))),
        Error::streaming_refused(&Error::status(status(
            422,
            "Invalid",
            "sendInitialEvents is forbidden",
        )))
        .with_context(Operation::StreamingList, &pods()),
        watching(Problem::WentBack {
            from: version("9"),
            to: version("5"),
        }),
        watching(Problem::Behind {
            seen: version("9"),
            at: version("5"),
        }),
        watching(not_served(UnservedStage::New)),
        watching(not_served(UnservedStage::Removed)),
        watching(not_served(UnservedStage::Unchanged)),
        Error::new(not_served(UnservedStage::New)).with_context(Operation::List, &websites()),
        Error::new(not_served(UnservedStage::New)),
        Error::internal("a list ended twice"),
    ]
}

fn usage_errors() -> Vec<Error> {
    vec![
        in_cache(Problem::UserCode(
            "transform failed for shop/cart: no labels".to_owned(),
        )),
        Error::from("a/b/c".parse::<Key>().expect_err("an invalid key")),
        Error::no_client_because("invalid kubeconfig", "no such context"),
        in_cache(Problem::AlreadyStarted),
        in_cache(Problem::Stopped),
        in_cache(Problem::IndexConflict("node".to_owned())),
        in_cache(Problem::InformerConflict),
        in_cache(Problem::NestedIndex("node".to_owned())),
        in_cache(Problem::UnknownIndex("node".to_owned())),
        in_cache(Problem::NotFound(Key::namespaced("shop", "cart"))),
        Error::new(Problem::NotFound(Key::namespaced("shop", "cart"))),
        Error::new(Problem::ReservedParameter {
            name: "limit".to_owned(),
            setting: Some("page_size"),
        }),
        Error::new(Problem::ReservedParameter {
            name: "watch".to_owned(),
            setting: None,
        }),
    ]
}

fn wait_errors() -> Vec<Error> {
    let not_reached = |at: Option<&str>, why| {
        in_cache(Problem::NotReached {
            version: version("1000"),
            at: at.map(version),
            why,
        })
    };
    let handler_not_synced = |why| {
        in_cache(Problem::HandlerNotSynced {
            handler: "printer".to_owned(),
            backlog: 12,
            why,
        })
    };
    let not_all_synced = |errors, of| Error::new(Problem::NotAllSynced { errors, of });
    vec![
        not_synced(None),
        not_synced(Some(forbidden())),
        in_cache(Problem::NotSynced {
            why: NotSynced::Stopped,
            last: None,
        }),
        not_all_synced(vec![not_synced(Some(refused()))], 1),
        not_all_synced(vec![not_synced(Some(forbidden()))], 40),
        not_all_synced(
            vec![not_synced(Some(forbidden())), not_synced(Some(refused()))],
            40,
        ),
        Error::new(Problem::NothingStarted),
        handler_not_synced(NotSynced::TimedOut(FIVE_SECONDS)),
        handler_not_synced(NotSynced::Stopped),
        not_reached(Some("5"), VersionNotReached::TimedOut(FIVE_SECONDS)),
        not_reached(None, VersionNotReached::TimedOut(FIVE_SECONDS)),
        not_reached(Some("5"), VersionNotReached::Stopped),
        not_reached(Some("a1f"), VersionNotReached::NotComparable),
    ]
}

fn discovery_errors() -> Vec<Error> {
    let discovery = |problem| Error::new(Problem::Discovery(problem));
    let unknown = |near: &[&str], unavailable: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        discovery(DiscoveryProblem::Unknown {
            asked: "deploymnet".to_owned(),
            near: names(near),
            unavailable: names(unavailable),
        })
    };
    let not_watchable = |verbs: &[&str]| {
        discovery(DiscoveryProblem::NotWatchable {
            resource: "bindings".to_owned(),
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        })
    };
    vec![
        discovery(DiscoveryProblem::RequestFailed {
            path: "/apis".to_owned(),
            cause: Error::status(status(503, "", "no backend")),
        }),
        discovery(DiscoveryProblem::Stale("metrics.k8s.io/v1beta1".to_owned())),
        unknown(&[], &[]),
        unknown(&["deployments.apps", "deployments.example.com"], &[]),
        unknown(&[], &["apps/v1", "batch/v1"]),
        not_watchable(&["get", "list"]),
        not_watchable(&[]),
    ]
}

fn check_errors() -> Vec<Error> {
    let inconsistent = |relist| {
        checking(Problem::Inconsistent {
            found: report(),
            relist,
        })
    };
    let not_checked = |why| checking(Problem::NotChecked(why));
    vec![
        inconsistent(true),
        inconsistent(false),
        not_checked(CheckFailure::NotListed),
        not_checked(CheckFailure::KindRemoved),
        not_checked(CheckFailure::NoExactLists),
        not_checked(CheckFailure::OtherVersion {
            asked: version("7"),
            listed: version("8"),
        }),
        not_checked(CheckFailure::TooLong(FIVE_SECONDS)),
        not_checked(CheckFailure::Failed(refused())),
    ]
}

/// Prints each error with its hint, and below it the alternate form with all causes if that differs.
fn render() -> String {
    let mut text =
        String::from("# Rewrite with UPDATE_ERROR_MESSAGES=1 cargo test -p kube-informer error::display\n");
    for error in errors() {
        let (short, long) = (format!("{error}"), format!("{error:#}"));
        let _ = writeln!(text, "\n[{}]\n{short}", variant(error.problem()));
        if long != short {
            let _ = writeln!(text, "{{:#}} {long}");
        }
    }
    text
}

#[test]
fn every_variant_has_a_message() {
    let mut variants: Vec<&str> = errors().iter().map(|error| variant(error.problem())).collect();
    variants.sort_unstable();
    variants.dedup();
    assert_eq!(variants.len(), VARIANTS, "{variants:?}");
}

#[test]
fn messages_are_as_reviewed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/error/messages.txt");
    let rendered = render();
    if std::env::var_os("UPDATE_ERROR_MESSAGES").is_some() {
        std::fs::write(&path, rendered).expect("the file can be written");
        return;
    }
    let reviewed = std::fs::read_to_string(&path).expect("the file can be read");
    let (rendered, reviewed): (Vec<_>, Vec<_>) = (rendered.lines().collect(), reviewed.lines().collect());
    for (number, (rendered, reviewed)) in rendered.iter().zip(&reviewed).enumerate() {
        assert_eq!(rendered, reviewed, "line {} of {}", number + 1, path.display());
    }
    assert_eq!(rendered.len(), reviewed.len(), "lines of {}", path.display());
}
