//! What a dashboard shows, and who has looked.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::overview;
use super::queue::QueueView;
use super::samples::{Sample, Samples};
use super::view::{View, millis};
use crate::factory::SharedInformerFactory;

/// How often counts are noted while somebody looks, and while nobody does.
const BRISK: Duration = Duration::from_secs(1);
const SLOW: Duration = Duration::from_secs(5);

/// Who asked for nothing for so long does not look.
const LOOKING: Duration = Duration::from_secs(10);

/// So many searches at a time: they take a thread each, and the program has other things to do.
const SEARCHES: usize = 2;

/// Where informers come from.
pub(super) enum Source {
    /// All that a factory has, now and later.
    Factory(SharedInformerFactory),
    View(Arc<dyn View>),
}

/// An informer with a name that is its own.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) id: String,
    pub(super) view: Arc<dyn View>,
}

/// All that a dashboard shows.
pub(super) struct House {
    pub(super) sources: Vec<Source>,
    pub(super) queues: Vec<Box<dyn QueueView>>,
    pub(super) remembered: usize,
    /// Views of factories' informers, which live as long as this, because they hold the history.
    pub(super) members: Mutex<HashMap<usize, Arc<dyn View>>>,
    pub(super) samples: Mutex<Samples>,
    pub(super) last_look: Mutex<Option<Instant>>,
    /// Told when somebody looks, and nobody did before.
    pub(super) looked: Arc<Notify>,
    pub(super) is_sampled: Mutex<bool>,
    pub(super) searches: Arc<Semaphore>,
}

impl House {
    pub(super) fn new(
        sources: Vec<Source>,
        queues: Vec<Box<dyn QueueView>>,
        remembered: usize,
    ) -> Arc<House> {
        let house = Arc::new(House {
            sources,
            queues,
            remembered,
            members: Mutex::default(),
            samples: Mutex::default(),
            last_look: Mutex::default(),
            looked: Arc::default(),
            is_sampled: Mutex::new(false),
            searches: Arc::new(Semaphore::new(SEARCHES)),
        });
        house.views();
        house
    }

    /// All informers, each once, in the order in which they were given.
    pub(super) fn views(&self) -> Vec<Named> {
        let mut order = Vec::new();
        let mut chosen: BTreeMap<usize, Arc<dyn View>> = BTreeMap::new();
        let mut members = self.members.lock();
        for source in &self.sources {
            match source {
                Source::Factory(factory) => {
                    for member in factory.views() {
                        let identity = member.identity();
                        let member = members.entry(identity).or_insert(member);
                        order.push(identity);
                        chosen.entry(identity).or_insert_with(|| Arc::clone(member));
                    }
                }
                // What was asked for by itself is shown as it was asked for.
                Source::View(view) => {
                    order.push(view.identity());
                    let known = chosen.insert(view.identity(), Arc::clone(view));
                    if let Some(known) = known.filter(|known| known.is_whole() && !view.is_whole()) {
                        chosen.insert(view.identity(), known);
                    }
                }
            }
        }
        drop(members);
        let mut taken: HashMap<String, usize> = HashMap::new();
        let mut views = Vec::new();
        for identity in order {
            let Some(view) = chosen.remove(&identity) else {
                continue;
            };
            view.remember(self.remembered);
            let name = view.resource().group_resource();
            let count = taken.entry(name.clone()).or_default();
            *count += 1;
            let id = if *count == 1 {
                name
            } else {
                format!("{name}~{count}")
            };
            views.push(Named { id, view });
        }
        views
    }

    pub(super) fn view(&self, id: &str) -> Option<Arc<dyn View>> {
        let found = self.views().into_iter().find(|named| named.id == id)?;
        Some(found.view)
    }

    /// Somebody looks.
    pub(super) fn looked(self: &Arc<Self>) {
        if !self.is_looked_at() {
            self.looked.notify_one();
        }
        *self.last_look.lock() = Some(Instant::now());
        self.sample_from_now_on();
    }

    /// Notes counts from time to time, for as long as the house stands.
    pub(super) fn sample_from_now_on(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if !std::mem::replace(&mut *self.is_sampled.lock(), true) {
            runtime.spawn(sample(Arc::downgrade(self), Arc::clone(&self.looked)));
        }
    }

    fn is_looked_at(&self) -> bool {
        self.last_look.lock().is_some_and(|look| look.elapsed() < LOOKING)
    }

    pub(super) fn note_counts(&self) {
        // Whole milliseconds, so that who asks for newer ones than the last is not told it again.
        let at = UNIX_EPOCH + Duration::from_millis(millis(SystemTime::now()));
        let counts = overview::counts(&self.views(), &self.queues);
        self.samples.lock().add(Sample { at, counts });
    }
}

async fn sample(house: Weak<House>, looked: Arc<Notify>) {
    loop {
        let pause = {
            let Some(house) = house.upgrade() else { return };
            house.note_counts();
            if house.is_looked_at() { BRISK } else { SLOW }
        };
        // Whoever begins to look is not kept waiting, unless somebody did a moment ago.
        tokio::time::sleep(BRISK).await;
        let _looked_or_not = tokio::time::timeout(pause.saturating_sub(BRISK), looked.notified()).await;
    }
}
