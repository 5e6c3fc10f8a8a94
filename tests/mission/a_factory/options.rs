//! A2: what is chosen for all kinds, and otherwise for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ObjectMeta, PostParams};
use kube_informer::{HandlerOptions, SharedInformerFactory};
use tokio::sync::mpsc;

use super::{factory, started, stopped};
use crate::informers::{Maps, hearing, names, soon, value};
use crate::tap::Tap;

#[tokio::test]
async fn a2_selectors_and_parameters_go_to_the_server() {
    let maps = Maps::holding(["a"]).await;
    maps.create_labelled("b", "1", &[("tier", "front")]).await;
    maps.create_labelled("c", "1", &[("tier", "back")]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .labels("tier in (front,back)")
        .fields("metadata.name!=c")
        .parameter("timeoutSeconds", "77")
        .streaming_list(false)
        .page_size(50)
        .build();
    let informer = factory.informer::<ConfigMap>();
    started(&factory).await;
    assert_eq!(names(&informer.snapshot().sorted()), ["b"]);
    let first = &tap.all()[0];
    assert!(first.is_list());
    assert_eq!(first.parameter("limit"), Some("50"));
    stopped(&factory).await;
}

#[tokio::test]
async fn a2_one_kind_may_be_chosen_for_otherwise() {
    let maps = Maps::holding(["a"]).await;
    maps.create_labelled("b", "1", &[("tier", "front")]).await;
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some("s".into()),
            labels: Some([("kept-by".into(), "mission".into())].into()),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    };
    let secrets: Api<Secret> = Api::namespaced(maps.server.client.clone(), &maps.server.namespace);
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .expect("a secret");
    let factory = factory(&maps)
        .transform(|meta| meta.annotations = Some([("seen".into(), "all".into())].into()))
        .kind::<ConfigMap>(|maps| {
            maps.labels("tier=front")
                .transform(|map: &mut ConfigMap| {
                    map.data = Some([("value".to_owned(), "changed".to_owned())].into());
                })
                .index("value", |map: &ConfigMap| [value(map).to_owned()])
        })
        .build();
    let informer = factory.informer::<ConfigMap>();
    let others = factory.informer::<Secret>();
    started(&factory).await;
    let cached = informer.snapshot().sorted();
    assert_eq!(
        names(&cached),
        ["b"],
        "its own selector stands in place of the factory's"
    );
    assert!(
        cached[0].metadata.annotations.is_none(),
        "and so does its transform"
    );
    let by_value = informer.find_index::<String>("value").expect("the index");
    assert_eq!(by_value.get("changed").len(), 1);
    assert!(
        informer
            .find_index::<u64>("value")
            .expect_err("another type")
            .is_unknown_index()
    );
    assert!(
        informer
            .find_index::<String>("other")
            .expect_err("none")
            .is_unknown_index()
    );
    let secret = others.lister().get("s").expect("the secret");
    assert_eq!(secret.metadata.annotations.as_ref().expect("some")["seen"], "all");
    stopped(&factory).await;
}

#[tokio::test(start_paused = true)]
async fn a2_resyncs_by_default_and_by_kind() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let factory = factory(&maps)
        .resync(Duration::from_mins(1))
        .kind::<ConfigMap>(|maps| maps.resync(Duration::from_secs(10)))
        .build();
    let (handler, mut heard) = hearing();
    let informer = factory.informer::<ConfigMap>();
    informer.add_handler(handler).expect("a handler");
    let resyncs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&resyncs);
    let metadata = factory.metadata::<ConfigMap>();
    metadata
        .add_handler_with(
            move |event: kube_informer::Event<_>| {
                counted.fetch_add(usize::from(event.is_resync()), Ordering::SeqCst);
            },
            HandlerOptions::new().never_blocks(),
        )
        .expect("a handler");
    started(&factory).await;
    assert_eq!(heard.word().await, "*a");
    for _ in 0..5 {
        assert_eq!(heard.word().await, "=a");
    }
    assert_eq!(resyncs.load(Ordering::SeqCst), 0, "a minute is not over");
    for _ in 0..2 {
        heard.word().await;
    }
    assert_eq!(resyncs.load(Ordering::SeqCst), 1);
    stopped(&factory).await;
}

#[tokio::test]
async fn a2_errors_of_all_kinds_go_to_one_handler() {
    let maps = Maps::holding([]).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let factory = factory(&maps)
        .fields("no.such.field=1")
        .watch_error_handler(move |error| drop(tell.send(error.clone())))
        .build();
    let _maps = factory.informer::<ConfigMap>();
    factory.start();
    // A streaming list that is refused is tried as a list first.
    let error = loop {
        let error = soon(told.recv()).await.expect("an error");
        if error.server_status().is_some() {
            break error;
        }
    };
    assert_eq!(error.resource().expect("its kind").plural(), "configmaps");
    assert_eq!(error.server_status().expect("an answer").code, 400, "{error}");
    stopped(&factory).await;
}
