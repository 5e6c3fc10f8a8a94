//! The informers under test.

use std::collections::VecDeque;
use std::iter::successors;
use std::sync::Arc;
use std::time::Duration;

use contract_checker::{CacheContents, ObjectState};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Client;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube_informer::{
    Backoff, CacheFormat, Error, HandlerOptions, InformerBuilder, Kind, Registration, ResourceVersion,
    SharedInformer, source::WireFormat,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::sleep;

use crate::handlers::{CheckedHandler, Checks};
use crate::sorts::{NAMESPACES, SELECTED, Sort};

/// A short backoff, because runs are short.
const BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(100),
    factor: 2.0,
    cap: Duration::from_secs(2),
    jitter: 1.0,
    reset: Duration::from_secs(10),
};
/// A small page size, so that a list has several pages.
const PAGE: u32 = 5;
/// Time that a slow handler needs for an event: longer than a write.
const SLOW: Duration = Duration::from_millis(30);

/// The objects that an informer selects.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) name: &'static str,
    pub(crate) sort: Sort,
    /// Empty for all namespaces.
    pub(crate) namespaces: Vec<&'static str>,
    pub(crate) selected: bool,
    /// client-go's type of the informer: `typed`, `dynamic` or `metadata`.
    pub(crate) form: &'static str,
}

impl View {
    /// Returns whether the informer watches several namespaces, each with its own version.
    pub(crate) fn is_several(&self) -> bool {
        self.namespaces.len() > 1
    }

    pub(crate) fn has(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(&namespace)
    }
}

/// An informer of any kind.
pub(crate) trait Subject: Send + Sync {
    fn view(&self) -> &View;
    fn start(&self);
    fn version(&self) -> Option<ResourceVersion>;
    /// Returns the content and the version of the cache.
    fn contents(&self) -> CacheContents;
    /// Adds a handler.
    fn add_handler(&self);
    /// Adds a handler that is slower than the writers.
    fn add_slow_handler(&self);
    /// Removes the first handler that was added during the run.
    fn remove_handler(&self) -> BoxFuture<'_, ()>;
    fn handlers(&self) -> Vec<(Arc<CheckedHandler>, Registration)>;
    /// Returns the last errors, formatted for a message.
    fn errors(&self) -> String;
    /// Waits until the cache contains a write.
    fn reach<'a>(
        &'a self,
        written: &'a DynamicObject,
        patience: Duration,
    ) -> BoxFuture<'a, Result<(), Error>>;
    fn stop(&self) -> BoxFuture<'_, ()>;
}

struct WatchedInformer<K: Kind> {
    view: View,
    informer: SharedInformer<K>,
    checks: Arc<Checks>,
    errors: Arc<Mutex<ErrorLog>>,
    handlers: Mutex<Vec<(Arc<CheckedHandler>, Registration)>>,
}

/// The number of errors of an informer, and the last ones.
#[derive(Default)]
struct ErrorLog {
    count: usize,
    last: VecDeque<String>,
}

/// Maximum number of kept errors.
const MAX_ERRORS: usize = 6;

/// Number of handlers that are never removed.
const PERMANENT_HANDLERS: usize = 2;

impl<K: Kind> WatchedInformer<K> {
    fn put(view: View, builder: InformerBuilder<K>, checks: &Arc<Checks>) -> Arc<dyn Subject> {
        let (name, findings) = (view.name, Arc::clone(&checks.findings));
        let errors = Arc::<Mutex<ErrorLog>>::default();
        let heard = Arc::clone(&errors);
        let mut builder = builder
            .namespaces(view.namespaces.iter().copied())
            .backoff(BACKOFF)
            .watch_error_handler(move |error| {
                lock(&heard).add(error);
                // etcd never loses data, so the server never goes back.
                if error.is_going_back() || error.is_bad_data() {
                    findings.add(if error.is_going_back() { 2 } else { 12 }, name, error);
                }
            });
        if view.selected {
            builder = builder.labels(SELECTED);
        }
        let watched = WatchedInformer {
            view,
            informer: builder.build(),
            checks: Arc::clone(checks),
            errors,
            handlers: Mutex::default(),
        };
        watched.add_handler();
        watched.add_slow_handler();
        Arc::new(watched)
    }

    fn handler(&self, manner: &str) -> (Arc<CheckedHandler>, HandlerOptions) {
        let name = format!("{} ({manner})", self.view.name);
        let options = HandlerOptions::new().name(&name);
        let handler = CheckedHandler::new(name, self.view.is_several(), &self.checks);
        (handler, options)
    }

    fn keep(&self, handler: Arc<CheckedHandler>, registration: Registration) {
        let mut handlers = lock(&self.handlers);
        handlers.push((handler, registration));
    }
}

impl<K: Kind> Subject for WatchedInformer<K> {
    fn view(&self) -> &View {
        &self.view
    }

    fn start(&self) {
        self.informer.start().expect("the first start");
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.informer.resource_version()
    }

    fn contents(&self) -> CacheContents {
        CacheContents::of(&self.informer.snapshot(), ObjectState::of)
    }

