//! Starts, runs and stops informers.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::checker::CheckTask;
use super::{InformerShared, SharedInformer};
use crate::error::{Error, Problem};
use crate::object::Kind;
use crate::object::format::Compactor;
use crate::pipeline::controller::Controller;
use crate::pipeline::queue::{self, QueueDepth};
use crate::pipeline::reflector::driver::Driver;
use crate::pipeline::reflector::{Delta, Scope};
use crate::util::panics::drop_logged;

/// The state of an informer.
///
/// See [`SharedInformer::state`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InformerState {
    /// Not started yet.
    New,
    /// Listing and watching.
    Running,
    /// Stopped. It cannot be restarted.
    Stopped,
}

impl<K: Kind> SharedInformer<K> {
    /// Returns the state of the informer.
    #[doc(alias = "HasStarted")]
    #[must_use]
    pub fn state(&self) -> InformerState {
        *self.shared.state.lock()
    }

    /// Returns whether the informer has stopped.
    #[doc(alias = "IsStopped")]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state() == InformerState::Stopped
    }

    /// Starts the informer in a new task. It runs until [`SharedInformer::shutdown`].
    ///
    /// Dropping the informer does not stop it: listers and handlers continue to work.
    ///
    /// # Errors
    /// Returns an error if it has been started before.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn start(&self) -> Result<(), Error> {
        let running = self.begin()?;
        tokio::spawn(running.run());
        Ok(())
    }

    /// Runs the informer until the token is cancelled or [`SharedInformer::shutdown`] is called.
    ///
    /// When this returns, every task has ended, and everything received has been delivered (contract 11).
    ///
    /// # Errors
    /// Returns an error if it has been started before.
    ///
    /// # Cancel safety
    /// Dropping the future stops the informer without waiting for it. [`SharedInformer::shutdown`] waits.
    #[doc(alias("RunWithContext", "ListAndWatch"))]
    pub async fn run(&self, stop: CancellationToken) -> Result<(), Error> {
        // A task of its own, so that the informer stops in order even if this future is dropped.
        let mut informer = tokio::spawn(self.begin()?.run());
        let stop_informer = self.shared.stop.clone().drop_guard();
        let ended = if let Some(ended) = stop.run_until_cancelled(&mut informer).await {
            ended
        } else {
            drop(stop_informer);
            informer.await
        };
        if let Err(error) = ended {
            tracing::error!(resource = %self.shared.resource, %error, "informer failed");
        }
        Ok(())
    }

    /// Stops the informer and waits until it has stopped.
    ///
    /// The reflector stops first, then the queue, and the handlers last, after everything queued has been delivered.
    /// This waits for a handler that never returns; add a timeout if necessary.
    ///
    /// If a handler calls this, it waits only if the informer can stop before the handler returns. That is not the case
    /// for a handler of this informer, or of an informer whose end a handler of this informer waits for.
    ///
    /// The informer then drops its handlers, the watch-error handler, the transform and the index functions, so these
    /// may refer to the informer. The transform of a [packed](crate::CacheFormat::Packed) cache is kept for reading it.
    ///
    /// # Cancel safety
    /// The informer stops even if the future is dropped.
    pub async fn shutdown(&self) {
        self.stop();
        let stopped = self.shared.stopped.cancelled();
        self.shared.processor.wait_for_end(stopped).await;
    }

    /// Stops the informer without waiting.
    pub(crate) fn stop(&self) {
        self.shared.stop.cancel();
        let never_started = {
            let mut state = self.shared.state.lock();
            let new = *state == InformerState::New;
            if new {
                *state = InformerState::Stopped;
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
    }

    fn begin(&self) -> Result<RunningInformer<K>, Error> {
        let runtime = Handle::current();
        {
            let mut state = self.shared.state.lock();
            match *state {
                InformerState::New => *state = InformerState::Running,
                InformerState::Running => return Err(self.error(Problem::AlreadyStarted)),
                InformerState::Stopped => return Err(self.error(Problem::Stopped)),
            }
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

/// A started informer. Dropping it stops the informer.
struct RunningInformer<K: Kind> {
    shared: Arc<InformerShared<K>>,
    abandon: CancellationToken,
}

impl<K: Kind> RunningInformer<K> {
    async fn run(self) {
        let shared = &self.shared;
        let controller = Controller {
            writer: Arc::clone(&shared.writer),
            processor: Arc::clone(&shared.processor),
            synced: shared.synced.clone(),
            packing: shared.context.packing().cloned(),
            measures: Arc::clone(&shared.context.measures),
        };
        let stop_reflector = self.abandon.child_token();
        let compactor = shared.context.packing().map(|packing| {
            let store = Arc::clone(&shared.store);
            let compactor = Compactor {
                packing: Arc::clone(packing),
                resource: shared.resource.clone(),
                objects: Box::new(move || store.snapshot().packed_objects()),
            };
            tokio::spawn(compactor.run(self.abandon.child_token()))
        });
        let checker = CheckTask::of(shared).map(|checker| tokio::spawn(checker.run(stop_reflector.clone())));
        let (sender, deltas) = queue::channel();
        let _set_once = shared.queue_depth.set(QueueDepth::of(&sender));
        let mut reflectors = self.start_reflectors(sender, &stop_reflector);
        let context = Arc::clone(&shared.context);
        let span = tracing::debug_span!("informer", resource = %shared.resource);
        let controller = controller.run(deltas, move |error| context.report(error));
        let mut controller = tokio::spawn(controller.instrument(span));

        // Both run until they are stopped, unless code of the user's types panics. If one fails, the other must stop.
        let (mut reflected, mut controlled) = (None, None);
        tokio::select! {
            biased;
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
                tracing::error!(resource = %shared.resource, %error, "reflector failed: stopping the informer");
            }
            reflected = reflectors.join_next().await;
        }
        if let Some(checker) = checker
            && let Err(error) = checker.await
        {
            tracing::error!(resource = %shared.resource, %error, "consistency check task failed");
        }
        let controlled = match controlled {
            Some(ended) => ended,
            None => controller.await,
        };
        if let Err(error) = controlled {
            tracing::error!(resource = %shared.resource, %error, "controller failed: stopping the informer");
        }
        *shared.state.lock() = InformerState::Stopped;
        shared.processor.stop().await;
        self.abandon.cancel();
        if let Some(compactor) = compactor
            && let Err(error) = compactor.await
        {
            tracing::error!(resource = %shared.resource, %error, "compaction task failed");
        }
    }

    /// Starts a reflector for each source. The queue closes when all of them have ended.
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
            // Different seeds, so that the reflectors do not retry at the same time.
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
        *self.shared.state.lock() = InformerState::Stopped;
        self.shared.processor.close();
        self.shared.context.drop_hooks();
        self.shared.stopped.cancel();
    }
}
