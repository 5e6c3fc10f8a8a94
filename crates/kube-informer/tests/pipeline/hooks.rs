//! User functions that process objects before they are cached: transforms and indexes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Error, Event, HandlerOptions, InformerState, SharedInformer, error::StatusError};
use tokio::time::timeout;

use crate::handlers::PanicOnDrop;
use crate::recording::{LONG, recorder};
use crate::removing::{AtLast, returns};
use crate::scripted::{Server, text};

/// A transform is kept in the cache and runs once for each state.
#[tokio::test(start_paused = true)]
async fn a_transform_applies_everywhere_and_runs_once() {
    let server = Server::with(&["a/n"]);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let informer = server
        .builder()
        .resync(std::time::Duration::from_secs(1_000))
        .transform(move |object| {
            counted.fetch_add(1, Ordering::Relaxed);
            let data = object.data.get_or_insert_default();
            let text = format!("transformed {}", data.get("text").map_or("", String::as_str));
            data.insert("text".to_owned(), text);
        })
        .build();
    let (handler, mut recording) = recorder();
    let options = HandlerOptions::new().every_event();
    informer.add_handler_with(handler, options).unwrap();
    informer.start().unwrap();
    recording.event().await;
    server.put("a/n", "changed");
    recording.event().await;
    server.answer_lists(false);
    server.expire();
    server.answer_lists(true);
    assert!(
        recording.event().await.is_resync(),
        "the relist finds it unchanged"
    );
    assert_eq!(
        text(&informer.lister().namespace("a").get("n").unwrap()).unwrap(),
        "transformed changed"
    );
    server.delete("a/n");
    while !matches!(recording.event().await, Event::Deleted(deleted) if text(&deleted).unwrap() == "transformed changed")
    {
    }
    informer.shutdown().await;
    assert_eq!(
        runs.load(Ordering::Relaxed),
        3,
        "an unchanged object of a relist is not transformed again"
    );
}

