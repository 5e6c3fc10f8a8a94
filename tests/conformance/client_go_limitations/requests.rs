//! Requests: no hot loop, and configurable settings.

use std::time::Duration;

use conformance::TestServer;

use crate::observed_informer::ObservedInformer;
use crate::tap::answer;

/// Like the test in `embedded`, but in real time, counting requests at the server.
#[tokio::test]
async fn very_short_watches_cause_no_hot_loop() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| {
        informer.backoff(kube_informer::Backoff::default())
    });
    observed
        .tap
        .proxy(|asked, _| (!asked.is_list()).then(|| answer(200, "application/json", "")));
    observed.start().await;
    observed.requests(4).await;
    let all = observed.tap.all();
    assert_eq!(
        observed.tap.words(),
        ["stream newest", "list any 500", "watch last", "watch last"]
    );
    assert!(all[3].at - all[2].at >= Duration::from_millis(800));
}

/// 8. Backoff, page size and timeouts cannot be set through the factory. Here the builder sets them.
#[tokio::test]
async fn page_size_and_watch_timeout_are_configurable() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| {
        informer
            .streaming_list(false)
            .page_size(17)
            .watch_timeout(Duration::from_hours(1))
    });
    observed.start().await;
    observed.requests(2).await;
    let all = observed.tap.all();
    assert_eq!(all[0].parameter("limit"), Some("17"));
    let time = all[1]
        .parameter("timeoutSeconds")
        .and_then(|text| text.parse().ok());
    assert!((3600..=7200).contains(&time.unwrap_or(0)), "{time:?}");
}
