//! Log messages about slow lists and second watches.

use std::time::Duration;

use http::Response;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::client::Body;
use kube_informer::SharedInformerFactory;
use tracing::Level;

use crate::logged::{Log, subscribe};
use crate::recording::LONG;
use crate::scripted::Server;

/// Returns the lines about slow lists after a first list that took this long.
async fn slow_lists_after(duration: Duration) -> Vec<String> {
    let log = Log::default();
    let _subscriber = subscribe(log.clone());
    let server = Server::with(&["a/n0", "a/n1"]);
    server.answer_lists(false);
    let informer = server.builder().streaming_list(false).build();
    informer.start().unwrap();
    tokio::time::sleep(duration).await;
    server.answer_lists(true);
    informer.wait_for_sync(LONG).await.unwrap();
    informer.shutdown().await;
    let mut lines = log.lines();
    lines.retain(|line| line.contains("slow list"));
    lines
}

#[tokio::test(start_paused = true)]
async fn lists_of_more_than_ten_seconds_are_logged_with_their_phases() {
    assert_eq!(slow_lists_after(Duration::from_secs(9)).await, [""; 0]);
    let lines = slow_lists_after(Duration::from_secs(11)).await;
    let [line] = &lines[..] else { panic!("{lines:?}") };
    for part in [
        "WARN",
        "resource=configmaps",
        "requests=1",
        "objects=2",
        "total=11",
        "waiting=11",
        "pausing=0ns",
        "decoding=",
        "queueing=",
    ] {
        assert!(line.contains(part), "no {part} in {line}");
    }
}

/// A factory keeps one informer per object type, so a second type opens a second watch.
#[tokio::test]
async fn a_second_object_type_of_a_resource_is_logged_and_gets_its_own_informer() {
    let log = Log::of(Level::INFO);
    let _subscriber = subscribe(log.clone());
    let unused = tower::service_fn(|_: http::Request<Body>| async {
        Ok::<_, std::io::Error>(Response::new(Body::empty()))
    });
    let factory = SharedInformerFactory::new(kube::Client::new(unused, "default"));
    let _typed = factory.informer::<ConfigMap>();
    let _again = factory.informer::<ConfigMap>();
    let _other_kind = factory.informer::<Pod>();
    assert_eq!(log.lines(), [""; 0]);
    let _metadata = factory.metadata::<ConfigMap>();
    let lines = log.lines();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(
        line.contains("configmaps") && line.contains("opening a second watch"),
        "{line}"
    );
    assert_eq!(factory.informers().len(), 3);
    factory.shutdown().await;
}
