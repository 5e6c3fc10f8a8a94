//! The end of a factory.

use k8s_openapi::api::core::v1::Namespace;
use kube_embedded::Server;
use kube_informer::{Event, SharedInformerFactory, client::watching_client};

use crate::requests::soon;

/// The factory stops all informers, and waits for all but that of the handler.
#[tokio::test]
async fn a_handler_may_shut_down_its_factory() {
    let server = Server::start().await.expect("a server");
    let factory = SharedInformerFactory::new(watching_client(server.client_config()).expect("a client"));
    let other = factory.core().v1().config_maps().informer();
    let namespaces = factory.informer::<Namespace>();
    let (through, mut passed) = tokio::sync::mpsc::unbounded_channel();
    let (inside, looked_at) = (factory.clone(), other.clone());
    let handler = move |_: Event<Namespace>| {
        let (inside, looked_at, through) = (inside.clone(), looked_at.clone(), through.clone());
        async move {
            inside.shutdown().await;
            let _ = through.send(looked_at.is_stopped());
        }
    };
    namespaces.add_async_handler(handler).expect("a handler");
    factory.start();
    let other_stopped = soon("the shutdown inside of the handler", passed.recv()).await;
    assert_eq!(other_stopped, Some(true));
    soon("the shutdown", factory.shutdown()).await;
    assert!(namespaces.is_stopped());
}
