//! An informer that is watched in everything it does.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube_informer::{
    Event, Form, HandlerOptions, InformerBuilder, Key, Kind, Registration, SharedInformer, Snapshot,
    WireFormat,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::labour::{Labour, Readable};
use crate::plan::{self, HandlerPlan, InformerPlan, Manner, Pace};
use crate::story::Ground;
use crate::truth::{Collection, Selection, Thing};
use crate::witness::{CHOSEN, View, Witness, difference, thing};

/// A panic that was meant.
#[derive(Debug)]
pub(crate) struct Planned;

/// An informer, its handlers, and what is known of both.
pub(crate) struct Subject {
    name: String,
    plan: InformerPlan,
    ground: Arc<Ground>,
    informer: Box<dyn Informed>,
    handlers: Vec<Handler>,
    /// Those who read streams that were removed.
    readers: Vec<JoinHandle<()>>,
    labour: Option<Labour>,
    /// The version that the store had when it was last looked at.
    last: Option<u64>,
    joined: usize,
}

struct Handler {
    witness: Arc<Witness>,
    registration: Registration,
    plan: HandlerPlan,
    release: Arc<Notify>,
    /// Ends with the stream.
    task: Option<JoinHandle<()>>,
}

impl Handler {
    /// It has removed itself.
    fn has_left(&self) -> bool {
        let events = self.witness.events();
        self.plan.leaves_after.is_some_and(|after| events >= after)
    }
}

/// An informer without the type of its objects.
trait Informed: Send {
    fn start(&self);
    fn shutdown(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    fn has_synced(&self) -> bool;
    fn view(&self) -> View;
    fn join(&self, plan: &HandlerPlan, witness: &Arc<Witness>, release: &Arc<Notify>) -> Option<Handler>;
    fn labour(&self, seed: u64, ground: &Arc<Ground>, name: &str) -> Option<Labour>;
    fn went_back(&self) -> u64;
}

impl<K: Kind> Informed for SharedInformer<K> {
    fn start(&self) {
        let started = SharedInformer::start(self);
        started.expect("it is started once");
    }

    fn shutdown(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(SharedInformer::shutdown(self))
    }

    fn has_synced(&self) -> bool {
        SharedInformer::has_synced(self)
    }

    fn view(&self) -> View {
        view(&self.snapshot())
    }

    fn join(&self, plan: &HandlerPlan, witness: &Arc<Witness>, release: &Arc<Notify>) -> Option<Handler> {
        let mut options = HandlerOptions::new().name(witness.name());
        if plan.every {
            options = options.every_event();
        }
        if let Some(resync) = plan.resync {
            options = options.resync(resync);
        }
        let own: Arc<OnceLock<Registration>> = Arc::default();
        let call = {
            let (informer, witness, plan, own) =
                (self.clone(), Arc::clone(witness), plan.clone(), Arc::clone(&own));
            move |event: &Event<K>| {
                witness.told(event, &view(&informer.snapshot()));
                let events = witness.events();
                if plan.leaves_after.is_some_and(|after| events >= after)
                    && let Some(registration) = own.get()
                {
                    registration.remove();
                    witness.is_over("after it removed itself");
                }
                if plan.panics.is_some_and(|every| events.is_multiple_of(every)) {
                    std::panic::resume_unwind(Box::new(Planned));
                }
            }
        };
        let wait = {
            let (release, pace) = (Arc::clone(release), plan.pace);
            move || pause(pace, Arc::clone(&release))
        };
        let (registration, task) = match plan.manner {
            Manner::Inline => {
                let handler = move |event: Event<K>| call(&event);
                (self.add_handler_with(handler, options.never_blocks()).ok()?, None)
            }
            Manner::Async => {
                let call = Arc::new(call);
                let handler = move |event: Event<K>| {
                    let (call, wait) = (Arc::clone(&call), wait());
                    async move {
                        // Seen when it is called, handled when it is done.
                        let _waited = (call(&event), wait.await);
                    }
                };
                (self.add_async_handler_with(handler, options).ok()?, None)
            }
            Manner::Stream => {
                let mut events = self.events_with(options).ok()?;
                let registration = events.registration();
                let task = tokio::spawn(async move {
                    while let Some(event) = events.next().await {
                        call(&event);
                        wait().await;
                    }
                });
                (registration, Some(task))
            }
        };
        let _first = own.set(registration.clone());
        Some(Handler {
            witness: Arc::clone(witness),
            registration,
            plan: plan.clone(),
            release: Arc::clone(release),
            task,
        })
    }

    fn labour(&self, seed: u64, ground: &Arc<Ground>, name: &str) -> Option<Labour> {
        let informer = self.clone();
        let labour = Labour::begin(seed, ground, name, Readable::new(move |key| get(&informer, key)));
        self.add_handler(kube_informer::enqueue_keys(labour.queue()))
            .ok()?;
        Some(labour)
    }

