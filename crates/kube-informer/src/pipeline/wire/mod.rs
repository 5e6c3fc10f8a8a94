//! Requests lists and watches, and converts response bytes to objects.
//!
//! This module handles HTTP bodies and their formats, and is independent of stores and handlers. Its
//! interface is [`ListWatch`]: [`ApiListWatch`] sends requests to an API server with kube's client; tests and
//! custom sources implement the trait. client-go: `ListerWatcher`.

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
pub(crate) use self::limits::{Limits, endless_list, list_exceeded};
pub use self::parameters::Parameters;
pub(crate) use self::parameters::{Tweak, check_parameter};
pub(crate) use self::raw_object::ObjectBody;
pub use self::raw_object::RawObject;

/// A source of objects that can be listed and watched.
///
/// Dropping a future or stream cancels the request. An implementation sends one request per call; the
/// informer is responsible for retries, delays and decisions.
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
    /// Sends one list request and returns the items of one page, then its end.
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, Error>>;

    /// Sends one watch request and returns events until the source closes the watch.
    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, Error>>;

    /// Lists one page at exactly one version, to compare the cache with the source.
    ///
    /// Only key, `uid` and version of each item are used, so a source may omit everything else. The end of
    /// the page must have the requested version.
    ///
    /// By default, the source does not support such lists, and its caches cannot be checked.
    fn list_exactly(&self, _request: ExactListRequest) -> BoxFuture<'_, Result<Option<ListStream<K>>, Error>>
    where
        K: 'static,
    {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns whether the source has this kind.
    ///
    /// Informers call this when a list or watch fails with 404. If the kind is not served, the informer waits
    /// until it is, and empties its cache after a few seconds. So return `false` only if it is certain, and
    /// an error otherwise; then the 404 is handled like other failures.
    ///
    /// By default, the source always has its kind.
    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(std::future::ready(Ok(true)))
    }
}

/// The response to a list request, as it arrives.
pub type ListStream<K> = BoxStream<'static, Result<ListPart<K>, Error>>;

/// The response to a watch request, as it arrives.
pub type WatchStream<K> = BoxStream<'static, Result<WatchEvent<K>, Error>>;

/// A list request.
///
/// See [`ListWatch::list`].
#[doc(alias = "ListOptions")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// `resourceVersion`: `"0"` for any version, a version for at least that version, `None` for the most
    /// recent one.
    pub resource_version: Option<String>,
    /// `limit`: the size of a page, `None` for no limit.
    pub limit: Option<u32>,
    /// `continue`: the token of the next page.
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
    /// `continue`: the token of the next page.
    pub continue_token: Option<String>,
}

/// A watch request. Bookmarks are always requested.
///
/// See [`ListWatch::watch`].
#[doc(alias = "ListOptions")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    /// `resourceVersion`: start after this version; `None` together with `initial_events` means the most
    /// recent state.
    pub resource_version: Option<String>,
    /// `timeoutSeconds`: when the server closes the watch.
    pub timeout: Duration,
    /// `sendInitialEvents`: start with every object, then a bookmark that ends them, then changes.
    pub initial_events: bool,
}

/// A part of the response to a list request.
///
/// See [`ListWatch`] for an example.
#[derive(Debug)]
pub enum ListPart<K> {
    /// One object.
    Object(RawObject<K>),
    /// A part of the page was received, but no complete object yet.
    ///
    /// Informers cancel a list after a minute without any part.
    Progress,
    /// The end of the page, and of the stream.
    End {
        /// The version of the collection.
        version: ResourceVersion,
        /// The `continue` token of the next page, if there is one.
        continue_token: Option<String>,
    },
}

/// An event of a watch.
///
/// The item of a [`WatchStream`].
#[doc(alias = "watch.Event")]
#[derive(Debug)]
pub enum WatchEvent<K> {
    /// An object was added.
    Added(RawObject<K>),
    /// An object was modified.
    Modified(RawObject<K>),
    /// An object was deleted; contains its last state.
    Deleted(RawObject<K>),
    /// The server has no further changes up to this version.
    Bookmark {
        /// The version of the bookmark.
        version: ResourceVersion,
        /// Whether the bookmark ends the initial events.
        initial_events_end: bool,
    },
    /// The server ends the watch with a failure.
    Failure(StatusError),
}
