//! The faults that can be injected.

use std::time::Duration;

use crate::status::Status;

/// A fault of a request.
///
/// A request can have several: a delayed response can also be invalid.
///
/// ```
/// # use std::time::Duration;
/// # use kube_embedded::{Fault, On, Server};
/// # fn example(server: &Server) {
/// let faults = server.faults();
/// // A network that is slow and drops every watch in the middle of its tenth event.
/// faults.add(On::any(), Fault::Delay(Duration::from_millis(200)));
/// faults.add(On::watch("pods"), Fault::CutAfterEvents(9));
/// // An old server ignores streaming lists: they are watches without the bookmark that ends the list.
/// faults.add(On::streaming_list("pods"), Fault::IgnoreStreamingList);
/// // A proxy with responses of its own.
/// let teapot = Fault::Fail { code: 418, reason: "Teapot", message: "no coffee".into(), retry_after: None };
/// faults.add(On::list("pods").once(), teapot);
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// No fault: in a script, skips a request.
    None,
    /// Drops the connection without a response. Over HTTP/2, only the request's stream ends
    /// ([`Server::cut_connections`](crate::Server::cut_connections) ends all of them).
    Drop,
    /// Never responds: no status, no headers, and the connection stays open, like a proxy that buffers responses. The
    /// request ends with the connection ([`Server::cut_connections`](crate::Server::cut_connections)).
    NoAnswer,
    /// Delays the processing of the request.
    Delay(Duration),
    /// Responds with a failure. There are constructors for the usual ones.
    Fail {
        /// HTTP status.
        code: u16,
        /// Kubernetes' reason, for example `ServiceUnavailable`.
        reason: &'static str,
        /// The message.
        message: String,
        /// The `Retry-After` header in seconds.
        retry_after: Option<u32>,
    },
    /// Responds that the requested version is too large (504 with its cause).
    TooLargeVersion,
    /// Breaks the connection after this many bytes of the response.
    CutAfterBytes(usize),
    /// Sends the response in pieces of this many bytes, with this delay between them.
    Drip(usize, Duration),
    /// Breaks the connection of a watch within the event after this many complete ones. Here and below, bookmarks count
    /// as events.
    CutAfterEvents(usize),
    /// Ends a watch after this many events.
    CloseAfterEvents(usize),
    /// Sends nothing more after this many events of a watch, which stays open.
    SilenceAfterEvents(usize),
    /// Sends an ERROR event with status 410 (expired) after this many events of a watch, and ends it.
    ExpireAfterEvents(usize),
    /// Sends an ERROR event with status 500 after this many events of a watch, and ends it.
    ErrorAfterEvents(usize),
    /// Omits all bookmarks of a watch, including the one that ends the initial events.
    NoBookmarks,
    /// Rejects streaming lists, like a server where the feature is disabled.
    NoStreamingList,
    /// Treats streaming lists as watches, like an old server that does not support the parameter.
    IgnoreStreamingList,
    /// Responds to a list with the collection as it was this many versions ago.
    StaleList(u64),
    /// Sends every event of a watch twice.
    DuplicateEvents,
    /// Omits one change of a watch after this many events. Clients cannot detect that by watching. The initial events
    /// of a streaming list are complete.
    LoseEvent(usize),
    /// Responds to lists and watches of one namespace with the objects of this other namespace, like a proxy that
    /// confuses two requests. Does not affect requests for all namespaces.
    ///
    /// Clients can always detect this fault: a list or streaming list without any object of the other namespace gets
    /// its normal response, and other watches send no bookmarks.
    OtherNamespace(String),
    /// Responds with objects of another kind.
    WrongKind,
    /// Responds with objects without metadata.
    NoMetadata,
    /// Responds with a `Table` instead of an object or a list.
    UnwantedTable,
    /// Sends invalid JSON: in a watch after this many events, otherwise as the whole response.
    BrokenJson(usize),
    /// Adds an annotation of this many bytes to every object.
    Oversized(usize),
    /// Compacts the history before the request is processed.
    Compact,
}

