//! Consistency checks against a server that answers them wrongly.

use std::time::Duration;

use crate::recording::LONG;
use crate::scripted::{ExactLists, Server};

#[tokio::test(start_paused = true)]
async fn contract_9_a_check_ends_if_the_list_would_never_end() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    server.answer_exact_lists(ExactLists::Endless);
    let error = informer.check_consistency().await.unwrap_err();
    assert!(error.is_not_checked(), "{error}");
    assert!(
        format!("{error:#}").contains("duplicate continue token"),
        "{error:#}"
    );
    informer.shutdown().await;
}

/// A difference may be a change that the second check no longer finds.
#[tokio::test(start_paused = true)]
async fn a_periodic_check_counts_only_confirmed_differences() {
    let every = Duration::from_mins(2);
    let server = Server::with(&["a/n"]);
    let informer = server.builder().check_consistency(every).build();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    server.answer_exact_lists(ExactLists::EmptyOnce);
    tokio::time::sleep(every * 3 / 2).await;
    let status = informer.status();
    assert_eq!((status.checks, status.inconsistencies, status.errors), (2, 0, 0));

    server.answer_exact_lists(ExactLists::EmptyOnce);
    let found = informer.check_consistency().await.unwrap();
    assert_eq!(found.unexpected.count(), 1, "{found}");
    assert_eq!(informer.status().inconsistencies, 1);
    informer.shutdown().await;
}
