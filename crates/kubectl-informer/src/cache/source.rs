//! A list-watch that counts received objects and reports results.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::StreamExt as _;
use kube_informer::{
    Error,
    source::{
        ApiListWatch, ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest,
        WatchStream,
    },
};
use tokio::time::{Instant, interval};

use super::connection::ConnectionMonitor;
use super::json_object::{JsonObject, ObjectForm};
use crate::print::messages::Messages;

/// Delay before the first progress message.
const PROGRESS_DELAY: Duration = Duration::from_millis(400);

/// Interval of progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Objects and bytes of the current list.
#[derive(Debug, Default)]
pub(crate) struct ListProgress {
    objects: AtomicU64,
    bytes: AtomicU64,
}

impl ListProgress {
    fn add<S: ObjectForm>(&self, item: &RawObject<JsonObject<S>>) {
        self.objects.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(item.size() as u64, Ordering::Relaxed);
    }

    /// Starts a new list.
    fn clear(&self) {
        self.objects.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Reports progress repeatedly until it is dropped.
    pub(crate) async fn report(&self, resource: &str, messages: &Messages) {
        if !messages.shows_progress() {
            return std::future::pending().await;
        }
        let began = Instant::now();
        tokio::time::sleep(PROGRESS_DELAY).await;
        let mut ticks = interval(PROGRESS_INTERVAL);
        loop {
            ticks.tick().await;
            let (objects, bytes) = (
                self.objects.load(Ordering::Relaxed),
                self.bytes.load(Ordering::Relaxed),
            );
            messages.progress(&progress(resource, objects, bytes, began.elapsed()));
        }
    }
}

/// `syncing pods: 12,400 objects, 146.2 MB, 8,211 objects/s`
fn progress(resource: &str, objects: u64, bytes: u64, elapsed: Duration) -> String {
    let tenths = bytes / 100_000;
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = objects.saturating_mul(1_000) / milliseconds;
    format!(
        "syncing {resource}: {} objects, {}.{} MB, {} objects/s",
        grouped(objects),
        grouped(tenths / 10),
        tenths % 10,
        grouped(rate)
    )
}

/// A number with a comma after every three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A list-watch of an API server that counts received objects and reports results to the [`ConnectionMonitor`].
pub(super) struct ObservedListWatch<S: ObjectForm> {
    api: ApiListWatch<JsonObject<S>>,
    resource: Arc<str>,
    progress: Arc<ListProgress>,
    connection: Arc<ConnectionMonitor>,
}

impl<S: ObjectForm> ObservedListWatch<S> {
    pub(super) fn new(
        api: ApiListWatch<JsonObject<S>>,
        resource: &str,
        progress: Arc<ListProgress>,
        connection: Arc<ConnectionMonitor>,
    ) -> ObservedListWatch<S> {
        ObservedListWatch {
            api,
            resource: resource.into(),
            progress,
            connection,
        }
    }

    /// Reports the result of a request.
    fn observed<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        match &result {
            Ok(_) => self.connection.request_succeeded(&self.resource),
            Err(error) => self.connection.request_failed(&self.resource, error),
        }
        result
    }
}

impl<S: ObjectForm> ListWatch<JsonObject<S>> for ObservedListWatch<S> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<JsonObject<S>>, Error>> {
        Box::pin(async move {
            let is_first = request.continue_token.is_none();
            let listing = self.observed(self.api.list(request).await)?;
            if is_first {
                self.progress.clear();
            }
            let progress = Arc::clone(&self.progress);
            let counted = listing.inspect(move |part| {
                if let Ok(ListPart::Object(item)) = part {
                    progress.add(item);
                }
            });
            Ok(counted.boxed())
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<JsonObject<S>>, Error>> {
        Box::pin(async move {
            let with_objects = request.initial_events;
            let watching = self.observed(self.api.watch(request).await)?;
            if !with_objects {
                return Ok(watching);
            }
            self.progress.clear();
            let progress = Arc::clone(&self.progress);
            let counted = watching.inspect(move |event| {
                if let Ok(WatchEvent::Added(item)) = event {
                    progress.add(item);
                }
            });
            Ok(counted.boxed())
        })
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        self.api.is_served()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::progress;

    #[test]
    fn formats_progress() {
        assert_eq!(
            progress("pods", 12_400, 146_230_000, Duration::from_millis(1_500)),
            "syncing pods: 12,400 objects, 146.2 MB, 8,266 objects/s"
        );
        assert_eq!(
            progress("pods", 0, 0, Duration::ZERO),
            "syncing pods: 0 objects, 0.0 MB, 0 objects/s"
        );
    }
}
