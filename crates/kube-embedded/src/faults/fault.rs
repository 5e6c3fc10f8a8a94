//! What can go wrong.

use std::time::Duration;

use crate::status::Status;

/// What goes wrong with a request.
///
/// Several may meet in one request: a late answer may also be a broken one.
///
/// ```
/// # use std::time::Duration;
/// # use kube_embedded::{Fault, On, Server};
/// # fn example(server: &Server) {
/// let faults = server.faults();
/// // A network that is slow and drops every watch in the middle of its tenth event.
/// faults.add(On::any(), Fault::Delay(Duration::from_millis(200)));
/// faults.add(On::watch("pods"), Fault::CutAfterEvents(9));
/// // An old server: streaming lists are plain watches to it, without the bookmark that ends the list.
/// faults.add(On::streaming_list("pods"), Fault::IgnoreStreamingList);
/// // A proxy that has something to say of its own.
/// let teapot = Fault::Fail { code: 418, reason: "Teapot", message: "no coffee".into(), retry_after: None };
/// faults.add(On::list("pods").once(), teapot);
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing: in a script, lets a request pass.
    None,
    /// The connection is dropped without an answer. Over HTTP/2 that is the request's own stream: others on the same
    /// connection go on ([`Server::cut_connections`](crate::Server::cut_connections) ends them all).
    Drop,
    /// The request is never answered: no status, no headers, and the connection stays open, as behind a proxy that
    /// buffers whole answers. It ends with the connection ([`Server::cut_connections`](crate::Server::cut_connections)).
    NoAnswer,
    /// The request is not looked at before this time has passed.
    Delay(Duration),
    /// The answer is a failure. There are constructors for the usual ones.
    Fail {
        /// HTTP status.
        code: u16,
        /// Kubernetes' reason, such as `ServiceUnavailable`.
        reason: &'static str,
        /// Text for people.
        message: String,
        /// The `Retry-After` header in seconds.
        retry_after: Option<u32>,
    },
    /// A version is said to be ahead of the server (504 with its cause), whatever was asked.
    TooLargeVersion,
    /// The answer breaks off after this many bytes.
    CutAfterBytes(usize),
    /// The answer comes in drops of this many bytes with this time between them.
    Drip(usize, Duration),
    /// A watch breaks off in the middle of the event after this many whole ones; bookmarks count as events, here and
    /// below.
    CutAfterEvents(usize),
    /// A watch ends cleanly after this many events.
    CloseAfterEvents(usize),
    /// A watch stays open but is silent after this many events.
    SilenceAfterEvents(usize),
    /// A watch says 410 (expired) in an ERROR event after this many events, and ends.
    ExpireAfterEvents(usize),
    /// A watch says 500 in an ERROR event after this many events, and ends.
    ErrorAfterEvents(usize),
    /// A watch sends no bookmarks at all, not even the one that ends the initial events.
    NoBookmarks,
    /// A streaming list is refused as by a server that has the feature switched off.
    NoStreamingList,
    /// A streaming list is taken for a plain watch, as by a server that is too old to know the parameter.
    IgnoreStreamingList,
    /// A list shows the collection as it was this many versions ago.
    StaleList(u64),
    /// A watch sends every event twice.
    DuplicateEvents,
    /// A watch leaves out one change after this many events, as if it had not happened, and goes on with the next. No
    /// client can notice that by watching. The initial events of a streaming list are complete.
    LoseEvent(usize),
    /// A list or watch of one namespace is answered with the objects of this other namespace, as by a proxy that
    /// confuses two requests. Requests for all namespaces are answered as usual.
    ///
    /// A client can always notice this fault: a list or streaming list without any object of the other namespace is answered as
    /// usual, and other watches send no bookmarks.
    OtherNamespace(String),
    /// Objects are of a kind that was not asked for.
    WrongKind,
    /// Objects have no metadata.
    NoMetadata,
    /// A `Table` comes instead of an object or a list of them.
    UnwantedTable,
    /// JSON is broken: in a watch after this many events, in other answers from the start.
    BrokenJson(usize),
    /// Every object carries this many bytes too much, in an annotation.
    Oversized(usize),
    /// The history is compacted up to now, before the request is looked at.
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

    /// 401: credentials are missing or wrong.
    pub fn unauthorized() -> Fault {
        Fault::fail(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the user may not do this.
    pub fn forbidden() -> Fault {
        Fault::fail(403, "Forbidden", "forbidden: User \"embedded\" cannot do this")
    }

    /// 404: there is no such thing.
    pub fn not_found() -> Fault {
        Fault::fail(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// 409: someone else has changed the object.
    pub fn conflict() -> Fault {
        Fault::fail(
            409,
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 410: the version is too old.
    pub fn expired() -> Fault {
        Fault::fail(410, "Expired", "too old resource version")
    }

    /// 429 with `Retry-After`.
    pub fn too_many_requests(retry_after: u32) -> Fault {
        Fault::Fail {
            code: 429,
            reason: "TooManyRequests",
            message: "the server has received too many requests and has asked us to try again later".into(),
            retry_after: Some(retry_after),
        }
    }

    /// 500.
    pub fn internal_error() -> Fault {
        Fault::fail(
            500,
            "InternalError",
            "Internal error occurred: something went wrong on purpose",
        )
    }

    /// 503.
    pub fn unavailable() -> Fault {
        Fault::fail(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        )
    }
}

/// What a request's faults do to the making of its answer.
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
#[derive(Debug, Clone, Default)]
pub(crate) struct Twist {
    pub(crate) no_bookmarks: bool,
    pub(crate) no_streaming_list: bool,
    pub(crate) ignore_streaming_list: bool,
    pub(crate) stale_by: Option<u64>,
    pub(crate) duplicate: bool,
    /// After how many events one is left out.
    pub(crate) lose: Option<usize>,
    pub(crate) object: ObjectTwist,
    /// The namespace whose objects are shown in place of those of the requested one.
    pub(crate) namespace: Option<String>,
    /// Where a watch ends, and how.
    pub(crate) ending: Option<(usize, Ending)>,
}

/// What is wrong with the objects of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ObjectTwist {
    #[default]
    None,
    WrongKind,
    NoMetadata,
    Table,
    Oversized(usize),
}

/// How a watch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Cut,
    Close,
    Silence,
    Expired,
    Error,
    BrokenJson,
}

impl Twist {
    /// The other namespace whose objects answer a request for this one.
    pub(crate) fn other_namespace(&self, requested: Option<&str>) -> Option<&str> {
        let requested = requested?;
        self.namespace.as_deref().filter(|other| *other != requested)
    }

    /// Takes in a fault that concerns how the answer is made; others are not its business.
    pub(crate) fn add(&mut self, fault: &Fault) {
        match fault {
            Fault::NoBookmarks => self.no_bookmarks = true,
            Fault::NoStreamingList => self.no_streaming_list = true,
            Fault::IgnoreStreamingList => self.ignore_streaming_list = true,
            Fault::StaleList(by) => self.stale_by = Some(*by),
            Fault::DuplicateEvents => self.duplicate = true,
            Fault::LoseEvent(n) => self.lose = Some(*n),
            Fault::OtherNamespace(namespace) => self.namespace = Some(namespace.clone()),
            Fault::WrongKind => self.object = ObjectTwist::WrongKind,
            Fault::NoMetadata => self.object = ObjectTwist::NoMetadata,
            Fault::UnwantedTable => self.object = ObjectTwist::Table,
            Fault::Oversized(bytes) => self.object = ObjectTwist::Oversized(*bytes),
            Fault::CutAfterEvents(n) => self.ending = Some((*n, Ending::Cut)),
            Fault::CloseAfterEvents(n) => self.ending = Some((*n, Ending::Close)),
            Fault::SilenceAfterEvents(n) => self.ending = Some((*n, Ending::Silence)),
            Fault::ExpireAfterEvents(n) => self.ending = Some((*n, Ending::Expired)),
            Fault::ErrorAfterEvents(n) => self.ending = Some((*n, Ending::Error)),
            Fault::BrokenJson(n) => self.ending = Some((*n, Ending::BrokenJson)),
            _ => {}
        }
    }
}

/// The failure that a fault answers with, if it does.
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
