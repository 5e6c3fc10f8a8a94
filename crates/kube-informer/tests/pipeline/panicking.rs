//! User code that panics in the reflector is reported, and the informer continues (contract 12).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use kube::core::DynamicObject;
use kube_embedded::Server as EmbeddedServer;
use kube_informer::{
    CacheFormat, Error, SharedInformer,
    source::{ListRequest, ListStream, ListWatch, WatchRequest, WatchStream},
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;

use crate::recording::LONG;
use crate::scripted::Server;

/// Where a source panics, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PanicPoint {
    List,
    ListPart,
    Watch,
    WatchEvent,
    ListDropped,
    WatchDropped,
}

/// Panics when it is dropped.
struct Grenade(&'static str);

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "{}", self.0);
    }
}

struct PanickingSource {
    server: Server,
    point: PanicPoint,
    panicked: AtomicBool,
}

impl PanickingSource {
    fn panics_at(&self, point: PanicPoint) -> bool {
        self.point == point && !self.panicked.swap(true, Ordering::Relaxed)
    }
}

impl ListWatch<ConfigMap> for PanickingSource {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        if self.panics_at(PanicPoint::ListPart) {
            return Box::pin(async { Ok(stream::poll_fn(|_| panic!("in a part")).boxed()) });
        }
        let grenade = self
            .panics_at(PanicPoint::ListDropped)
            .then(|| Grenade("in the drop of a list"));
        Box::pin(async move {
            assert!(!self.panics_at(PanicPoint::List), "in the list");
            let parts = self.server.list(request).await?;
            Ok(parts.inspect(move |_| _ = &grenade).boxed())
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        if self.panics_at(PanicPoint::WatchEvent) {
            return Box::pin(async { Ok(stream::poll_fn(|_| panic!("in an event")).boxed()) });
        }
        if self.panics_at(PanicPoint::WatchDropped) {
            let grenade = Grenade("in the drop of a watch");
            let ended = stream::poll_fn(move |_| {
                let _ = &grenade;
                Poll::Ready(None)
            });
            return Box::pin(async { Ok(ended.boxed()) });
        }
        assert!(!self.panics_at(PanicPoint::Watch), "in the watch");
        self.server.watch(request)
    }
}

#[tokio::test(start_paused = true)]
async fn contract_12_a_panicking_source_is_reported_and_retried() {
    for point in [
        PanicPoint::List,
        PanicPoint::ListPart,
        PanicPoint::Watch,
        PanicPoint::WatchEvent,
        PanicPoint::ListDropped,
        PanicPoint::WatchDropped,
    ] {
        let server = Server::with(&["a/x"]);
        let source = PanickingSource {
            server: server.clone(),
            point,
            panicked: AtomicBool::new(false),
        };
        let errors: Arc<Mutex<Vec<Error>>> = Arc::default();
        let reported = Arc::clone(&errors);
        let informer = SharedInformer::builder_from(source, ())
            .streaming_list(false)
            .seed(1)
            .watch_error_handler(move |error| reported.lock().push(error.clone()))
            .build();
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
        let version = server.put("a/y", "later");
        informer.wait_for_version(version, LONG).await.unwrap();
        assert_eq!(informer.lister().len(), 2, "{point:?}");
        // A watch that is only dropped was closed at once before, which is reported, too.
        let mut errors = errors.lock().clone();
        errors.retain(|error| point != PanicPoint::WatchDropped || error.is_user_code());
        let [error] = &errors[..] else {
            panic!("{point:?}: {errors:?}");
        };
        assert!(error.is_user_code(), "{point:?}: {error}");
        assert!(error.to_string().contains("panicked: in "), "{point:?}: {error}");
    }
}

/// A kind whose `Deserialize` or `Drop` panics for some objects.
#[derive(Clone, Debug)]
struct Brittle(DynamicObject);

impl Drop for Brittle {
    fn drop(&mut self) {
        let breaks = !self.0.data["data"]["breaksWhenDropped"].is_null();
        assert!(!breaks || std::thread::panicking(), "it breaks");
    }
}

impl<'de> Deserialize<'de> for Brittle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = DynamicObject::deserialize(deserializer)?;
        assert!(object.data["data"]["breaks"].is_null(), "it breaks");
        Ok(Brittle(object))
    }
}

impl kube::Resource for Brittle {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        "ConfigMap".into()
    }
    fn group((): &()) -> std::borrow::Cow<'_, str> {
        "".into()
    }
    fn version((): &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        "configmaps".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

fn map(name: &str, breaks: bool) -> serde_json::Value {
    let mut map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" },
    });
    if breaks {
        map["data"] = json!({ "breaks": "yes" });
    }
    map
}

#[tokio::test(start_paused = true)]
async fn contract_12_a_type_whose_deserialize_panics_does_not_stop_the_informer() {
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        let server = EmbeddedServer::builder().without_port().start().await.unwrap();
        server.load([map("good", false)]).unwrap();
        let errors: Arc<Mutex<Vec<Error>>> = Arc::default();
        let reported = Arc::clone(&errors);
        let informer = SharedInformer::<Brittle>::builder(server.direct_client())
            .cache_format(form)
            .seed(1)
            .watch_error_handler(move |error| reported.lock().push(error.clone()))
            .build();
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();

        server.load([map("bad", true)]).unwrap();
        tokio::time::sleep(10 * LONG).await;
        assert!(!informer.is_stopped());
        assert!(errors.lock().len() > 3, "{:?}", errors.lock());
        for error in &*errors.lock() {
            assert!(error.is_user_code() || error.is_no_streaming_list(), "{error}");
            assert!(error.to_string().contains("default/bad"), "{error}");
        }

        server.load([map("bad", false)]).unwrap();
        informer
            .wait_for_version(server.resource_version(), 10 * LONG)
            .await
            .unwrap();
        assert_eq!(informer.lister().len(), 2);
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn contract_12_a_type_whose_drop_panics_does_not_stop_the_informer() {
    let server = EmbeddedServer::builder().without_port().start().await.unwrap();
    let mut bad = map("bad", false);
    bad["data"] = json!({ "breaksWhenDropped": "yes" });
    server.load([bad]).unwrap();
    let informer = SharedInformer::<Brittle>::builder(server.direct_client())
        .cache_format(CacheFormat::Decoded)
        .seed(1)
        .build();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();

    // The controller drops the old state.
    server.load([map("bad", false)]).unwrap();
    informer
        .wait_for_version(server.resource_version(), LONG)
        .await
        .unwrap();
    server.load([map("good", false)]).unwrap();
    informer
        .wait_for_version(server.resource_version(), LONG)
        .await
        .unwrap();
    assert!(!informer.is_stopped());
    assert_eq!(informer.lister().len(), 2);
    informer.shutdown().await;
}
