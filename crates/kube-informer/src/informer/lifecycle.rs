//! Start, run, stop.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::checker::CheckTask;
use super::{Shared, SharedInformer};
use crate::error::{Error, Problem};
use crate::object::Kind;
use crate::object::format::Compactor;
use crate::pipeline::controller::Controller;
use crate::pipeline::queue::{self, QueueDepth};
use crate::pipeline::reflector::driver::Driver;
use crate::pipeline::reflector::{Delta, Scope};
use crate::util::panics::drop_logged;

/// Where an informer is in its life.
///
/// See [`SharedInformer::state`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InformerState {
    /// It was not started yet.
    New,
    /// It lists and watches.
    Running,
    /// It was stopped, and never starts again.
    Stopped,
}

#[derive(Debug)]
pub(super) struct Lifecycle(InformerState);

impl Lifecycle {
    pub(super) fn new() -> Lifecycle {
        Lifecycle(InformerState::New)
    }

    pub(super) fn before_start(&self) -> Result<(), Problem> {
        match self.0 {
            InformerState::New => Ok(()),
            InformerState::Running => Err(Problem::AlreadyStarted),
            InformerState::Stopped => Err(Problem::Stopped),
        }
    }
}

impl<K: Kind> SharedInformer<K> {
    /// Where the informer is in its life.
    #[doc(alias = "HasStarted")]
    #[must_use]
    pub fn state(&self) -> InformerState {
        self.shared.lifecycle.lock().0
    }

    /// Whether the informer was stopped.
    #[doc(alias = "IsStopped")]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state() == InformerState::Stopped
    }

    /// Runs the informer in a task of its own until [`SharedInformer::shutdown`]. Dropping the informer does not stop
    /// it: listers and handlers go on.
    ///
    /// # Errors
    /// If it was started before.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) -> Result<(), Error> {
        let running = self.begin()?;
        tokio::spawn(running.run(CancellationToken::new()));
        Ok(())
    }

    /// Runs the informer until it is told to stop, by the token or by [`SharedInformer::shutdown`]. When this returns,
    /// every task has ended, and everything that had come was delivered (contract 11).
    ///
    /// # Errors
    /// If it was started before.
    ///
    /// # Cancel safety
    /// If this is dropped, the informer stops without waiting for its tasks.
    #[doc(alias = "RunWithContext")]
    pub async fn run(&self, stop: CancellationToken) -> Result<(), Error> {
        let running = self.begin()?;
        running.run(stop).await;
        Ok(())
    }

    /// Stops the informer and waits for its end: the reflector first, then the queue, and the handlers last, with what
    /// was queued delivered. A handler that never returns is waited for; put a timeout around this if you have one.
    ///
    /// A handler that calls this waits only if the informer can end before the handler returns. It cannot if the handler is one
    /// of this informer, or of an informer whose end a handler of this informer waits for.
    ///
    /// At its end the informer drops its handlers, the watch-error handler, the transform and the index functions, so
    /// these may refer to the informer. The transform of a [packed](crate::CacheFormat::Packed) cache is kept for reading it.
    ///
    /// # Cancel safety
    /// The informer stops even if the wait is dropped.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        let never_started = {
            let mut lifecycle = self.shared.lifecycle.lock();
            let new = lifecycle.0 == InformerState::New;
            if new {
                lifecycle.0 = InformerState::Stopped;
            }
            new
        };
        if never_started {
            self.shared.processor.close();
            self.shared.context.drop_hooks();
            let functions = self.shared.writer.lock().close();
            drop_logged("index functions", functions);
            self.shared.stopped.cancel();
        }
        let stopped = self.shared.stopped.cancelled();
        self.shared.processor.wait_for_end(stopped).await;
    }

    fn begin(&self) -> Result<RunningInformer<K>, Error> {
        let runtime = Handle::current();
        {
            let mut lifecycle = self.shared.lifecycle.lock();
            lifecycle.before_start().map_err(|problem| self.error(problem))?;
            lifecycle.0 = InformerState::Running;
            self.shared.context.start();
        }
        let measures = &self.shared.context.measures;
        measures.started.set_once(&measures.clock, Instant::now());
        self.shared.processor.start(runtime);
        Ok(RunningInformer {
            shared: Arc::clone(&self.shared),
            abandon: CancellationToken::new(),
        })
    }
}

