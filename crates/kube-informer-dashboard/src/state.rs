//! The state of a dashboard: what it shows, recorded counters, and when the page was last requested.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kube_informer::SharedInformerFactory;
use kube_informer::erased::AnyInformer;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::overview;
use crate::queue::QueueView;
use crate::samples::{Sample, Samples};
use crate::view::{InformerView, millis};

/// Sampling period while the page is open.
const ACTIVE_PERIOD: Duration = Duration::from_secs(1);

/// Sampling period while the page is closed.
const IDLE_PERIOD: Duration = Duration::from_secs(5);

/// The page counts as closed after this time without a request.
const CLOSED_AFTER: Duration = Duration::from_secs(10);

/// Maximum number of concurrent searches. Each takes a thread from the program.
const SEARCHES: usize = 2;

/// Where informers come from.
pub(crate) enum Source {
    /// All informers of a factory, also those that are added later.
    Factory(SharedInformerFactory),
    View(Arc<InformerView>),
}

/// An informer with its unique identifier on the page.
#[derive(Clone)]
pub(crate) struct NamedView {
    pub(crate) id: String,
    pub(crate) view: Arc<InformerView>,
}

/// Everything that the dashboard's routes share.
pub(crate) struct DashboardState {
    sources: Vec<Source>,
    pub(crate) queues: Vec<Box<dyn QueueView>>,
    remembered: usize,
    /// Views of the factories' informers. They are kept because they hold the history.
    factory_views: Mutex<HashMap<AnyInformer, Arc<InformerView>>>,
    pub(crate) samples: Mutex<Samples>,
    last_request: Mutex<Option<Instant>>,
    /// Notified when the page is opened.
    opened: Arc<Notify>,
    is_sampling: Mutex<bool>,
    pub(crate) searches: Arc<Semaphore>,
}

impl DashboardState {
    pub(crate) fn new(
        sources: Vec<Source>,
        queues: Vec<Box<dyn QueueView>>,
        remembered: usize,
    ) -> Arc<DashboardState> {
        let state = Arc::new(DashboardState {
            sources,
            queues,
            remembered,
            factory_views: Mutex::default(),
            samples: Mutex::default(),
            last_request: Mutex::default(),
            opened: Arc::default(),
            is_sampling: Mutex::new(false),
            searches: Arc::new(Semaphore::new(SEARCHES)),
        });
        // Starts the histories.
        state.views();
        state
    }

    /// Returns all informers without duplicates, in the order in which they were added.
    pub(crate) fn views(&self) -> Vec<NamedView> {
        let mut order: Vec<AnyInformer> = Vec::new();
        let mut chosen: HashMap<AnyInformer, Arc<InformerView>> = HashMap::new();
        let mut factory_views = self.factory_views.lock();
        for source in &self.sources {
            match source {
                Source::Factory(factory) => {
                    for informer in factory.informers() {
                        let view = factory_views
                            .entry(informer.clone())
                            .or_insert_with(|| InformerView::with_metadata(informer.clone()));
                        chosen.entry(informer.clone()).or_insert_with(|| Arc::clone(view));
                        order.push(informer);
                    }
                }
                // An informer that was added by itself takes precedence, unless that would hide whole objects.
                Source::View(view) => {
                    let informer = view.informer();
                    order.push(informer.clone());
                    let known = chosen.insert(informer.clone(), Arc::clone(view));
                    if let Some(known) =
                        known.filter(|known| known.shows_whole_objects() && !view.shows_whole_objects())
                    {
                        chosen.insert(informer.clone(), known);
                    }
                }
            }
        }
        drop(factory_views);
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut views = Vec::new();
        for informer in order {
            let Some(view) = chosen.remove(&informer) else {
                continue;
            };
            view.record_history(self.remembered);
            let name = informer.resource().group_resource();
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            let id = if *count == 1 {
                name
            } else {
                format!("{name}~{count}")
            };
            views.push(NamedView { id, view });
        }
        views
    }

    pub(crate) fn view(&self, id: &str) -> Option<Arc<InformerView>> {
        let found = self.views().into_iter().find(|named| named.id == id)?;
        Some(found.view)
    }

    /// Records that the page was requested.
    pub(crate) fn requested(self: &Arc<Self>) {
        if !self.is_open() {
            self.opened.notify_one();
        }
        *self.last_request.lock() = Some(Instant::now());
        self.start_sampling();
    }

    /// Starts recording counters until the state is dropped, unless this was done before. Does nothing outside of a runtime.
    pub(crate) fn start_sampling(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if !std::mem::replace(&mut *self.is_sampling.lock(), true) {
            runtime.spawn(sample(Arc::downgrade(self), Arc::clone(&self.opened)));
        }
    }

    fn is_open(&self) -> bool {
        self.last_request
            .lock()
            .is_some_and(|request| request.elapsed() < CLOSED_AFTER)
    }

    fn record_sample(&self) {
        // Whole milliseconds, so that a request for samples after the last one does not return it again.
        let at = UNIX_EPOCH + Duration::from_millis(millis(SystemTime::now()));
        let counts = overview::counts(&self.views(), &self.queues);
        self.samples.lock().add(Sample { at, counts });
    }
}

async fn sample(state: Weak<DashboardState>, opened: Arc<Notify>) {
    loop {
        let period = {
            let Some(state) = state.upgrade() else { return };
            state.record_sample();
            if state.is_open() {
                ACTIVE_PERIOD
            } else {
                IDLE_PERIOD
            }
        };
        // Opening the page ends the longer period early, but never samples faster than the shorter one.
        tokio::time::sleep(ACTIVE_PERIOD).await;
        let _opened_or_elapsed =
            tokio::time::timeout(period.saturating_sub(ACTIVE_PERIOD), opened.notified()).await;
    }
}