impl Fault {
    fn fail(code: u16, reason: &'static str, message: &str) -> Fault {
        Fault::Fail {
            code,
            reason,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Fails with 401: missing or invalid credentials.
    pub fn unauthorized() -> Fault {
        Fault::fail(401, "Unauthorized", "Unauthorized")
    }

    /// Fails with 403: the user lacks a permission.
    pub fn forbidden() -> Fault {
        Fault::fail(403, "Forbidden", "forbidden: User \"embedded\" cannot do this")
    }

    /// Fails with 404: the object does not exist.
    pub fn not_found() -> Fault {
        Fault::fail(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// Fails with 409: the object has changed.
    pub fn conflict() -> Fault {
        Fault::fail(
            409,
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// Fails with 410: the version is too old.
    pub fn expired() -> Fault {
        Fault::fail(410, "Expired", "too old resource version")
    }

    /// Fails with 429 and `Retry-After` in seconds.
    pub fn too_many_requests(retry_after: u32) -> Fault {
        Fault::Fail {
            code: 429,
            reason: "TooManyRequests",
            message: "the server has received too many requests and has asked us to try again later".into(),
            retry_after: Some(retry_after),
        }
    }

    /// Fails with 500.
    pub fn internal_error() -> Fault {
        Fault::fail(
            500,
            "InternalError",
            "Internal error occurred: something went wrong on purpose",
        )
    }

    /// Fails with 503.
    pub fn unavailable() -> Fault {
        Fault::fail(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        )
    }
}

/// The faults that change the content of a response.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fault")]
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseFaults {
    pub(crate) no_bookmarks: bool,
    pub(crate) no_streaming_list: bool,
    pub(crate) ignore_streaming_list: bool,
    pub(crate) stale_by: Option<u64>,
    pub(crate) duplicate: bool,
    /// Number of events after which one is omitted.
    pub(crate) lose: Option<usize>,
    pub(crate) object: ObjectFault,
    /// The namespace whose objects replace those of the requested one.
    pub(crate) namespace: Option<String>,
    /// Number of events after which a watch ends, and how it ends.
    pub(crate) ending: Option<(usize, WatchEnd)>,
}

/// A fault of the objects in a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ObjectFault {
    #[default]
    None,
    WrongKind,
    NoMetadata,
    Table,
    Oversized(usize),
}

/// How a watch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchEnd {
    Cut,
    Close,
    Silence,
    Expired,
    Error,
    BrokenJson,
}

impl ResponseFaults {
    /// Returns the other namespace whose objects replace those of the requested one.
    pub(crate) fn other_namespace(&self, requested: Option<&str>) -> Option<&str> {
        let requested = requested?;
        self.namespace.as_deref().filter(|other| *other != requested)
    }

    /// Adds a fault, if it changes the content of the response.
    pub(crate) fn add(&mut self, fault: &Fault) {
        match fault {
            Fault::NoBookmarks => self.no_bookmarks = true,
            Fault::NoStreamingList => self.no_streaming_list = true,
            Fault::IgnoreStreamingList => self.ignore_streaming_list = true,
            Fault::StaleList(by) => self.stale_by = Some(*by),
            Fault::DuplicateEvents => self.duplicate = true,
            Fault::LoseEvent(n) => self.lose = Some(*n),
            Fault::OtherNamespace(namespace) => self.namespace = Some(namespace.clone()),
            Fault::WrongKind => self.object = ObjectFault::WrongKind,
            Fault::NoMetadata => self.object = ObjectFault::NoMetadata,
            Fault::UnwantedTable => self.object = ObjectFault::Table,
            Fault::Oversized(bytes) => self.object = ObjectFault::Oversized(*bytes),
            Fault::CutAfterEvents(n) => self.ending = Some((*n, WatchEnd::Cut)),
            Fault::CloseAfterEvents(n) => self.ending = Some((*n, WatchEnd::Close)),
            Fault::SilenceAfterEvents(n) => self.ending = Some((*n, WatchEnd::Silence)),
            Fault::ExpireAfterEvents(n) => self.ending = Some((*n, WatchEnd::Expired)),
            Fault::ErrorAfterEvents(n) => self.ending = Some((*n, WatchEnd::Error)),
            Fault::BrokenJson(n) => self.ending = Some((*n, WatchEnd::BrokenJson)),
            _ => {}
        }
    }
}

/// Returns the failure of a fault that is a failure.
pub(crate) fn failure(fault: &Fault, current: u64) -> Option<Status> {
    match fault {
        Fault::Fail {
            code,
            reason,
            message,
            retry_after,
        } => {
            let status = Status::new(*code, reason, message.clone());
            Some(match retry_after {
                Some(seconds) => status.retry_after(*seconds),
                None => status,
            })
        }
        Fault::TooLargeVersion => Some(Status::too_large(current + 1000, current)),
        _ => None,
    }
}