    fn add_handler(&self) {
        let (checked, options) = self.handler("quick");
        let (receiver, lister) = (Arc::clone(&checked), self.informer.lister());
        let handler = move |event| receiver.receive(&event, &lister);
        let registration = self.informer.add_handler_with(handler, options);
        self.keep(checked, registration.expect("a running informer"));
    }

    fn add_slow_handler(&self) {
        let (checked, options) = self.handler("slow");
        let (receiver, lister) = (Arc::clone(&checked), self.informer.lister());
        let handler = move |event| {
            receiver.receive(&event, &lister);
            sleep(SLOW)
        };
        let registration = self.informer.add_async_handler_with(handler, options);
        self.keep(checked, registration.expect("a running informer"));
    }

    fn remove_handler(&self) -> BoxFuture<'_, ()> {
        let mut handlers = lock(&self.handlers);
        let removed = (handlers.len() > PERMANENT_HANDLERS).then(|| handlers.remove(PERMANENT_HANDLERS));
        async move {
            if let Some((handler, registration)) = removed {
                registration.remove_and_wait().await;
                handler.checker.end("after it was removed");
            }
        }
        .boxed()
    }

    fn handlers(&self) -> Vec<(Arc<CheckedHandler>, Registration)> {
        lock(&self.handlers).clone()
    }

    fn errors(&self) -> String {
        let errors = lock(&self.errors);
        let last: Vec<&str> = errors.last.iter().map(String::as_str).collect();
        format!("{} errors, the last:\n    {}", errors.count, last.join("\n    "))
    }

    fn reach<'a>(
        &'a self,
        written: &'a DynamicObject,
        patience: Duration,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.informer.wait_for_write(written, patience).boxed()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        async move {
            self.informer.shutdown().await;
            for (handler, _) in self.handlers() {
                handler.checker.end("after its informer stopped");
            }
        }
        .boxed()
    }
}

impl ErrorLog {
    fn add(&mut self, error: &Error) {
        self.count += 1;
        if self.last.len() == MAX_ERRORS {
            self.last.pop_front();
        }
        let causes = successors(Some(error as &dyn std::error::Error), |error| error.source());
        let words: Vec<String> = causes.map(ToString::to_string).collect();
        self.last.push_back(words.join(": "));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

fn view(name: &'static str, sort: Sort, form: &'static str) -> View {
    View {
        name,
        sort,
        namespaces: Vec::new(),
        selected: false,
        form,
    }
}

/// Returns informers of every cache format, with lists and streaming lists, and with both wire formats; for
/// all namespaces, one and several; with and without a selector.
pub(crate) fn all(client: &Client, checks: &Arc<Checks>) -> Vec<Arc<dyn Subject>> {
    let east = vec![NAMESPACES[0]];
    vec![
        newcomer("config maps, streamed", client, checks),
        WatchedInformer::put(
            View {
                namespaces: east.clone(),
                selected: true,
                ..view(
                    "selected config maps, packed, in pages",
                    Sort::ConfigMaps,
                    "typed",
                )
            },
            SharedInformer::<ConfigMap>::builder(client.clone())
                .cache_format(CacheFormat::Packed)
                .streaming_list(false)
                .page_size(PAGE),
            checks,
        ),
        WatchedInformer::put(
            View {
                namespaces: NAMESPACES.to_vec(),
                ..view(
                    "secrets of two namespaces, packed, streamed",
                    Sort::Secrets,
                    "typed",
                )
            },
            SharedInformer::<Secret>::builder(client.clone()).cache_format(CacheFormat::Packed),
            checks,
        ),
        WatchedInformer::put(
            View {
                namespaces: east,
                ..view("metadata of pods, in pages", Sort::Pods, "metadata")
            },
            SharedInformer::<PartialObjectMeta<Pod>>::builder(client.clone())
                .streaming_list(false)
                .page_size(PAGE),
            checks,
        ),
        WatchedInformer::put(
            View {
                selected: true,
                ..view("selected pods, JSON, streamed", Sort::Pods, "typed")
            },
            SharedInformer::<Pod>::builder(client.clone()).wire_format(WireFormat::Json),
            checks,
        ),
        WatchedInformer::put(
            view("widgets, dynamic, streamed", Sort::Widgets, "dynamic"),
            SharedInformer::<DynamicObject>::builder_with(client.clone(), Sort::Widgets.resource()),
            checks,
        ),
        WatchedInformer::put(
            View {
                selected: true,
                ..view(
                    "metadata of selected widgets, in pages",
                    Sort::Widgets,
                    "metadata",
                )
            },
            SharedInformer::<PartialObjectMeta<DynamicObject>>::builder_with(
                client.clone(),
                Sort::Widgets.resource(),
            )
            .streaming_list(false)
            .page_size(PAGE),
            checks,
        ),
    ]
}

/// Returns an additional informer.
pub(crate) fn newcomer(name: &'static str, client: &Client, checks: &Arc<Checks>) -> Arc<dyn Subject> {
    let builder = SharedInformer::<ConfigMap>::builder(client.clone());
    WatchedInformer::put(view(name, Sort::ConfigMaps, "typed"), builder, checks)
}
