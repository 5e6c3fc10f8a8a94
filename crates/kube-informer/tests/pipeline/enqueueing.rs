//! Handlers that fill work queues.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::prelude::{Key, Object, WorkQueue, enqueue_keys, enqueue_mapped};
use kube_informer::{EventHandler, HandlerOptions};

use crate::recording::LONG;
use crate::scripted::Server;

/// Returns the thread on which the map function of such a handler is called.
async fn thread_of_the_map(options: HandlerOptions) -> std::thread::ThreadId {
    let informer = Server::with(&["a/n0"]).informer();
    let queue = WorkQueue::<Key>::new("test");
    let (called, mut thread) = tokio::sync::mpsc::unbounded_channel();
    let handler = enqueue_mapped(&queue, move |object: &Object<ConfigMap>| {
        let _ = called.send(std::thread::current().id());
        [object.key().clone()]
    });
    assert!(!handler.never_blocks());
    informer.add_handler_with(handler, options).unwrap();
    informer.start().unwrap();
    let thread = tokio::time::timeout(LONG, thread.recv()).await.unwrap().unwrap();
    informer.shutdown().await;
    assert_eq!(queue.len(), 1);
    thread
}

/// This runtime has one thread besides those for blocking code.
#[tokio::test]
async fn a_map_function_that_blocks_does_not_block_the_runtime() {
    let here = std::thread::current().id();
    assert_ne!(thread_of_the_map(HandlerOptions::new()).await, here);
    assert_eq!(
        thread_of_the_map(HandlerOptions::new().never_blocks()).await,
        here
    );
}

/// A controller that has just created an object must learn of its deletion, even if its handler saw neither.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_added_and_deleted_at_once_is_enqueued() {
    let server = Server::new();
    let informer = server.informer();
    let queue = WorkQueue::new("test");
    informer.add_handler(enqueue_keys(&queue)).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    server.put("a/x", "");
    let version = server.delete("a/x");
    informer.wait_for_version(version, LONG).await.unwrap();
    let key = tokio::time::timeout(LONG, queue.get()).await.expect("a key");
    assert_eq!(key.expect("the queue is open").to_string(), "a/x");
    informer.shutdown().await;
}
