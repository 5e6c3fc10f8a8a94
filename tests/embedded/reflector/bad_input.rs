//! Responses that a server should not have sent.

use std::time::Duration;

use kube_embedded::{Fault, On};

use crate::scene::Scene;

/// The same, as the embedded server spoils its own answers, in lists, streams and watches. Embedded only.
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
            let (server, mut scene) = Scene::paused(|informer| informer.streaming_list(streaming)).await;
            scene.make("a").await;
            scene.make("b").await;
            scene.start().await;
            let mut told = scene.events();
            assert_eq!(told.sorted(2).await, ["+a", "+b"]);
            let rule = server
                .faults()
                .add(On::list_or_watch("configmaps").times(5), fault.clone());
            // The list and the streams are spoiled as well: there is nothing to resume from.
            server.cut_connections();
            server.compact_history();
            scene.error_that(kube_informer::Error::is_connection).await;
            scene.change("a", "2").await;
            scene.delete("b").await;
            for _ in 0..3 {
                let error = scene.error().await;
                assert!(error.to_string().contains("configmaps"), "{fault:?}: {error}");
            }
            scene.catches_up().await;
            assert!(rule.hits() > 1, "{fault:?}");
            let words = told.until("+marker-0").await;
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

/// No object of Kubernetes is as large as this. Embedded only.
#[tokio::test(start_paused = true)]
async fn oversized_event_is_not_buffered() {
    let (server, mut scene) = Scene::paused(|informer| informer.streaming_list(false)).await;
    scene.make("a").await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::Oversized(65 << 20));
    scene.start().await;
    let before = scene.informer.resource_version();
    scene.change("a", "2").await;
    let error = scene.error().await;
    assert!(error.is_bad_data(), "{error}");
    assert!(error.to_string().contains("64 MiB"), "{error}");
    assert_eq!(scene.informer.resource_version(), before);
    scene.catches_up().await;
}

/// A slow line is not a broken one: bytes come in drops, for minutes. Embedded only.
#[tokio::test(start_paused = true)]
async fn responses_in_small_chunks_are_accepted() {
    for streaming in [true, false] {
        let (server, mut scene) = Scene::paused(|informer| informer.streaming_list(streaming)).await;
        scene.make("a").await;
        let drops = Fault::Drip(7, Duration::from_millis(50));
        server.faults().add(On::list_or_watch("configmaps"), drops);
        scene.start().await;
        scene.catches_up().await;
        assert_eq!(scene.errors(), [""; 0]);
    }
}
