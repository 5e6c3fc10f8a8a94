//! Resync periods for all kinds, and for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::HandlerOptions;
use tokio::time::{pause, resume};

use super::{factory, started, stopped};
use crate::config_maps::ConfigMaps;
use crate::informers::recording_handler;

/// The clock is paused after the informers have synced: a resync needs no server.
#[tokio::test]
async fn resync_period_has_a_default_and_an_override_per_kind() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps)
        .resync(Duration::from_mins(1))
        .kind::<ConfigMap>(|maps| maps.resync(Duration::from_secs(10)))
        .build();
    let (handler, mut received) = recording_handler();
    let informer = factory.informer::<ConfigMap>();
    informer.add_handler(handler).expect("a handler");
    let resyncs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&resyncs);
    let metadata = factory.metadata::<ConfigMap>();
    metadata
        .add_handler_with(
            move |event: kube_informer::Event<_>| {
                counted.fetch_add(usize::from(event.is_resync()), Ordering::SeqCst);
            },
            HandlerOptions::new().never_blocks(),
        )
        .expect("a handler");
    started(&factory).await;
    assert_eq!(received.word().await, "*a");
    pause();
    for _ in 0..5 {
        assert_eq!(received.word().await, "=a");
    }
    assert_eq!(resyncs.load(Ordering::SeqCst), 0, "no resync before a minute");
    for _ in 0..2 {
        received.word().await;
    }
    assert_eq!(resyncs.load(Ordering::SeqCst), 1);
    resume();
    stopped(&factory).await;
}