    fn went_back(&self) -> u64 {
        self.status().went_back
    }
}

fn get<K: Kind>(informer: &SharedInformer<K>, key: &Key) -> Option<Thing> {
    informer.snapshot().get(key).as_ref().map(thing)
}

fn view<K: Kind>(snapshot: &Snapshot<K>) -> View {
    View {
        version: snapshot
            .version()
            .and_then(|version| version.to_string().parse().ok()),
        objects: snapshot
            .iter()
            .map(|object| (object.key().clone(), thing(&object)))
            .collect(),
    }
}

async fn pause(pace: Pace, release: Arc<Notify>) {
    match pace {
        Pace::Quick => {}
        Pace::Slow(time) => tokio::time::sleep(time).await,
        Pace::Stuck => {
            release.notified().await;
            // Whoever comes next is let go as well.
            release.notify_one();
        }
    }
}

impl Subject {
    /// Makes an informer and starts it.
    pub(crate) fn start(
        name: String,
        plan: &InformerPlan,
        client: &Client,
        seed: u64,
        ground: &Arc<Ground>,
    ) -> Subject {
        ground.tell(|| format!("{name} begins: {plan}"));
        let client = client.clone();
        let informer: Box<dyn Informed> = match plan.kind {
            plan::Kind::Typed => Box::new(build::<ConfigMap>(SharedInformer::builder(client), plan, seed)),
            plan::Kind::Packed => {
                let builder = SharedInformer::<ConfigMap>::builder(client).form(Form::Packed);
                Box::new(build(builder, plan, seed))
            }
            plan::Kind::Metadata => {
                let builder = SharedInformer::<PartialObjectMeta<ConfigMap>>::builder(client);
                Box::new(build(builder, plan, seed))
            }
            plan::Kind::Dynamic => {
                let kind = ApiResource::erase::<ConfigMap>(&());
                let builder = SharedInformer::<DynamicObject>::builder_with(client, kind);
                Box::new(build(builder, plan, seed))
            }
        };
        let labour = plan.works.then(|| informer.labour(seed, ground, &name)).flatten();
        informer.start();
        Subject {
            name,
            plan: plan.clone(),
            ground: Arc::clone(ground),
            informer,
            handlers: Vec::new(),
            readers: Vec::new(),
            labour,
            last: None,
            joined: 0,
        }
    }

    /// A handler joins.
    pub(crate) fn join(&mut self, plan: &HandlerPlan) {
        let name = format!("{}'s handler {}", self.name, self.joined);
        self.joined += 1;
        let view = self.informer.view();
        let witness = Witness::new(
            name,
            &self.ground,
            &self.plan.selection,
            self.informer.has_synced().then_some(&view),
        );
        match self.informer.join(plan, &witness, &Arc::default()) {
            Some(handler) => self.handlers.push(handler),
            None => self
                .ground
                .violated(7, format!("{} takes no handlers", self.name)),
        }
    }

    /// A handler is removed.
    pub(crate) async fn leave(&mut self, number: usize, waits: bool) {
        if self.handlers.is_empty() {
            return;
        }
        let handler = self.handlers.remove(number % self.handlers.len());
        self.ground
            .tell(|| format!("{} is removed", handler.witness.name()));
        handler.registration.remove();
        handler.witness.is_over("after it was removed");
        handler.release.notify_one();
        self.readers.extend(handler.task);
        if waits {
            handler.registration.remove_and_wait().await;
        }
    }

    /// Looks whether everything is as it should be at any time.
    pub(crate) fn look(&mut self) {
        self.ground.counts.lock().looks += 1;
        let view = self.informer.view();
        self.look_at_store(&view);
        if self.informer.has_synced() {
            if view.version.is_none() {
                self.wrong(8, "synced, and its store has no version");
            }
        } else if view.version.is_some() || !view.objects.is_empty() {
            self.wrong(8, "not synced, and something is in its store");
        }
        let most = 2 * self.ground.truth.lock().keys() + 1;
        for handler in &self.handlers {
            let backlog = handler.registration.backlog();
            if !handler.plan.every && backlog > most {
                self.wrong(
                    6,
                    &format!("{backlog} events wait for {}", handler.witness.name()),
                );
            }
            if handler.registration.has_synced() {
                if view.version.is_none() {
                    self.wrong(8, "a handler has synced, and nothing was listed yet");
                }
                handler.witness.has_synced(&view);
            }
        }
    }

