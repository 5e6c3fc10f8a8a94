//! From the server's bytes to items: the requests an informer makes, and what comes back.
//!
//! This room knows HTTP bodies and their formats; it knows nothing of stores and handlers. [`ListWatch`] is its door:
//! [`ApiListWatch`] asks a real API server through kube's client, and a test or a special source implements it as it
//! likes. It stands for client-go's `ListerWatcher`.

pub(crate) mod discovery;
mod events;
mod expected;
mod http;
mod limits;
mod pages;
mod parameters;
mod raw_object;
mod status;
#[cfg(test)]
mod tests;

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::error::{Error, StatusError};
use crate::object::ResourceVersion;

pub use self::http::{ApiListWatch, WireFormat};
pub(crate) use self::limits::{Limits, list_exceeded};
pub use self::parameters::Parameters;
pub(crate) use self::parameters::{Tweak, check_parameter};
pub(crate) use self::raw_object::Body;
pub use self::raw_object::RawObject;

/// A source of objects that can be listed and watched.
///
/// Dropping a future or stream ends the request. An implementation sends one request per call, and leaves repeating,
/// waiting and deciding to the informer.
///
/// A source whose objects never change:
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), kube_informer::Error> {
/// use futures::future::BoxFuture;
/// use futures::{FutureExt, StreamExt, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::{Error, SharedInformer, source::{ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchRequest, WatchStream}};
/// use std::time::Duration;
///
/// struct Fixed(&'static str);
///
/// impl ListWatch<ConfigMap> for Fixed {
///     fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
///         let end = ListPart::End { version: "1".into(), continue_token: None };
///         let parts = [RawObject::json(self.0).map(ListPart::Object), Ok(end)];
///         async { Ok(stream::iter(parts).boxed()) }.boxed()
///     }
///
///     fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
///         async { Ok(stream::pending().boxed()) }.boxed()
///     }
/// }
///
/// let map = r#"{"metadata":{"name":"a","namespace":"shop","resourceVersion":"1"}}"#;
/// let maps = SharedInformer::builder_from(Fixed(map), ()).streaming_list(false).build();
/// maps.start()?;
/// maps.wait_for_sync(Duration::from_secs(30)).await?;
/// assert!(maps.lister().namespace("shop").get("a").is_ok());
/// maps.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[doc(alias("ListerWatcher", "ListerWatcherWithContext"))]
pub trait ListWatch<K>: Send + Sync + 'static {
    /// One list request: the items of one page, then its end.
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, Error>>;

    /// One watch request: events, until the source closes it.
    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, Error>>;

    /// One page of a list at exactly one version, for a check of the cache against the source. Only key, `uid` and version
    /// of each item are looked at, so a source may leave out everything else. The end of the page says the version asked
    /// for.
    ///
    /// A source that does not implement this has no such lists, and its caches cannot be checked.
    fn list_exactly(&self, _request: ExactListRequest) -> BoxFuture<'_, Result<Option<ListStream<K>>, Error>>
    where
        K: 'static,
    {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Whether the source has this kind at all. An informer asks when a list or watch fails with 404: if the kind is not
    /// served, it waits until it is, and after a few seconds it empties its cache. So `false` is for a source that is
    /// sure; one that cannot tell answers with an error, and the 404 is a failure like others.
    ///
    /// A source that does not implement this always has its kind.
    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(std::future::ready(Ok(true)))
    }
}

/// The answer to a list request, as it arrives.
pub type ListStream<K> = BoxStream<'static, Result<ListPart<K>, Error>>;

/// The answer to a watch request, as it arrives.
pub type WatchStream<K> = BoxStream<'static, Result<WatchEvent<K>, Error>>;

/// A list request.
///
/// See [`ListWatch::list`].
#[doc(alias = "ListOptions")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// `resourceVersion`: `"0"` for any version, a version for that or a newer one, none for the newest.
    pub resource_version: Option<String>,
    /// `limit`: the size of a page, none for everything at once.
    pub limit: Option<u32>,
    /// `continue`: where the page before ended.
    pub continue_token: Option<String>,
}

/// A request for a list at exactly one version.
///
/// See [`ListWatch::list_exactly`].
#[doc(alias = "resourceVersionMatch")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactListRequest {
    /// `resourceVersion`: the version.
    pub version: String,
    /// `limit`: the size of a page.
    pub limit: u32,
    /// `continue`: where the page before ended.
    pub continue_token: Option<String>,
}

/// A watch request. Bookmarks are always asked for.
///
/// See [`ListWatch::watch`].
#[doc(alias = "ListOptions")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    /// `resourceVersion`: events after this version; none together with `initial_events` means the newest state.
    pub resource_version: Option<String>,
    /// `timeoutSeconds`: when the server is to close the watch.
    pub timeout: Duration,
    /// `sendInitialEvents`: first every object, then a bookmark that says so, then events.
    pub initial_events: bool,
}

/// A part of the answer to a list request.
///
/// See [`ListWatch`] for an example.
#[derive(Debug)]
pub enum ListPart<K> {
    /// One object.
    Object(RawObject<K>),
    /// More of the page has come, and no whole object yet. An informer gives up a list in which nothing comes for a
    /// minute, and this counts as something.
    Progress,
    /// The end of the page; nothing comes after it.
    End {
        /// The version of the collection.
        version: ResourceVersion,
        /// The `continue` of the next page, if there is one.
        continue_token: Option<String>,
    },
}

/// An event of a watch.
///
/// What a [`WatchStream`] stream gives.
#[doc(alias = "watch.Event")]
#[derive(Debug)]
pub enum WatchEvent<K> {
    /// An object is new.
    Added(RawObject<K>),
    /// An object has changed.
    Modified(RawObject<K>),
    /// An object is gone; this was its last state.
    Deleted(RawObject<K>),
    /// Nothing happened up to this version.
    Bookmark {
        /// The version reached.
        version: ResourceVersion,
        /// Whether it ends the initial events.
        initial_events_end: bool,
    },
    /// The server ends the watch with a failure.
    Failure(StatusError),
}
