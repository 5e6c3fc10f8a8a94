//! Handlers of every kind, added before and after start.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Event, EventHandler, HandlerOptions, Object, callbacks, filtered, handler::DeletedObject,
};
use tokio::sync::mpsc;

use crate::config_maps::{ConfigMaps, value};
use crate::informers::{caught_up, event_word, recording_handler, soon, sorted, started, stopped};

#[tokio::test]
async fn handlers_can_be_added_before_and_after_start() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let informer = maps.informer();
    let mut all_received = Vec::new();
    for number in 0..20 {
        if number == 10 {
            started(&informer).await;
        }
        let (handler, received) = recording_handler();
        let options = HandlerOptions::new().name(format!("handler-{number}"));
        let registration = informer.add_handler_with(handler, options).expect("a handler");
        assert_eq!(registration.name(), format!("handler-{number}"));
        all_received.push(received);
    }
    assert_eq!(informer.registrations().len(), 20);
    maps.create("c", "1").await;
    for received in &mut all_received {
        assert_eq!(received.listed(2).await, ["*a", "*b"]);
        assert_eq!(received.word().await, "+c");
    }
    stopped(&informer).await;
}

/// A handler without a state.
struct DefaultHandler;

impl EventHandler<ConfigMap> for DefaultHandler {}

#[tokio::test]
async fn handler_options_are_name_resync_period_and_delivery_mode() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.builder().resync(Duration::from_hours(1)).build();
    let (handler, mut every) = recording_handler();
    let options = HandlerOptions::new()
        .name("all of it")
        .resync(Duration::from_mins(5))
        .every_event()
        .never_blocks();
    let named = informer.add_handler_with(handler, options).expect("a handler");
    assert_eq!(named.name(), "all of it");
    let unnamed = informer.add_handler(DefaultHandler).expect("a handler");
    assert!(unnamed.name().ends_with("DefaultHandler"), "{}", unnamed.name());
    started(&informer).await;
    maps.create("a", "1").await;
    for value in ["2", "3", "4"] {
        maps.change("a", value).await;
    }
    maps.delete("a").await;
    assert_eq!(every.until("-a").await, ["+a", "~a", "~a", "~a", "-a"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn update_event_has_the_old_and_the_new_object() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;

    let Event::Added {
        object: first,
        is_in_initial_list: true,
    } = received.next().await
    else {
        panic!("no initial add");
    };
    assert_eq!((value(&first), first.key()), ("1", &maps.key("a")));
    let version = maps.change("a", "2").await;
    let Event::Updated { old, new } = received.next().await else {
        panic!("no update");
    };
    assert!(Object::ptr_eq(&old, &first));
    assert_eq!((value(&new), new.version()), ("2", &version));
    maps.create("b", "1").await;
    let Event::Added {
        is_in_initial_list: false,
        ..
    } = received.next().await
    else {
        panic!("no later add");
    };
    maps.delete("a").await;
    let Event::Deleted(deleted) = received.next().await else {
        panic!("no deletion");
    };
    assert!(!deleted.is_final_state_unknown());
    assert!(Object::ptr_eq(deleted.last_seen(), &new));
    assert_eq!(value(deleted.last_state()), "2");
    // The last state has the version of the deletion.
    assert!(new.version().is_before(deleted.last_state().version()));
    stopped(&informer).await;
}

#[tokio::test]
async fn missed_deletion_is_marked_as_final_state_unknown() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    received.listed(2).await;

    gate.close();
    maps.change("a", "2").await;
    maps.delete("a").await;
    let last = maps.create("c", "1").await;
    maps.open(&gate).await;
    caught_up(&informer, last).await;
    let Event::Deleted(deleted) = received.next().await else {
        panic!("no deletion");
    };
    assert!(deleted.is_final_state_unknown());
    // No other handler received the change.
    assert_eq!(value(deleted.last_state()), "1");
    assert_eq!(received.word().await, "+c");
    stopped(&informer).await;
}

