//! Tests of the reflector inside an informer: settings, and the effects on the store.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::scripted::{
    Script, ScriptStep, SharedScript, added, at, bookmark, deleted, initial_end, modified, object,
};
use crate::error::Error;
use crate::handler::{Event, HandlerOptions};
use crate::informer::{InformerBuilder, SharedInformer};
use crate::object::Object;
use crate::pipeline::wire::{ListPart, RawObject, WatchEvent};

/// Creates an informer of a script, and the errors passed to its watch-error handler.
pub(super) fn informer(
    script: Script,
    streaming: bool,
) -> (SharedInformer<ConfigMap>, Arc<Script>, Arc<Mutex<Vec<String>>>) {
    let (builder, script, errors) = builder(script, streaming);
    (builder.build(), script, errors)
}

fn builder(
    script: Script,
    streaming: bool,
) -> (InformerBuilder<ConfigMap>, Arc<Script>, Arc<Mutex<Vec<String>>>) {
    let script = Arc::new(script);
    let errors = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&errors);
    let builder = SharedInformer::builder_from(SharedScript(Arc::clone(&script)), ())
        .streaming_list(streaming)
        .seed(1)
        .watch_error_handler(move |error| log.lock().push(error.to_string()));
    (builder, script, errors)
}

fn names(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    let mut names: Vec<_> = informer
        .snapshot()
        .iter()
        .map(|object| format!("{}@{}", object.key().name(), object.version()))
        .collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn a_failed_transform_fails_the_whole_list_and_is_reported() {
    let script = Script::new()
        .lists(&["a@1", "b@2", "c@3"], at("10"))
        .lists(&["a@1", "c@3"], at("11"));
    let (builder, script, errors) = builder(script, false);
    let transform = |object: &mut ConfigMap| match object.metadata.name.as_deref() {
        Some("b") => Err("b is not wanted"),
        _ => Ok(()),
    };
    let informer = builder.try_transform(transform).build();
    informer.start().expect("the first start");
    informer
        .wait_for_sync(Duration::from_secs(10))
        .await
        .expect("the second list is good");
    assert_eq!(names(&informer), ["a@1", "c@3"]);
    assert_eq!(
        *errors.lock(),
        ["configmaps: transform failed for default/b: b is not wanted"]
    );
    let requests: Vec<_> = script.requests();
    let requests: Vec<_> = requests.iter().filter_map(|text| text.split_once(' ')).collect();
    assert_eq!(requests[0], ("0s", "list 0 by 500"));
    assert_eq!(requests[1].1, "list 0 by 500");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_panics_in_a_watch_ends_it_and_a_list_follows() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .sends(vec![added("b@11"), modified("bad@12"), added("never@13")])
        .lists(&["a@1", "b@11"], at("14"));
    let (builder, script, errors) = builder(script, false);
    let transform = |object: &mut ConfigMap| {
        assert_ne!(object.metadata.name.as_deref(), Some("bad"), "it is bad");
    };
    let informer = builder.transform(transform).build();
    informer.start().expect("the first start");
    informer
        .wait_for_version("14", Duration::from_secs(10))
        .await
        .expect("the second list is good");
    assert_eq!(names(&informer), ["a@1", "b@11"]);
    let errors = errors.lock().clone();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("configmaps: transform failed for default/bad: panicked"),
        "{errors:?}"
    );
    assert_eq!(script.requests()[1], "0s watch 10");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn initial_objects_are_transformed_once_each() {
    let script = Script::new().sends(vec![
        added("a@1"),
        added("b@2"),
        added("c@3"),
        initial_end("10"),
        ScriptStep::Silence,
    ]);
    let (builder, _script, errors) = builder(script, true);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let transform = move |_: &mut ConfigMap| {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let informer = builder.transform(transform).build();
    informer.start().expect("the first start");
    informer
        .wait_for_sync(Duration::from_secs(5))
        .await
        .expect("the stream is whole");
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    assert!(errors.lock().is_empty());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_store_follows_objects_bookmarks_and_lists() {
    let script = Script::new().sends(vec![
        added("a@1"),
        initial_end("10"),
        added("b@20"),
        super::scripted::bookmark("30"),
        deleted("a@40"),
        ScriptStep::Silence,
    ]);
    let (informer, _script, _errors) = informer(script, true);
    assert_eq!(informer.resource_version(), None);
    informer.start().expect("the first start");
    informer
        .wait_for_version("40", Duration::from_secs(5))
        .await
        .expect("the informer syncs");
    assert_eq!(names(&informer), ["b@20"]);
    assert_eq!(informer.resource_version(), Some("40".into()));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn watch_timeouts_below_five_minutes_are_raised_to_five() {
    for (requested, least) in [(1, 300), (300, 300), (1_200, 1_200)] {
        let script = Arc::new(Script::new().lists(&[], at("10")));
        let informer = SharedInformer::<ConfigMap>::builder_from(SharedScript(Arc::clone(&script)), ())
            .streaming_list(false)
            .watch_timeout(Duration::from_secs(requested))
            .build();
        informer.start().expect("the first start");
        informer
            .wait_for_sync(Duration::from_secs(5))
            .await
            .expect("the list is good");
        informer.shutdown().await;
        let timeouts = script.timeouts();
        assert_eq!(timeouts.len(), 1);
        let least = Duration::from_secs(least);
        assert!((least..=2 * least).contains(&timeouts[0]), "{timeouts:?}");
    }
}

/// Returns the script of an informer with `a@1` and `b@9` at version 10 whose watch then sends an older
/// event.
fn watch_with_older_event(older: ScriptStep<WatchEvent<ConfigMap>>) -> Script {
    Script::new().lists(&["a@1", "b@9"], at("10")).sends(vec![older])
}

/// Records the events of a handler after the initial objects.
fn changes(informer: &SharedInformer<ConfigMap>) -> Arc<Mutex<Vec<String>>> {
    let changes: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&changes);
    let handler = move |event: Event<ConfigMap>| match &event {
        Event::Added {
            is_in_initial_list: true,
            ..
        } => {}
        _ => noted
            .lock()
            .push(format!("{}@{}", event.key().name(), event.object().version())),
    };
    informer.add_handler(handler).expect("it is not stopped");
    changes
}

#[tokio::test(start_paused = true)]
async fn contract_10_an_older_watch_event_delivers_nothing_again() {
    for older in [bookmark("5"), modified("b@5")] {
        let script = watch_with_older_event(older).lists(&["a@1", "b@9"], at("12"));
        let (informer, _script, errors) = informer(script, false);
        let changes = changes(&informer);
        informer.start().expect("the first start");
        informer
            .wait_for_sync(Duration::from_secs(10))
            .await
            .expect("the first list");
        let before = informer.snapshot();
        informer
            .wait_for_version("12", Duration::from_secs(10))
            .await
            .expect("the second list");
        for object in &informer.snapshot() {
            let kept = before.get(object.key()).expect("it was there");
            assert!(Object::ptr_eq(&object, &kept), "{object:?} was replaced");
        }
        informer.shutdown().await;
        assert!(changes.lock().is_empty(), "{changes:?}");
        assert_eq!(errors.lock().len(), 1, "{errors:?}");
    }
}

/// Some servers start a streaming list with the objects of an old cache, and correct them before its end.
#[tokio::test(start_paused = true)]
async fn contract_10_corrected_initial_events_do_not_prove_a_restored_server() {
    for correction in [deleted("c@11"), modified("c@11")] {
        let script = Script::new()
            .sends(vec![added("a@1"), added("b@9"), initial_end("10"), bookmark("5")])
            .sends(vec![
                added("c@3"),
                added("a@1"),
                added("b@9"),
                correction,
                initial_end("12"),
                ScriptStep::Silence,
            ]);
        let (informer, _script, errors) = informer(script, true);
        let changes = changes(&informer);
        informer.start().expect("the first start");
        informer
            .wait_for_version("12", Duration::from_secs(10))
            .await
            .expect("the second list");
        assert_eq!(informer.status().went_back, 0, "{errors:?}");
        informer.shutdown().await;
        assert!(
            changes.lock().iter().all(|change| change == "c@11"),
            "{changes:?}"
        );
        assert_eq!(errors.lock().len(), 1, "{errors:?}");
    }
}

/// A server that was restored from a backup and has passed the informer's version is detected by objects
/// whose versions the cache should contain.
#[tokio::test(start_paused = true)]
async fn contract_2_a_restored_server_that_has_passed_the_version_is_reported_and_followed() {
    for older in [bookmark("5"), modified("b@5")] {
        let script = watch_with_older_event(older)
            .lists(&["a@1", "b@7"], at("12"))
            .lists(&["a@1", "b@7"], at("12"));
        let (informer, _script, errors) = informer(script, false);
        let changes = changes(&informer);
        informer.start().expect("the first start");
        informer
            .wait_for_version("12", Duration::from_secs(10))
            .await
            .expect("the second list");
        assert_eq!(names(&informer), ["a@1", "b@7"]);
        assert_eq!(informer.status().went_back, 1);
        informer.shutdown().await;
        // No object of the other history is identified by its version.
        let mut changes = changes.lock().clone();
        changes.sort();
        assert_eq!(changes, ["a@1", "b@7"], "{errors:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn contract_3_another_uid_at_the_same_version_is_another_object() {
    let another = |version: &str| {
        let mut object = object("a@1");
        object.metadata.uid = Some(version.to_owned());
        ScriptStep::Part(ListPart::Object(
            RawObject::decoded(object).expect("it has a name and a version"),
        ))
    };
    let end = |version: &str| {
        ScriptStep::Part(ListPart::End {
            version: version.into(),
            continue_token: None,
        })
    };
    let script = Script::new()
        .lists_parts(vec![another("first"), end("10")])
        .sends(vec![ScriptStep::Error(Error::bad_data("rubbish"))])
        .lists_parts(vec![another("second"), end("12")]);
    let (informer, _script, _errors) = informer(script, false);
    let mut events = informer.events().expect("it is not stopped");
    informer.start().expect("the first start");
    informer
        .wait_for_version("12", Duration::from_secs(10))
        .await
        .expect("the second list");
    let mut next = async || {
        let event = timeout(Duration::from_secs(10), events.next()).await;
        event.expect("an event in time").expect("the informer runs")
    };
    assert!(matches!(next().await, Event::Added { .. }));
    let Event::Deleted(deleted) = next().await else {
        panic!("the first object is deleted");
    };
    assert_eq!(deleted.metadata.uid.as_deref(), Some("first"));
    let Event::Added { object, .. } = next().await else {
        panic!("the second object is added");
    };
    assert_eq!(object.metadata.uid.as_deref(), Some("second"));
    assert_eq!(
        informer
            .snapshot()
            .iter()
            .next()
            .expect("one")
            .metadata
            .uid
            .as_deref(),
        Some("second")
    );
    informer.shutdown().await;
}

/// The same in a watch: an event of another object is not a repetition.
#[tokio::test(start_paused = true)]
async fn contract_3_an_event_of_another_uid_at_the_same_version_is_another_object() {
    let event = |uid: &str| {
        let mut object = object("a@11");
        object.metadata.uid = Some(uid.to_owned());
        ScriptStep::Part(WatchEvent::Modified(
            RawObject::decoded(object).expect("it has a name and a version"),
        ))
    };
    let script = Script::new().lists(&[], at("10")).sends(vec![
        ScriptStep::Pause(Duration::from_secs(1)),
        event("one"),
        event("one"),
        event("other"),
        bookmark("12"),
        ScriptStep::Silence,
    ]);
    let (informer, _script, errors) = informer(script, false);
    let events = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&events);
    informer
        .add_handler_with(
            move |event: Event<ConfigMap>| {
                let uid = event.object().uid().map(Cow::into_owned);
                log.lock()
                    .push((matches!(event, Event::Deleted(_)), uid.unwrap_or_default()));
            },
            HandlerOptions::default().every_event(),
        )
        .expect("a handler");
    informer.start().expect("the first start");
    informer
        .wait_for_version("12", Duration::from_secs(10))
        .await
        .expect("the bookmark");
    informer.shutdown().await;
    let [one, other] = ["one", "other"].map(str::to_owned);
    assert_eq!(
        *events.lock(),
        [(false, one.clone()), (true, one), (false, other)],
        "{errors:?}"
    );
}