/// An informer that was started. However this ends, the informer is stopped.
struct RunningInformer<K: Kind> {
    shared: Arc<Shared<K>>,
    abandon: CancellationToken,
}

impl<K: Kind> RunningInformer<K> {
    async fn run(self, stop: CancellationToken) {
        let shared = &self.shared;
        let controller = Controller {
            writer: Arc::clone(&shared.writer),
            processor: Arc::clone(&shared.processor),
            synced: shared.synced.clone(),
            packing: shared.context.packing().cloned(),
            measures: Arc::clone(&shared.context.measures),
        };
        let stop_reflector = self.abandon.child_token();
        let packer = shared.context.packing().map(|packing| {
            let store = Arc::clone(&shared.store);
            let packer = Compactor {
                packing: Arc::clone(packing),
                resource: shared.resource.clone(),
                objects: Box::new(move || store.snapshot().packed_objects()),
            };
            tokio::spawn(packer.run(self.abandon.child_token()))
        });
        let checker = CheckTask::of(shared).map(|checker| tokio::spawn(checker.run(stop_reflector.clone())));
        let (sender, deltas) = queue::channel();
        let _set_once = shared.queue_depth.set(QueueDepth::of(&sender));
        let mut reflectors = self.start_reflectors(sender, &stop_reflector);
        let context = Arc::clone(&shared.context);
        let span = tracing::debug_span!("informer", resource = %shared.resource);
        let controller = controller.run(deltas, move |error| context.report(error));
        let mut controller = tokio::spawn(controller.instrument(span));

        // Neither ends by itself, unless code of the user's types panics in it. Then the other must not go on alone.
        let (mut reflected, mut controlled) = (None, None);
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = shared.stop.cancelled() => {}
            Some(ended) = reflectors.join_next() => reflected = Some(ended),
            ended = &mut controller => controlled = Some(ended),
        }
        stop_reflector.cancel();
        if reflected.is_none() {
            reflected = reflectors.join_next().await;
        }
        while let Some(ended) = reflected {
            if let Err(error) = ended {
                tracing::error!(resource = %shared.resource, %error, "the reflector ended; the informer stops");
            }
            reflected = reflectors.join_next().await;
        }
        if let Some(checker) = checker
            && let Err(error) = checker.await
        {
            tracing::error!(resource = %shared.resource, %error, "the consistency check failed");
        }
        let controlled = match controlled {
            Some(ended) => ended,
            None => controller.await,
        };
        if let Err(error) = controlled {
            tracing::error!(resource = %shared.resource, %error, "the controller ended; the informer stops");
        }
        shared.lifecycle.lock().0 = InformerState::Stopped;
        shared.processor.stop().await;
        self.abandon.cancel();
        if let Some(packer) = packer
            && let Err(error) = packer.await
        {
            tracing::error!(resource = %shared.resource, %error, "the packer failed");
        }
    }
}

impl<K: Kind> RunningInformer<K> {
    /// Starts a reflector for each namespace, or one for everything. The queue is closed when all have ended.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "dropped here, so that the queue is closed when the reflectors have ended"
    )]
    fn start_reflectors(&self, deltas: mpsc::Sender<Delta<K>>, stop: &CancellationToken) -> JoinSet<()> {
        let mut reflectors = JoinSet::new();
        for (at, source) in self.shared.sources.iter().enumerate() {
            let reflector = Driver {
                source: Arc::clone(&source.list_watch),
                deltas: deltas.clone(),
                context: Arc::clone(&self.shared.context),
                resource: source.resource.clone(),
                namespace: source.namespace.clone(),
                scope: Scope(at),
                max_list_bytes: self.shared.limits.list,
                start_over: Arc::clone(&source.start_over),
            };
            let mut settings = self.shared.settings.clone();
            // They are not to wait for the same times.
            settings.seed = settings.seed.wrapping_add(at as u64);
            let span = tracing::debug_span!("informer", resource = %source.resource);
            reflectors.spawn(reflector.run(settings, stop.clone()).instrument(span));
        }
        reflectors
    }
}

impl<K: Kind> Drop for RunningInformer<K> {
    fn drop(&mut self) {
        self.abandon.cancel();
        self.shared.lifecycle.lock().0 = InformerState::Stopped;
        self.shared.processor.close();
        self.shared.context.drop_hooks();
        self.shared.stopped.cancel();
    }
}
