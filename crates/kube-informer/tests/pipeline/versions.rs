//! Resource versions that are assigned more than once.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Error, ResourceVersion, SharedInformer,
    source::{
        ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream,
    },
};
use tokio::time::sleep;

use crate::recording::{LONG, recorder};
use crate::scripted::{Server, text};

/// Contract 2 and 5: after a backup was restored, a version may belong to another state.
#[tokio::test(start_paused = true)]
async fn contract_2_a_restored_backup_assigns_versions_again() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2"]);
    server.put("a/n1", "before");
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    assert_eq!(recording.some(3).await.len(), 3);
    for _ in 0..19 {
        server.put("a/n2", "changed");
    }
    informer.wait_for_version("24", LONG).await.unwrap();

    let before = informer.lister().namespace("a").get("n1").unwrap();
    assert_eq!(before.version(), &ResourceVersion::from(5));
    server.restore(5, &["a/n1"]);
    sleep(Duration::from_secs(10 * 60)).await;
    let restored = informer.lister().namespace("a").get("n1").unwrap();
    assert_eq!(restored.version(), before.version());
    assert_eq!(text(&restored).as_deref(), Some("restored"));
    assert_eq!(informer.status().went_back, 1);
    assert_eq!(informer.lister().len(), 1);
    informer.shutdown().await;
    let recording = recording.rest().await;
    assert!(
        recording
            .iter()
            .any(|event| event.object().version() == before.version()
                && text(event.object()) == text(&restored)),
        "handlers are notified"
    );
}

/// The events of a watch after an empty list: a letter, a name and a version each.
struct Source(&'static [&'static str]);

impl ListWatch<ConfigMap> for Source {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        let end = ListPart::End {
            version: "1".into(),
            continue_token: None,
        };
        async { Ok(stream::iter([Ok(end)]).boxed()) }.boxed()
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        let events = self.0;
        // By then the list is in the cache.
        let later = stream::once(sleep(Duration::from_secs(1)));
        let later = later.flat_map(move |()| stream::iter(events).map(|event| Ok(parsed(event))));
        async { Ok(later.chain(stream::pending()).boxed()) }.boxed()
    }
}

fn parsed(event: &str) -> WatchEvent<ConfigMap> {
    let (sign, object) = event.split_at(1);
    let (name, version) = object.split_once('@').unwrap();
    let metadata =
        format!(r#"{{"name":"{name}","namespace":"a","uid":"{name}","resourceVersion":"{version}"}}"#);
    let item = RawObject::json(format!(r#"{{"metadata":{metadata}}}"#)).unwrap();
    match sign {
        "-" => WatchEvent::Deleted(item),
        _ => WatchEvent::Added(item),
    }
}

/// Returns the contents of the cache after the events, and the number of events that a handler got.
async fn after(events: &'static [&'static str]) -> (Vec<String>, usize) {
    let informer = SharedInformer::builder_from(Source(events), ())
        .streaming_list(false)
        .build();
    let (handler, mut recording) = recorder();
    let every = kube_informer::HandlerOptions::new().every_event();
    informer.add_handler_with(handler, every).unwrap();
    informer.start().unwrap();
    informer.wait_for_version("11", LONG).await.unwrap();
    let snapshot = informer.snapshot();
    let keys = snapshot
        .sorted()
        .iter()
        .map(|object| object.key().to_string())
        .collect();
    informer.shutdown().await;
    (keys, recording.rest().await.len())
}

/// Contract 5, for sources that assign one version to all objects of a poll.
#[tokio::test(start_paused = true)]
async fn contract_5_several_objects_may_have_the_same_version() {
    let (keys, recording) = after(&["+x@10", "+y@10", "+z@11"]).await;
    assert_eq!(keys, ["a/x", "a/y", "a/z"]);
    assert_eq!(recording, 3);
}

#[tokio::test(start_paused = true)]
async fn contract_5_a_deletion_may_have_the_version_of_the_object() {
    let (keys, recording) = after(&["+x@10", "-x@10", "+z@11"]).await;
    assert_eq!(keys, ["a/z"]);
    assert_eq!(recording, 3);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_event_is_delivered_once() {
    let (keys, recording) = after(&["+x@10", "+x@10", "+z@11"]).await;
    assert_eq!(keys, ["a/x", "a/z"]);
    assert_eq!(recording, 2);
}
