//! A9, A10, A11: dynamic objects, metadata alone, custom resources, and informers without a factory.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ApiResource;
use kube_informer::{SharedInformer, SharedInformerFactory};

use super::{started, stopped};
use crate::informers::{Maps, hearing, names};
use crate::tap::Tap;

#[tokio::test]
async fn a9_metadata_is_all_that_is_asked_for() {
    let maps = Maps::holding(["a"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let accepted = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&accepted);
    tap.proxy(move |_, request| {
        let accept = request
            .headers()
            .get("accept")
            .and_then(|value| value.to_str().ok());
        seen.lock()
            .expect("nobody panics")
            .push(accept.unwrap_or_default().to_owned());
        None
    });
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .labels("kept-by=mission")
        .build();
    let typed = factory.metadata::<ConfigMap>();
    let dynamic = factory.dynamic_metadata(&ApiResource::erase::<ConfigMap>(&()));
    let (handler, mut heard) = hearing();
    dynamic.add_handler(handler).expect("a handler");
    started(&factory).await;
    assert_eq!(names(&typed.snapshot().sorted()), ["a"]);
    assert_eq!(heard.word().await, "*a");
    maps.change("a", "2").await;
    assert_eq!(heard.word().await, "~a");
    maps.delete("a").await;
    assert_eq!(heard.word().await, "-a");
    let accepted = accepted.lock().expect("nobody panics").clone();
    assert!(accepted.len() >= 2);
    assert!(
        accepted
            .iter()
            .all(|accept| accept.contains("as=PartialObjectMetadata")),
        "{accepted:?}"
    );
    stopped(&factory).await;
}

#[tokio::test]
async fn a11_an_informer_needs_no_factory() {
    let maps = Maps::holding(["a"]).await;
    maps.create_labelled("b", "1", &[("tier", "front")]).await;
    let filtered = SharedInformer::<ConfigMap>::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .labels("tier=front")
        .build();
    crate::informers::started(&filtered).await;
    assert_eq!(names(&filtered.snapshot().sorted()), ["b"]);
    crate::informers::stopped(&filtered).await;
}
