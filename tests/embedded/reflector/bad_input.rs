//! Invalid responses of a server.

use std::time::Duration;

use kube_embedded::{Fault, On};

use crate::observed_informer::ObservedInformer;

/// The same faults, injected into lists, streams and watches of the embedded server. Embedded only.
#[tokio::test(start_paused = true)]
async fn corrupt_responses_of_every_kind_are_survived() {
    let faults = [
        Fault::WrongKind,
        Fault::NoMetadata,
        Fault::UnwantedTable,
        Fault::BrokenJson(1),
        Fault::CutAfterBytes(60),
        Fault::CutAfterEvents(1),
    ];
    for fault in faults {
        for streaming in [true, false] {
            let (server, mut observed) =
                ObservedInformer::paused(|informer| informer.streaming_list(streaming)).await;
            observed.create("a").await;
            observed.create("b").await;
            observed.start().await;
            let mut events = observed.events();
            assert_eq!(events.sorted(2).await, ["+a", "+b"]);
            let rule = server
                .faults()
                .add(On::list_or_watch("configmaps").times(5), fault.clone());
            // The list and the streams are invalid, too: there is nothing to resume from.
            server.cut_connections();
            server.compact_history();
            observed.error_that(kube_informer::Error::is_connection).await;
            observed.change("a", "2").await;
            observed.delete("b").await;
            for _ in 0..3 {
                let error = observed.error().await;
                assert!(error.to_string().contains("configmaps"), "{fault:?}: {error}");
            }
            observed.catches_up().await;
            assert!(rule.hits() > 1, "{fault:?}");
            let words = events.until("+marker-0").await;
            assert_eq!(
                words.iter().filter(|word| word.starts_with("-b")).count(),
                1,
                "{fault:?}: {words:?}"
            );
            assert_eq!(
                words.iter().filter(|word| *word == "~a").count(),
                1,
                "{fault:?}: {words:?}"
            );
        }
    }
}

/// No Kubernetes object has this size. Embedded only.
#[tokio::test(start_paused = true)]
async fn oversized_event_is_not_buffered() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::Oversized(65 << 20));
    observed.start().await;
    let before = observed.informer.resource_version();
    observed.change("a", "2").await;
    let error = observed.error().await;
    assert!(error.is_bad_data(), "{error}");
    assert!(error.to_string().contains("64 MiB"), "{error}");
    assert_eq!(observed.informer.resource_version(), before);
    observed.catches_up().await;
}

/// Slow responses are valid: bytes arrive one by one, for minutes. Embedded only.
#[tokio::test(start_paused = true)]
async fn responses_in_small_chunks_are_accepted() {
    for streaming in [true, false] {
        let (server, mut observed) =
            ObservedInformer::paused(|informer| informer.streaming_list(streaming)).await;
        observed.create("a").await;
        let drops = Fault::Drip(7, Duration::from_millis(50));
        server.faults().add(On::list_or_watch("configmaps"), drops);
        observed.start().await;
        observed.catches_up().await;
        assert_eq!(observed.errors(), [""; 0]);
    }
}