/// Key, version and history do not depend on the transformed object.
#[tokio::test]
async fn a_transform_may_drop_the_metadata() {
    let server = Server::with(&["a/n"]);
    let informer = server
        .builder()
        .transform(|object| object.metadata = kube::api::ObjectMeta::default())
        .build();
    let (handler, mut recording) = recorder();
    let options = HandlerOptions::new().every_event();
    informer.add_handler_with(handler, options).unwrap();
    informer.start().unwrap();
    assert_eq!(recording.next().await, "* a/n@2");
    server.put("a/n", "changed");
    assert_eq!(recording.next().await, "~ a/n@2>3");
    assert_eq!(informer.resource_version(), Some(server.version()));
    let found = informer.lister().namespace("a").get("n").unwrap();
    assert_eq!(
        (text(&found).as_deref(), &found.metadata.name),
        (Some("changed"), &None)
    );
    server.delete("a/n");
    assert_eq!(recording.next().await, "- a/n@4");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_list_reaches_the_error_handler() {
    let server = Server::with(&["a/n"]);
    let forbidden = StatusError {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: "no such luck".to_owned(),
        ..StatusError::default()
    };
    server.fail_lists(Some(Error::status(forbidden)));
    let (sender, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let informer = server
        .builder()
        .watch_error_handler(move |error| drop(sender.send(error.clone())))
        .build();
    informer.start().unwrap();
    let error = timeout(LONG, errors.recv()).await.unwrap().unwrap();
    assert!(error.is_forbidden(), "{error}");
    let text = error.to_string();
    for part in ["configmaps", "403", "no such luck"] {
        assert!(text.contains(part), "{text}");
    }

    server.fail_lists(None);
    informer.wait_for_sync(LONG).await.unwrap();
    informer.shutdown().await;
    while let Ok(error) = errors.try_recv() {
        assert!(error.is_forbidden(), "{error}");
    }
}

/// A failing index function is reported with the object's name, without other effects.
#[tokio::test]
async fn an_index_function_that_fails_is_reported() {
    let server = Server::with(&["a/good", "a/bad"]);
    let (sender, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let informer = server
        .builder()
        .watch_error_handler(move |error| drop(sender.send(error.to_string())))
        .build();
    let index = informer
        .try_index("names", |object: &ConfigMap| match object.metadata.name.clone() {
            Some(name) if name == "bad" => Err("no"),
            name => Ok(name),
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let error = errors.recv().await.unwrap();
    assert!(
        error.contains("configmaps") && error.contains("a/bad") && error.contains("names"),
        "{error}"
    );
    assert_eq!((index.get("good").len(), index.get("bad").len()), (1, 0));
    assert_eq!(informer.lister().len(), 2);

    let late = informer
        .index("late", |_: &ConfigMap| -> [u8; 1] { panic!("never") })
        .unwrap();
    assert!(errors.recv().await.unwrap().contains("never"));
    assert!(late.values().is_empty());
    server.put("a/good", "changed");
    informer.wait_for_version(server.version(), LONG).await.unwrap();
    assert_eq!(index.get("good").len(), 1);
    informer.shutdown().await;
}

/// Rejected functions, and the functions of a stopped informer, are dropped without a lock.
#[test]
fn user_functions_may_use_their_informer_when_they_are_dropped() {
    returns(|| {
        let built = Arc::new(OnceLock::<SharedInformer<ConfigMap>>::new());
        let calls = Arc::new(AtomicUsize::new(0));
        let ask = || {
            let (built, calls) = (Arc::clone(&built), Arc::clone(&calls));
            AtLast(move || {
                let informer = built.get().unwrap();
                let _ = (informer.state(), informer.status());
                let _ = informer.index("number", |_: &ConfigMap| [1_u8]);
                calls.fetch_add(1, Ordering::Relaxed);
            })
        };
        let (in_handler, in_transform) = (ask(), ask());
        let informer = Server::new()
            .builder()
            .watch_error_handler(move |_| {
                let _ = &in_handler;
            })
            .transform(move |_| {
                let _ = &in_transform;
            })
            .build();
        built.set(informer.clone()).unwrap();
        informer.index("number", |_: &ConfigMap| [1_u8]).unwrap();
        let last = ask();
        let refused = informer.index("number", move |_: &ConfigMap| {
            {
                let _ = &last;
            };
            [1_u8]
        });
        assert!(refused.unwrap_err().is_conflict());
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(informer.shutdown());
        assert_eq!(calls.load(Ordering::Relaxed), 3);
    });
}

/// A name that panics when it is hashed, if its text is `bad`.
#[derive(PartialEq, Eq)]
struct Name(String);

impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        assert_ne!(self.0, "bad", "cannot be hashed");
        self.0.hash(state);
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Contract 12: no user value stops the informer or loses objects.
#[tokio::test]
async fn contract_12_an_index_value_that_panics_is_reported() {
    let server = Server::with(&["a/good", "a/bad"]);
    let (sender, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let informer = server
        .builder()
        .watch_error_handler(move |error| drop(sender.send(error.to_string())))
        .build();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let names = informer
        .index("names", |object: &ConfigMap| {
            object.metadata.name.clone().map(Name)
        })
        .unwrap();
    let error = errors.recv().await.unwrap();
    assert!(
        error.contains("configmaps") && error.contains("a/bad") && error.contains("cannot be hashed"),
        "{error}"
    );
    for key in ["a/bad", "a/new"] {
        server.put(key, "changed");
    }
    informer.wait_for_version(server.version(), LONG).await.unwrap();
    assert_eq!(errors.recv().await.unwrap(), error, "the change, too");
    assert_eq!(informer.lister().len(), 3);
    assert_eq!(names.values().len(), 2);
    assert_eq!(informer.state(), InformerState::Running);
    informer.shutdown().await;
}

/// The cache is being written while an index function runs, so waiting for it there would be a deadlock.
#[tokio::test]
async fn an_index_function_cannot_add_an_index() {
    let server = Server::with(&["a/x"]);
    let informer = server.informer();
    let inside = informer.clone();
    let (sender, mut recording) = tokio::sync::mpsc::unbounded_channel();
    let index = informer
        .index("outer", move |_: &ConfigMap| {
            let added = inside.index("inner", |_: &ConfigMap| [1_u8]);
            let _ = sender.send(added.map(drop).map_err(|error| error.to_string()));
            ["value".to_owned()]
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let error = recording
        .recv()
        .await
        .expect("the function was called")
        .unwrap_err();
    assert!(
        error.contains("\"inner\"") && error.contains("configmaps"),
        "{error}"
    );
    assert_eq!(index.get("value").len(), 1);
    informer
        .index("inner", |_: &ConfigMap| [1_u8])
        .expect("an index can be added outside of an index function");
    informer.shutdown().await;
}

/// For any panic payload, the cache is filled and the errors are reported.
#[tokio::test(start_paused = true)]
async fn a_panic_payload_that_panics_on_drop_does_not_stop_an_informer() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let reports = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reports);
    let first = AtomicUsize::new(0);
    let informer = server
        .builder()
        .watch_error_handler(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::panic::panic_any(PanicOnDrop);
        })
        .transform(move |_| {
            if first.fetch_add(1, Ordering::Relaxed) == 0 {
                std::panic::panic_any(PanicOnDrop);
            }
        })
        .build();
    let never = |_: &ConfigMap| -> [String; 1] { std::panic::panic_any(PanicOnDrop) };
    let index = informer.index("never", never).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    assert_eq!(informer.lister().len(), 2);
    assert!(index.values().is_empty());
    informer.shutdown().await;
    // One error of the transform and two of the index.
    assert_eq!(reports.load(Ordering::Relaxed), 3);
}