    fn look_at_store(&mut self, view: &View) {
        let Some(version) = view.version else {
            return;
        };
        if let Some(last) = self.last
            && version < last
        {
            self.wrong(2, &format!("its store went from {last} back to {version}"));
        }
        if self.informer.went_back() > 0 {
            self.wrong(2, "it says that the server went back, and it did not");
        }
        self.last = Some(version);
        let truth = self.ground.truth.lock();
        let wrong = match &self.plan.selection {
            Selection::Namespaces(namespaces) if namespaces.len() > 1 => {
                // Each namespace is at a version of its own, none of them before the store's.
                namespaces.iter().find_map(|namespace| {
                    let only = Selection::Namespaces(vec![namespace.clone()]);
                    let stored: Collection = in_namespace(&view.objects, namespace);
                    let versions = truth.versions_from(version, namespace);
                    let fits = versions.iter().any(|version| truth.at(*version, &only) == stored);
                    let nearest = truth.at(version, &only);
                    (!fits).then(|| difference(&stored, &nearest)).flatten()
                })
            }
            selection => difference(&view.objects, &truth.at(version, selection)),
        };
        drop(truth);
        if let Some(wrong) = wrong {
            self.wrong(
                1,
                &format!("its store at {version} is not the collection at {version}: {wrong}"),
            );
        }
    }

    /// Whether the store is what the server has.
    pub(crate) fn has_arrived(&self) -> bool {
        let view = self.informer.view();
        view.version.is_some() && view.objects == self.ground.truth.lock().current(&self.plan.selection)
    }

    /// Says what the store does not have.
    pub(crate) fn has_not_arrived(&self) {
        let view = self.informer.view();
        let current = self.ground.truth.lock().current(&self.plan.selection);
        let difference = difference(&view.objects, &current).unwrap_or_else(|| "never listed".to_owned());
        self.wrong(
            5,
            &format!("faults are over for long, and {difference} (store | server)"),
        );
    }

    /// Lets stuck handlers go on.
    pub(crate) fn release(&mut self) {
        for handler in &mut self.handlers {
            handler.plan.pace = Pace::Quick;
            handler.release.notify_one();
        }
        self.calm(true);
    }

    /// Whether work may fail.
    pub(crate) fn calm(&self, is_calm: bool) {
        if let Some(labour) = &self.labour {
            labour.calm(is_calm);
        }
    }

    /// Whether nobody has anything to do.
    pub(crate) fn is_at_rest(&self) -> bool {
        let told = |handler: &Handler| {
            let is_done = handler.registration.backlog() == 0 && handler.registration.has_synced();
            is_done || handler.has_left() || handler.plan.pace == Pace::Stuck
        };
        self.handlers.iter().all(told) && self.labour.as_ref().is_none_or(Labour::is_at_rest)
    }

    /// Says who has something to do.
    pub(crate) fn is_not_at_rest(&self) {
        let busy: Vec<String> = self
            .handlers
            .iter()
            .map(|handler| format!("{:?}", handler.registration))
            .collect();
        self.wrong(
            5,
            &format!(
                "everything is over for long, and it is not at rest: {}",
                busy.join(", ")
            ),
        );
    }

    /// Everything is at rest: everybody's last word has to be the same.
    pub(crate) fn agree(&self) {
        let view = self.informer.view();
        for handler in &self.handlers {
            // One that is stuck knows what it knew.
            if !handler.has_left() && handler.plan.pace != Pace::Stuck {
                handler.witness.at_rest(&view);
            }
        }
        if let Some(labour) = &self.labour {
            labour.agrees(&view);
        }
    }

    /// Stops it. When this is over nothing of it may run.
    pub(crate) async fn stop(mut self) {
        self.ground.tell(|| format!("{} stops", self.name));
        self.release();
        if let Some(labour) = self.labour.take() {
            labour.end().await;
        }
        self.informer.shutdown().await;
        for handler in &mut self.handlers {
            // A stream is read by the one who holds it, for as long as there is something.
            if let Some(task) = handler.task.take() {
                let _ended = task.await;
            }
            handler.witness.is_over("after its informer stopped");
        }
        for reader in std::mem::take(&mut self.readers) {
            let _ended = reader.await;
        }
        let view = self.informer.view();
        self.look_at_store(&view);
    }

    fn wrong(&self, contract: u8, what: &str) {
        self.ground.violated(contract, format!("{}: {what}", self.name));
    }
}

fn in_namespace(objects: &Collection, namespace: &str) -> Collection {
    let inside = objects
        .iter()
        .filter(|(key, _)| key.namespace() == Some(namespace));
    inside.map(|(key, thing)| (key.clone(), thing.clone())).collect()
}

fn build<K: Kind>(builder: InformerBuilder<K>, plan: &InformerPlan, seed: u64) -> SharedInformer<K> {
    let builder = builder
        .seed(seed)
        .wire_format(if plan.json {
            WireFormat::Json
        } else {
            WireFormat::default()
        })
        .streaming_list(plan.streams)
        .page_size(plan.page)
        .resync(plan.resync)
        .watch_error_handler(|_| {});
    match &plan.selection {
        Selection::Everything => builder,
        Selection::Namespaces(namespaces) => builder.namespaces(namespaces.iter().cloned()),
        Selection::Chosen => builder.labels(CHOSEN),
    }
    .build()
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subject")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
