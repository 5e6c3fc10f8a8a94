//! Public types can be shared between threads, and public futures can be awaited in any task.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    CancellationToken, Error, Event, EventStream, Index, Lister, Registration, SharedInformer,
    SharedInformerFactory, Snapshot,
};

fn shared<T: Send + Sync + 'static>() {}
fn sent<T: Send>(_: impl Fn() -> T) {}

#[test]
fn public_types_are_send_and_sync() {
    shared::<SharedInformerFactory>();
    shared::<SharedInformer<Pod>>();
    shared::<Snapshot<Pod>>();
    shared::<Lister<Pod>>();
    shared::<Index<Pod, String>>();
    shared::<Registration>();
    shared::<Event<Pod>>();
    shared::<EventStream<Pod>>();
    shared::<Error>();
}

/// Never called: the test is that it compiles.
#[expect(dead_code, reason = "the test is that it compiles")]
fn public_futures_are_send(
    factory: &SharedInformerFactory,
    informer: &SharedInformer<Pod>,
    registration: &Registration,
) {
    let second = Duration::from_secs(1);
    sent(|| factory.wait_for_sync(second));
    sent(|| factory.shutdown());
    sent(|| informer.run(CancellationToken::new()));
    sent(|| informer.shutdown());
    sent(|| informer.synced());
    sent(|| informer.wait_for_sync(second));
    sent(|| informer.wait_for_version("1", second));
    sent(|| informer.check_consistency());
    sent(|| registration.synced());
    sent(|| registration.wait_for_sync(second));
    sent(|| registration.remove_and_wait());
}
