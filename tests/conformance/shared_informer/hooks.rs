//! The watch-error handler and the transform.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube_informer::{CacheFormat, Error, Event, InformerBuilder, SharedInformer, error::Operation};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, Subscriber, span};

use crate::config_maps::{ConfigMaps, value};
use crate::informers::{PATIENCE, SHORT_BACKOFF, caught_up, form, recording_handler, soon, started, stopped};

fn of_ghosts(server: &TestServer) -> InformerBuilder<DynamicObject> {
    let ghosts = ApiResource::from_gvk(&GroupVersionKind::gvk("nowhere.example.com", "v1", "Ghost"));
    SharedInformer::builder_with(server.client.clone(), ghosts)
}

#[tokio::test]
async fn last_watch_error_handler_is_used() {
    let server = TestServer::start().await;
    let (sender, mut receiver) = mpsc::unbounded_channel::<Error>();
    let informer = of_ghosts(&server)
        .watch_error_handler(|error| panic!("the replaced handler got {error}"))
        .watch_error_handler(move |error| drop(sender.send(error.clone())))
        .build();
    informer.start().expect("a start");
    let error = soon(receiver.recv()).await.expect("an error");
    assert!(error.is_not_found());
    assert_eq!(error.operation(), Some(Operation::StreamingList));
    assert_eq!(
        error.resource().map(|r| r.kind().to_owned()).as_deref(),
        Some("Ghost")
    );
    let error = soon(receiver.recv()).await.expect("an error");
    assert!(error.is_not_served(), "every attempt: {error}");
    let status = informer.status();
    assert!(status.errors >= 2);
    assert!(status.last_error.is_some_and(|last| last.is_not_found()));
    stopped(&informer).await;
}

#[tokio::test]
async fn panicking_error_handler_stops_nothing() {
    let maps = ConfigMaps::named(["a"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.watch_error_handler(|error| panic!("{error}")).build();
    started(&informer).await;
    gate.close();
    let version = maps.create("b", "1").await;
    maps.open(&gate).await;
    caught_up(&informer, version).await;
    assert!(informer.status().errors >= 1);
    stopped(&informer).await;
}

#[tokio::test]
async fn transform_runs_once_per_object() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let transform = move |map: &mut ConfigMap| {
        count.fetch_add(1, Ordering::SeqCst);
        for value in map.data.iter_mut().flat_map(|data| data.values_mut()) {
            value.push('!');
        }
    };
    let informer = maps
        .builder()
        .transform(|_| panic!("replaced"))
        .transform(transform)
        .build();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    for _ in 0..2 {
        assert_eq!(value(received.next().await.object()), "1!");
    }
    maps.change("a", "2").await;
    let Event::Updated { old, new } = received.next().await else {
        panic!("no update");
    };
    assert_eq!((value(&old), value(&new)), ("1!", "2!"));
    let cached = informer.lister().get_key(&maps.key("a")).expect("the object");
    assert_eq!(value(&cached), "2!");
    maps.delete("a").await;
    let Event::Deleted(deleted) = received.next().await else {
        panic!("no deletion");
    };
    assert_eq!(value(deleted.last_state()), "2!");
    // Two initial objects, one change, one last state. A packed object is transformed on every decode, and
    // always from the original.
    let calls = calls.load(Ordering::SeqCst);
    assert!(
        calls == 4 || form() == CacheFormat::Packed && calls > 4,
        "{calls}"
    );
    stopped(&informer).await;
}

#[tokio::test]
async fn failing_transform_never_passes_untransformed_objects() {
    let maps = ConfigMaps::named(["bad", "good"]).await;
    let healed = Arc::new(AtomicBool::new(false));
    let (sender, mut receiver) = mpsc::unbounded_channel::<Error>();
    let heal = Arc::clone(&healed);
    let built = Arc::new(OnceLock::<SharedInformer<ConfigMap>>::new());
    let informed = Arc::clone(&built);
    let heal_at_the_third = move |error: &Error| {
        let informed = informed.get().expect("an error only after the start");
        assert!(informed.lister().is_empty(), "no part of the list is applied");
        drop(sender.send(error.clone()));
        if informed.status().errors >= 3 {
            heal.store(true, Ordering::SeqCst);
        }
    };
    let transform = move |map: &mut ConfigMap| match map.metadata.name.as_deref() {
        Some("bad") if !healed.load(Ordering::SeqCst) => Err("it is not ripe"),
        _ => Ok(()),
    };
    let informer = maps
        .builder()
        .backoff(SHORT_BACKOFF)
        .watch_error_handler(heal_at_the_third)
        .try_transform(transform)
        .build();
    built.set(informer.clone()).expect("set once");
    informer.start().expect("a start");
    let error = soon(receiver.recv()).await.expect("an error");
    assert!(error.is_user_code());
    let text = error.to_string();
    assert!(text.contains("/bad") && text.contains("it is not ripe"), "{text}");
    informer.wait_for_sync(PATIENCE).await.expect("a sync");
    assert_eq!(informer.lister().len(), 2);
    stopped(&informer).await;
}

/// Sends the level and text of each log event.
struct Log(mpsc::UnboundedSender<(Level, String)>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("kube_informer")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        drop(self.0.send((*event.metadata().level(), text.0)));
    }
}

#[tokio::test]
async fn errors_are_logged_by_kind_without_a_handler() {
    let (log, mut logged) = mpsc::unbounded_channel();
    // With one subscriber, tracing caches the interest of the first thread that reaches a callsite, which may
    // belong to another test. With two subscribers, it asks both.
    let _second = tracing::Dispatch::new(Log(log.clone()));
    let _logging = tracing::subscriber::set_default(Log(log));
    let maps = ConfigMaps::named([]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    started(&informer).await;
    gate.close();
    let ghosts = of_ghosts(&maps.server).build();
    ghosts.start().expect("a start");
    // Expired versions are normal; a missing kind is not.
    let mut levels = BTreeMap::new();
    soon(async {
        while levels.len() < 2 {
            let (level, text) = logged.recv().await.expect("a line");
            for code in ["410", "404"].into_iter().filter(|code| text.contains(code)) {
                levels.insert(code, level);
            }
        }
    })
    .await;
    assert_eq!(levels["410"], Level::DEBUG);
    assert_eq!(levels["404"], Level::WARN);
    stopped(&informer).await;
    stopped(&ghosts).await;
}
