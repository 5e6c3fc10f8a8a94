//! Tests of freeing old caches, which is done by the writer.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use kube::api::ObjectMeta;
use parking_lot::Mutex;
use serde::Deserialize;

use super::TestStore;
use crate::pipeline::store::Seed;

/// Calls a function when it is dropped.
#[derive(Deserialize)]
pub(crate) struct Probe {
    metadata: ObjectMeta,
    #[serde(skip)]
    freed: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(freed) = &self.freed {
            freed();
        }
    }
}

impl kube::Resource for Probe {
    type DynamicType = ();
    type Scope = kube::core::ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Probe".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "probes".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

type Freed = Arc<Mutex<Vec<ThreadId>>>;

/// Returns a hundred objects of a version.
pub(crate) fn probes(version: u64, freed: &Arc<dyn Fn() + Send + Sync>) -> Vec<Probe> {
    let probe = |n: u64| Probe {
        metadata: ObjectMeta {
            name: Some(format!("n{n}")),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        },
        freed: Some(Arc::clone(freed)),
    };
    (0..100).map(probe).collect()
}

/// Returns objects that record the thread on which they are dropped.
fn generation(version: u64, freed: &Freed) -> Vec<Probe> {
    let freed = Arc::clone(freed);
    let note: Arc<dyn Fn() + Send + Sync> = Arc::new(move || freed.lock().push(thread::current().id()));
    probes(version, &note)
}

/// Holding and dropping a snapshot is cheap, even for the last of many readers.
#[test]
fn readers_never_free_a_cache() {
    let freed = Freed::default();
    let mut cache = TestStore::new(Seed::new(1));
    cache.replace(generation(1, &freed), 1);
    cache.publish();

    let held: Vec<_> = (0..4).map(|_| cache.store.snapshot()).collect();
    cache.replace(generation(2, &freed), 2);
    cache.publish();
    assert!(freed.lock().is_empty(), "the old objects are held");

    thread::scope(|scope| {
        for snapshot in held {
            scope.spawn(move || {
                assert_eq!(snapshot.iter().count(), 100);
                drop(snapshot);
            });
        }
    });
    assert!(freed.lock().is_empty(), "a reader freed what it held");

    cache.publish();
    assert_eq!(*freed.lock(), vec![thread::current().id(); 100]);
}

#[test]
fn unreferenced_contents_are_freed_at_once() {
    let freed = Freed::default();
    let mut cache = TestStore::new(Seed::new(1));
    for version in 1..5 {
        cache.replace(generation(version, &freed), version);
        cache.publish();
        assert_eq!(freed.lock().len() as u64, 100 * (version - 1));
    }
    drop(cache);
    assert_eq!(freed.lock().len(), 400);
}
