//! What comes from the server, counted as it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::StreamExt as _;
use kube_informer::{
    ApiListWatch, Error, ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest,
    WatchStream,
};
use tokio::time::{Instant, interval};

use super::contact::Contact;
use super::whole::{Shape, Whole};
use crate::print::notes::Notes;

/// A list that takes no longer than this needs no progress.
const PATIENCE: Duration = Duration::from_millis(400);
const EVERY: Duration = Duration::from_millis(200);

/// How much has come.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    objects: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    fn add<S: Shape>(&self, item: &RawObject<Whole<S>>) {
        self.objects.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(item.size() as u64, Ordering::Relaxed);
    }

    /// A list begins anew.
    fn clear(&self) {
        self.objects.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Says again and again how much has come, for as long as it is awaited.
    pub(crate) async fn report(&self, resource: &str, notes: &Notes) {
        if !notes.shows_progress() {
            return std::future::pending().await;
        }
        let began = Instant::now();
        tokio::time::sleep(PATIENCE).await;
        let mut ticks = interval(EVERY);
        loop {
            ticks.tick().await;
            let (objects, bytes) = (
                self.objects.load(Ordering::Relaxed),
                self.bytes.load(Ordering::Relaxed),
            );
            notes.progress(&progress(resource, objects, bytes, began.elapsed()));
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

/// Lists and watches of the API server, whose answers are counted and noted as a sign of life.
pub(super) struct Watched<S: Shape> {
    api: ApiListWatch<Whole<S>>,
    resource: Arc<str>,
    tally: Arc<Tally>,
    contact: Arc<Contact>,
}

impl<S: Shape> Watched<S> {
    pub(super) fn new(
        api: ApiListWatch<Whole<S>>,
        resource: &str,
        tally: Arc<Tally>,
        contact: Arc<Contact>,
    ) -> Watched<S> {
        Watched {
            api,
            resource: resource.into(),
            tally,
            contact,
        }
    }

    /// Notes whether there was an answer.
    fn noted<T>(&self, answer: Result<T, Error>) -> Result<T, Error> {
        match &answer {
            Ok(_) => self.contact.answered(&self.resource),
            Err(error) => self.contact.unanswered(&self.resource, error),
        }
        answer
    }
}

impl<S: Shape> ListWatch<Whole<S>> for Watched<S> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<Whole<S>>, Error>> {
        Box::pin(async move {
            let is_first = request.continue_token.is_none();
            let listing = self.noted(self.api.list(request).await)?;
            if is_first {
                self.tally.clear();
            }
            let tally = Arc::clone(&self.tally);
            let counted = listing.inspect(move |part| {
                if let Ok(ListPart::Object(item)) = part {
                    tally.add(item);
                }
            });
            Ok(counted.boxed())
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<Whole<S>>, Error>> {
        Box::pin(async move {
            let with_objects = request.initial_events;
            let watching = self.noted(self.api.watch(request).await)?;
            if !with_objects {
                return Ok(watching);
            }
            self.tally.clear();
            let tally = Arc::clone(&self.tally);
            let counted = watching.inspect(move |event| {
                if let Ok(WatchEvent::Added(item)) = event {
                    tally.add(item);
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
    fn progress_is_told_in_objects_megabytes_and_per_second() {
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
