//! Handlers that see only what fits.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{HandlerOptions, filtered};

use crate::scripted::{Server, text};
use crate::told::{recorder, short};

fn fits(object: &ConfigMap) -> bool {
    text(object).as_deref() == Some("fits")
}

/// Before and after, each fitting or not, and then gone.
#[tokio::test]
async fn an_object_is_there_for_as_long_as_it_fits() {
    let server = Server::new();
    server.put("a/listed", "fits");
    server.put("a/unlisted", "no");
    let informer = server.informer();
    let (handler, mut told) = recorder();
    let options = HandlerOptions::new().every_event();
    informer
        .add_handler_with(filtered(fits, handler), options)
        .unwrap();
    informer.start().unwrap();
    assert_eq!(told.next().await, "* a/listed@2");

    server.put("a/n", "no");
    server.put("a/n", "still no");
    server.put("a/n", "fits");
    assert_eq!(told.next().await, "+ a/n@6");
    server.put("a/n", "fits");
    assert_eq!(told.next().await, "~ a/n@6>7");
    server.put("a/n", "no");
    let gone = told.event().await;
    assert_eq!(short(&gone), "- a/n@7", "with the last state that fitted");
    server.put("a/n", "fits");
    assert_eq!(told.next().await, "+ a/n@9");
    server.delete("a/n");
    assert_eq!(told.next().await, "- a/n@10");

    server.put("a/other", "no");
    server.delete("a/other");
    server.delete("a/unlisted");
    server.put("a/listed", "no");
    assert_eq!(told.next().await, "- a/listed@2");
    server.delete("a/listed");
    informer.shutdown().await;
    assert!(told.rest().await.is_empty());
}

/// What counts for a deletion is whether the handler was shown the object. Its final state is what the server sent with
/// the deletion, and it may fit or not; here the handler slept through the change before it.
#[tokio::test]
async fn the_final_state_of_a_deleted_object_may_no_longer_fit() {
    let server = Server::with(&["a/first"]);
    server.put("a/shown", "fits");
    server.put("a/hidden", "no");
    let informer = server.informer();
    let (record, mut told) = recorder();
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
    assert_eq!(told.now(), ["* a/shown@3"]);
    server.put("a/sleep", "");
    sleeping.recv().await.unwrap();
    server.put("a/shown", "no");
    server.delete("a/shown");
    server.put("a/hidden", "fits");
    server.delete("a/hidden");
    informer
        .wait_for_version(server.version(), crate::told::LONG)
        .await
        .unwrap();
    drop(release);
    informer.shutdown().await;
    let rest = told.rest().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(short(&rest[0]), "- a/shown@7");
    assert!(!fits(rest[0].object()), "the final state");
}
