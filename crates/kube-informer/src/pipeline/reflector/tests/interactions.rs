//! Tests of faults that coincide with other events: another namespace, a kind that is served again, another
//! informer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, join};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::{Fault, On, Server};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::informer::informer;
use super::scripted::{Script, ScriptStep, SharedScript, at, bookmark};
use crate::SharedInformer;
use crate::error::{Error, StatusError};
use crate::pipeline::wire::{
    ExactListRequest, ListRequest, ListStream, ListWatch, WatchRequest, WatchStream,
};

/// Readers see nothing until every namespace is listed, but lists are compared with the objects listed so
/// far.
#[tokio::test(start_paused = true)]
async fn contract_2_a_lag_before_every_namespace_is_listed_is_not_a_restore() {
    let server = Server::builder().without_port().start().await.expect("a server");
    let maps = (0..3).map(|n| {
        let metadata = json!({"name": format!("map-{n}"), "namespace": "default"});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    });
    server.load(maps).expect("config maps");
    let other = On::list_or_watch("configmaps").in_namespace("kube-system");
    server.faults().add(other, Fault::forbidden());
    let informer = SharedInformer::<ConfigMap>::builder(server.direct_client())
        .namespaces(["default", "kube-system"])
        .streaming_list(false)
        .seed(1)
        .watch_error_handler(|_| {})
        .build();
    informer.start().expect("the first start");
    sleep(Duration::from_secs(5)).await;
    let decoded = informer.status().decoded_objects;

    let relist = On::list("configmaps")
        .in_namespace("default")
        .when(|request| !matches!(request.param("resourceVersion").unwrap_or_default(), "" | "0"));
    let lag = server.faults().add(relist, Fault::StaleList(3));
    let watch = On::watch("configmaps").in_namespace("default").once();
    server.faults().add(watch, Fault::ErrorAfterEvents(0));
    server.cut_connections();
    sleep(Duration::from_mins(1)).await;
    assert!(lag.hits() > 0, "the server lagged");
    assert_eq!(informer.status().went_back, 0);
    // Contract 10 also applies to objects that are hidden from readers.
    assert_eq!(informer.status().decoded_objects, decoded);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn contract_2_a_lag_before_a_kind_is_removed_and_returns_is_not_a_restore() {
    let not_found = || {
        Error::status(StatusError {
            code: 404,
            reason: "NotFound".to_owned(),
            ..StatusError::default()
        })
    };
    let mut script = Script::new()
        .lists(&["a@1", "b@9"], at("10"))
        .sends(vec![bookmark("5")]);
    for _ in 0..3 {
        script = script.fails(not_found()).discovers(false);
    }
    let script = script.fails(not_found()).lists(&["a@1", "b@9"], at("12"));
    let (informer, script, errors) = informer(script, false);
    informer.start().expect("the first start");
    sleep(Duration::from_mins(2)).await;
    assert_eq!(informer.status().went_back, 0, "{errors:#?}");
    assert_eq!(informer.lister().len(), 2, "{:?}", script.requests());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn contract_11_handlers_that_shut_down_each_others_informers_do_not_wait_for_each_other() {
    let informers = [(); 2].map(|()| informer(Script::new().lists(&["a@1"], at("10")), false).0);
    let [one, other] = &informers;
    for informer in &informers {
        let (one, other) = (one.clone(), other.clone());
        let handler = move |_| {
            let (one, other) = (one.clone(), other.clone());
            async move {
                sleep(Duration::from_secs(1)).await;
                join(one.shutdown(), other.shutdown()).await;
            }
        };
        informer.add_async_handler(handler).expect("a handler");
        informer.start().expect("the first start");
    }
    sleep(Duration::from_secs(2)).await;
    let stopped = join(one.shutdown(), other.shutdown());
    timeout(Duration::from_hours(1), stopped)
        .await
        .expect("both stop");
}

/// A source whose watches and exact lists panic.
struct Panics {
    script: SharedScript,
    exact_lists: Arc<AtomicUsize>,
    in_watches: bool,
}

impl ListWatch<ConfigMap> for Panics {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.script.list(request)
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        if self.in_watches {
            return Box::pin(async { Ok(stream::poll_fn(|_| panic!("in a watch")).boxed()) });
        }
        self.script.watch(request)
    }

    fn list_exactly(
        &self,
        _: ExactListRequest,
    ) -> BoxFuture<'_, Result<Option<ListStream<ConfigMap>>, Error>> {
        self.exact_lists.fetch_add(1, Ordering::SeqCst);
        panic!("in a consistency check")
    }
}

#[tokio::test(start_paused = true)]
async fn contract_12_a_consistency_check_that_panics_is_reported_and_the_next_one_runs() {
    let exact_lists = Arc::new(AtomicUsize::new(0));
    let errors = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&errors);
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .sends(vec![ScriptStep::Silence]);
    let source = Panics {
        script: SharedScript(Arc::new(script)),
        exact_lists: Arc::clone(&exact_lists),
        in_watches: false,
    };
    let informer = SharedInformer::builder_from(source, ())
        .streaming_list(false)
        .check_consistency(Duration::from_mins(1))
        .watch_error_handler(move |error| reported.lock().push(error.to_string()))
        .build();
    informer.start().expect("the first start");
    sleep(Duration::from_mins(8)).await;
    assert!(exact_lists.load(Ordering::SeqCst) > 4);
    let errors = errors.lock().clone();
    let of_checks = errors
        .iter()
        .filter(|error| error.contains("in a consistency check"));
    assert_eq!(of_checks.count(), 1, "once until a check works again: {errors:?}");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn contract_12_a_panicking_watch_is_closed() {
    let source = Panics {
        script: SharedScript(Arc::new(Script::new().lists(&["a@1"], at("10")).never_answers())),
        exact_lists: Arc::default(),
        in_watches: true,
    };
    let informer = SharedInformer::builder_from(source, ())
        .streaming_list(false)
        .watch_error_handler(|_| {})
        .build();
    informer.start().expect("the first start");
    sleep(Duration::from_secs(50)).await;
    assert_eq!(informer.status().watched_for, None);
    informer.shutdown().await;
}
