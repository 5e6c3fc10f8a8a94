//! Handlers with filters.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{HandlerOptions, filtered};

use crate::recording::{recorder, short};
use crate::scripted::{Server, text};

fn fits(object: &ConfigMap) -> bool {
    text(object).as_deref() == Some("fits")
}

/// All combinations of matching states before and after an update, then a deletion.
#[tokio::test]
async fn an_object_exists_for_a_filter_while_it_matches() {
    let server = Server::new();
    server.put("a/listed", "fits");
    server.put("a/unlisted", "no");
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    let options = HandlerOptions::new().every_event();
    informer
        .add_handler_with(filtered(fits, handler), options)
        .unwrap();
    informer.start().unwrap();
    assert_eq!(recording.next().await, "* a/listed@2");

    server.put("a/n", "no");
    server.put("a/n", "still no");
    server.put("a/n", "fits");
    assert_eq!(recording.next().await, "+ a/n@6");
    server.put("a/n", "fits");
    assert_eq!(recording.next().await, "~ a/n@6>7");
    server.put("a/n", "no");
    let gone = recording.event().await;
    assert_eq!(short(&gone), "- a/n@7", "with the last state that matched");
    server.put("a/n", "fits");
    assert_eq!(recording.next().await, "+ a/n@9");
    server.delete("a/n");
    assert_eq!(recording.next().await, "- a/n@10");

    server.put("a/other", "no");
    server.delete("a/other");
    server.delete("a/unlisted");
    server.put("a/listed", "no");
    assert_eq!(recording.next().await, "- a/listed@2");
    server.delete("a/listed");
    informer.shutdown().await;
    assert!(recording.rest().await.is_empty());
}

/// A deletion is delivered if the handler received the object. The final state is the one sent with the
/// deletion, which may match or not; here the handler missed the change before it.
#[tokio::test]
async fn the_final_state_of_a_deleted_object_may_not_match_the_filter() {
    let server = Server::with(&["a/first"]);
    server.put("a/shown", "fits");
    server.put("a/hidden", "no");
    let informer = server.informer();
    let (record, mut recording) = recorder();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (asleep, mut sleeping) = tokio::sync::mpsc::unbounded_channel();
    let handler = filtered(
        move |object: &ConfigMap| {
            if object.metadata.name.as_deref() == Some("sleep") {
                let _ = asleep.send(());
                let _ = gate.recv();
            }
            fits(object)
        },
        record,
    );
    let registration = informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    registration.synced().await.unwrap();
    assert_eq!(recording.now(), ["* a/shown@3"]);
    server.put("a/sleep", "");
    sleeping.recv().await.unwrap();
    server.put("a/shown", "no");
    server.delete("a/shown");
    server.put("a/hidden", "fits");
    server.delete("a/hidden");
    informer
        .wait_for_version(server.version(), crate::recording::LONG)
        .await
        .unwrap();
    drop(release);
    informer.shutdown().await;
    let rest = recording.rest().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(short(&rest[0]), "- a/shown@7");
    assert!(!fits(rest[0].object()), "the final state");
}