#[tokio::test]
async fn recreated_object_is_a_different_object() {
    let maps = ConfigMaps::named(["a"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    gate.close();
    maps.delete("a").await;
    let again = maps.create("a", "2").await;
    maps.open(&gate).await;
    caught_up(&informer, again).await;
    assert_eq!(received.until("+a").await, ["*a", "?a", "+a"]);
    stopped(&informer).await;
}

/// A stateful handler that implements the trait.
struct CountingHandler {
    seen: usize,
    tell: mpsc::UnboundedSender<String>,
}

impl EventHandler<ConfigMap> for CountingHandler {
    fn on_add(&mut self, object: &Object<ConfigMap>, is_in_initial_list: bool) {
        self.seen += 1;
        let word = format!("{} add {} {is_in_initial_list}", self.seen, object.key().name());
        drop(self.tell.send(word));
    }

    fn on_update(&mut self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        self.seen += 1;
        let word = format!("{} update {} {}", self.seen, value(old), value(new));
        drop(self.tell.send(word));
    }

    fn on_delete(&mut self, deleted: &DeletedObject<ConfigMap>) {
        self.seen += 1;
        let word = format!("{} delete {}", self.seen, deleted.key().name());
        drop(self.tell.send(word));
    }
}

#[tokio::test]
async fn handler_can_be_a_trait_closures_or_an_async_function() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (tell, mut by_trait) = mpsc::unbounded_channel();
    informer
        .add_handler(CountingHandler { seen: 0, tell })
        .expect("a handler");
    let (tell, mut by_closures) = mpsc::unbounded_channel();
    let (add, update, delete) = (tell.clone(), tell.clone(), tell);
    let closures = callbacks::<ConfigMap>()
        .on_add(move |map, initial| drop(add.send(format!("+{} {initial}", map.key().name()))))
        .on_update(move |old, new| drop(update.send(format!("~{}{}", value(old), value(new)))))
        .on_delete(move |map| drop(delete.send(format!("-{}", map.key().name()))));
    informer.add_handler(closures).expect("a handler");
    // Callbacks that are not set do nothing.
    informer.add_handler(callbacks::<ConfigMap>()).expect("a handler");
    let (tell, mut by_async) = mpsc::unbounded_channel();
    let asynchronous = move |event: Event<ConfigMap>| {
        let tell = tell.clone();
        async move {
            tokio::task::yield_now().await;
            drop(tell.send(event_word(&event)));
        }
    };
    informer
        .add_async_handler_with(asynchronous, HandlerOptions::new())
        .expect("a handler");
    started(&informer).await;

    assert_eq!(soon(by_trait.recv()).await.as_deref(), Some("1 add a true"));
    assert_eq!(soon(by_closures.recv()).await.as_deref(), Some("+a true"));
    assert_eq!(soon(by_async.recv()).await.as_deref(), Some("*a"));
    maps.change("a", "2").await;
    assert_eq!(soon(by_trait.recv()).await.as_deref(), Some("2 update 1 2"));
    assert_eq!(soon(by_closures.recv()).await.as_deref(), Some("~12"));
    assert_eq!(soon(by_async.recv()).await.as_deref(), Some("~a"));
    maps.delete("a").await;
    assert_eq!(soon(by_trait.recv()).await.as_deref(), Some("3 delete a"));
    assert_eq!(soon(by_closures.recv()).await.as_deref(), Some("-a"));
    assert_eq!(soon(by_async.recv()).await.as_deref(), Some("-a"));
    stopped(&informer).await;
    assert!(informer.status().handlers.iter().all(|h| h.panics() == 0));
}

#[tokio::test]
async fn filter_adds_objects_that_start_to_match_and_deletes_those_that_stop() {
    let maps = ConfigMaps::named(["a"]).await;
    maps.create("in", "fits").await;
    let informer = maps.informer();
    let (handler, mut received) = recording_handler::<ConfigMap>();
    let fits = |map: &ConfigMap| value(map).starts_with("fits");
    informer.add_handler(filtered(fits, handler)).expect("a handler");
    started(&informer).await;
    assert_eq!(received.word().await, "*in");

    maps.change("a", "fits").await;
    assert_eq!(received.word().await, "+a");
    maps.change("a", "fits still").await;
    assert_eq!(received.word().await, "~a");
    maps.change("a", "no more").await;
    let Event::Deleted(gone) = received.next().await else {
        panic!("no deletion");
    };
    assert_eq!(value(&gone), "fits still");
    // Neither of these calls the handler.
    maps.change("a", "not at all").await;
    maps.delete("a").await;
    maps.delete("in").await;
    assert_eq!(received.word().await, "-in");
    stopped(&informer).await;
}

#[tokio::test]
async fn events_are_available_as_a_stream() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let informer = maps.informer();
    let mut early = informer.events().expect("a stream");
    started(&informer).await;
    let late = informer.events().expect("a stream");
    assert!(!late.registration().has_synced());
    let initial: Vec<_> = soon(early.by_ref().take(2).collect()).await;
    assert_eq!(sorted(initial.iter().map(event_word)), ["*a", "*b"]);
    maps.change("a", "2").await;
    assert_eq!(
        soon(early.next()).await.as_ref().map(event_word).as_deref(),
        Some("~a")
    );
    assert!(early.registration().has_synced());

    // The stream ends after all events were delivered; a dropped one is removed.
    assert_eq!(informer.registrations().len(), 2);
    drop(late);
    assert_eq!(informer.registrations().len(), 1);
    let version = maps.create("c", "1").await;
    caught_up(&informer, version).await;
    stopped(&informer).await;
    let rest: Vec<_> = soon(early.collect()).await;
    assert_eq!(rest.iter().map(event_word).collect::<Vec<_>>(), ["+c"]);
}
