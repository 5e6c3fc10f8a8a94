//! Options for all kinds, and overrides for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt as _;
use kube::api::{Api, ObjectMeta, PostParams};
use kube_informer::{Backoff, CacheFormat, SharedInformer, SharedInformerFactory, source::ApiListWatch};
use tokio::sync::mpsc;
use tokio::time::{pause, resume};

use super::{factory, started, stopped};
use crate::config_maps::{ConfigMaps, value};
use crate::informers::{PATIENCE, names, soon};
use crate::tap::{RecordedRequest, Tap, failure};

#[tokio::test]
async fn selectors_and_other_parameters_reach_the_server_on_list_and_watch() {
    let maps = ConfigMaps::named(["a"]).await;
    maps.create_labelled("b", "1", &[("tier", "front")]).await;
    maps.create_labelled("c", "1", &[("tier", "back")]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .labels("tier in (front,back)")
        .fields("metadata.name!=c")
        .parameter("pretty", "true")
        .and_then(|factory| factory.parameter("pretty", "false"))
        .expect("a parameter that the informer does not use")
        .streaming_list(false)
        .page_size(50)
        .watch_timeout(Duration::from_hours(1))
        .build();
    let informer = factory.informer::<ConfigMap>();
    started(&factory).await;
    tap.wait_for(2, PATIENCE).await;
    assert_eq!(names(&informer.snapshot().sorted()), ["b"]);
    let [list, watch] = &tap.all()[..2] else {
        panic!("two requests");
    };
    assert!(list.is_list() && watch.is_plain_watch());
    for asked in [list, watch] {
        assert_eq!(asked.parameter("pretty"), Some("false"), "the last value");
        assert!(
            asked
                .parameter("labelSelector")
                .is_some_and(|labels| labels.starts_with("tier"))
        );
        assert!(
            asked
                .parameter("fieldSelector")
                .is_some_and(|fields| fields.starts_with("metadata.name"))
        );
    }
    assert_eq!(list.parameter("limit"), Some("50"));
    let seconds = watch
        .parameter("timeoutSeconds")
        .and_then(|text| text.parse().ok());
    assert!(
        seconds.is_some_and(|seconds: u32| seconds >= 3_600),
        "{seconds:?}"
    );
    stopped(&factory).await;
}

#[tokio::test]
async fn parameters_set_by_informers_are_rejected() {
    let maps = ConfigMaps::named([]).await;
    let client = &maps.server.client;
    for (name, instead) in [
        ("limit", "use page_size()"),
        ("timeoutSeconds", "use watch_timeout()"),
        ("sendInitialEvents", "use streaming_list()"),
        ("allowWatchBookmarks", ""),
        ("continue", ""),
        ("resourceVersion", ""),
        ("resourceVersionMatch", ""),
        ("watch", ""),
    ] {
        let factory = SharedInformerFactory::builder(client.clone()).parameter(name, "7");
        let informer = SharedInformer::<ConfigMap>::builder(client.clone()).parameter(name, "7");
        let source = ApiListWatch::<ConfigMap>::new(client.clone(), &(), None).parameters([(name, "7")]);
        for error in [
            factory.expect_err("a refusal"),
            informer.expect_err("a refusal"),
            source.expect_err("a refusal"),
        ] {
            assert!(error.is_reserved_parameter(), "{error}");
            let text = error.to_string();
            assert!(
                text.contains(&format!("{name:?}")) && text.contains(instead),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn options_can_be_overridden_per_kind() {
    let maps = ConfigMaps::named(["a"]).await;
    maps.create_labelled("b", "1", &[("tier", "front")]).await;
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some("s".into()),
            labels: Some([("kept-by".into(), "conformance".into())].into()),
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
        "the kind's selector replaces the factory's"
    );
    assert!(
        cached[0].metadata.annotations.is_none(),
        "the kind's transform replaces the factory's"
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

#[tokio::test]
async fn one_error_handler_receives_errors_of_all_kinds() {
    let maps = ConfigMaps::named([]).await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let factory = factory(&maps)
        .fields("no.such.field=1")
        .watch_error_handler(move |error| drop(sender.send(error.clone())))
        .build();
    let _maps = factory.informer::<ConfigMap>();
    factory.start();
    // A refused streaming list is followed by a list.
    let error = loop {
        let error = soon(receiver.recv()).await.expect("an error");
        if error.server_status().is_some() {
            break error;
        }
    };
    assert_eq!(error.resource().expect("its kind").plural(), "configmaps");
    assert_eq!(error.server_status().expect("an answer").code, 400, "{error}");
    stopped(&factory).await;
}

/// Returns the requests of the kind whose selector contains a text, in a factory that watches ConfigMaps and
/// their metadata.
fn requests_for(tap: &Tap, selector: &str) -> Vec<RecordedRequest> {
    let mut asked = tap.all();
    asked.retain(|asked| {
        asked
            .parameter("labelSelector")
            .is_some_and(|labels| labels.contains(selector))
    });
    asked
}

#[tokio::test]
async fn page_size_can_be_set_per_kind() {
    let maps = ConfigMaps::named(["a"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .labels("tier=all")
        .streaming_list(false)
        .page_size(50)
        .kind::<ConfigMap>(|maps| maps.labels("tier=one").page_size(17))
        .build();
    let _maps = factory.informer::<ConfigMap>();
    let _metadata = factory.metadata::<ConfigMap>();
    started(&factory).await;
    for (selector, limit) in [("one", "17"), ("all", "50")] {
        let asked = requests_for(&tap, selector);
        assert_eq!(asked[0].parameter("limit"), Some(limit), "{asked:?}");
    }
    stopped(&factory).await;
}

/// No request is sent, so the clock can be paused.
#[tokio::test]
async fn backoff_can_be_set_per_kind() {
    let maps = ConfigMaps::named(["a"]).await;
    pause();
    let every = |seconds| Backoff {
        initial: Duration::from_secs(seconds),
        factor: 1.0,
        cap: Duration::from_secs(seconds),
        jitter: 0.0,
        reset: Duration::from_hours(1),
    };
    let (client, tap) = Tap::on(maps.server.client.clone());
    tap.proxy(|_, _| Some(failure(500, "InternalError", "not today")));
    let factory = SharedInformerFactory::builder(client)
        .labels("tier=all")
        .streaming_list(false)
        .backoff(every(10))
        .kind::<ConfigMap>(move |maps| maps.labels("tier=one").backoff(every(40)))
        .build();
    let _maps = factory.informer::<ConfigMap>();
    let _metadata = factory.metadata::<ConfigMap>();
    factory.start();
    tap.wait_for(20, Duration::from_hours(1)).await;
    for (selector, seconds) in [("one", 40), ("all", 10)] {
        let asked = requests_for(&tap, selector);
        assert!(asked.len() > 2, "{asked:?}");
        for pair in asked.windows(2) {
            assert_eq!((pair[1].at - pair[0].at).as_secs(), seconds, "{selector}");
        }
    }
    resume();
    stopped(&factory).await;
}

#[tokio::test]
async fn error_handler_can_be_set_per_kind() {
    let maps = ConfigMaps::named([]).await;
    let (sender_all, mut receiver_all) = mpsc::unbounded_channel();
    let (sender_one, mut receiver_one) = mpsc::unbounded_channel();
    let factory = factory(&maps)
        .fields("no.such.field=1")
        .watch_error_handler(move |error| drop(sender_all.send(error.clone())))
        .kind::<ConfigMap>(move |maps| {
            let sender_one = sender_one.clone();
            maps.watch_error_handler(move |error| drop(sender_one.send(error.clone())))
        })
        .build();
    let _maps = factory.informer::<ConfigMap>();
    let _secrets = factory.informer::<Secret>();
    factory.start();
    for _ in 0..5 {
        for (receiver, plural) in [(&mut receiver_one, "configmaps"), (&mut receiver_all, "secrets")] {
            let error = soon(receiver.recv()).await.expect("an error");
            assert_eq!(error.resource().expect("its kind").plural(), plural);
        }
    }
    stopped(&factory).await;
}

/// A packed object is transformed on every decode, a typed one once.
#[tokio::test]
async fn cache_format_can_be_set_for_all_kinds_and_per_kind() {
    let maps = ConfigMaps::named(["a"]).await;
    for (for_all, for_one) in [
        (CacheFormat::Packed, CacheFormat::Decoded),
        (CacheFormat::Decoded, CacheFormat::Packed),
    ] {
        let counters = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let [of_all, of_one] = counters.clone();
        let factory = factory(&maps)
            .cache_format(for_all)
            .transform(move |_| {
                of_all.fetch_add(1, Ordering::SeqCst);
            })
            .kind::<ConfigMap>(move |maps| {
                let of_one = Arc::clone(&of_one);
                maps.cache_format(for_one).transform(move |_| {
                    of_one.fetch_add(1, Ordering::SeqCst);
                })
            })
            .build();
        let one = factory.informer::<ConfigMap>();
        let all = factory.metadata::<ConfigMap>();
        started(&factory).await;
        let counts = || counters.each_ref().map(|counter| counter.load(Ordering::SeqCst));
        let before = counts();
        for _ in 0..3 {
            assert_eq!(
                one.lister()
                    .get_key(&maps.key("a"))
                    .expect("an object")
                    .name_any(),
                "a"
            );
            assert_eq!(
                all.lister()
                    .get_key(&maps.key("a"))
                    .expect("an object")
                    .name_any(),
                "a"
            );
        }
        let after = counts();
        for (at, form) in [for_all, for_one].into_iter().enumerate() {
            let decoded = after[at] - before[at];
            assert_eq!(
                decoded > 0,
                form == CacheFormat::Packed,
                "{form:?} is transformed {decoded} times"
            );
        }
        stopped(&factory).await;
    }
}
