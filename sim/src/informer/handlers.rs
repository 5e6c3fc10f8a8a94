//! Handlers of one informer, each with its checker.

use std::sync::{Arc, OnceLock};

use contract_checker::{CachedObject, HandlerChecker, ObservedEvent};
use futures::StreamExt;
use kube_informer::{Event, HandlerOptions, Kind, Registration, SharedInformer, filtered};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::reads;
use crate::PlannedPanic;
use crate::context::Context;
use crate::objects::state_of;
use crate::plan::{HandlerKind, HandlerPlan, Pace};

/// A handler of an informer.
pub(super) struct JoinedHandler {
    pub(super) checker: Arc<HandlerChecker>,
    pub(super) registration: Registration,
    pub(super) plan: HandlerPlan,
    pub(super) release: Arc<Notify>,
    /// The reader of a stream.
    pub(super) task: Option<JoinHandle<()>>,
}

impl JoinedHandler {
    /// Returns whether the handler has removed itself.
    pub(super) fn has_left(&self) -> bool {
        self.plan
            .leaves_after
            .is_some_and(|after| self.checker.events() >= after)
    }
}

/// Adds a handler.
pub(super) fn join<K: Kind>(
    informer: &SharedInformer<K>,
    plan: &HandlerPlan,
    checker: &Arc<HandlerChecker>,
    context: &Arc<Context>,
    release: &Arc<Notify>,
) -> Option<JoinedHandler> {
    let mut options = HandlerOptions::new().name(checker.name());
    if plan.every_event {
        options = options.every_event();
    }
    if let Some(resync) = plan.resync {
        options = options.resync(resync);
    }
    let own: Arc<OnceLock<Registration>> = Arc::default();
    let call = {
        let (informer, checker, context) = (informer.clone(), Arc::clone(checker), Arc::clone(context));
        let (plan, own) = (plan.clone(), Arc::clone(&own));
        move |event: &Event<K>| {
            let observed = ObservedEvent::of(event, state_of);
            context.counts.lock().events += 1;
            context
                .log
                .line(|| format!("{} receives: {observed}", checker.name()));
            let mut cached = CachedObject::of(&informer.snapshot(), event.key(), state_of);
            let status = informer.status();
            cached.went_back = Some(status.went_back);
            if plan.every_event {
                cached.relists = Some(status.relists.total());
            }
            checker.check(&observed, &cached);
            let events = checker.events();
            if plan.leaves_after.is_some_and(|after| events >= after)
                && let Some(registration) = own.get()
            {
                registration.remove();
                checker.end("after it removed itself");
            }
            if plan.panics.is_some_and(|every| events.is_multiple_of(every)) {
                std::panic::resume_unwind(Box::new(PlannedPanic));
            }
        }
    };
    let wait = {
        let (release, pace) = (Arc::clone(release), plan.pace);
        move || pause(pace, Arc::clone(&release))
    };
    let (registration, task) = match plan.kind {
        HandlerKind::Inline if plan.is_filtered => {
            let handler = filtered(
                |object: &K| reads::is_chosen(object).as_deref() == Some("true"),
                move |event: Event<K>| call(&event),
            );
            (
                informer.add_handler_with(handler, options.never_blocks()).ok()?,
                None,
            )
        }
        HandlerKind::Inline => {
            let handler = move |event: Event<K>| call(&event);
            (
                informer.add_handler_with(handler, options.never_blocks()).ok()?,
                None,
            )
        }
        HandlerKind::Async => {
            let call = Arc::new(call);
            let handler = move |event: Event<K>| {
                let (call, wait) = (Arc::clone(&call), wait());
                async move {
                    call(&event);
                    wait.await;
                }
            };
            (informer.add_async_handler_with(handler, options).ok()?, None)
        }
        HandlerKind::Stream => {
            let mut events = informer.events_with(options).ok()?;
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
    Some(JoinedHandler {
        checker: Arc::clone(checker),
        registration,
        plan: plan.clone(),
        release: Arc::clone(release),
        task,
    })
}

async fn pause(pace: Pace, release: Arc<Notify>) {
    match pace {
        Pace::Quick => {}
        Pace::Slow(time) => tokio::time::sleep(time).await,
        Pace::Stuck => {
            release.notified().await;
            // The next event is released as well.
            release.notify_one();
        }
    }
}
