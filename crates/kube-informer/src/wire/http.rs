//! Lists and watches of an API server, through kube's client.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;

use super::discovery::Listed;
use super::json::{self, Expected, Lines, RawPage};
use super::{ListPart, ListRequest, ListWatch, Listing, WatchRequest, Watching};
use crate::client::Unreachable;
use crate::error::{Error, StatusError};
use crate::kind::Kind;

/// No object of Kubernetes is larger than a few megabytes; a longer line is a broken or hostile server.
const LARGEST_EVENT: usize = 64 << 20;
/// A page of a list, or a list without pages, of which nothing larger is plausible.
const LARGEST_LIST: u64 = 16 << 30;
/// A failure's body is read for its words only.
const LARGEST_FAILURE: usize = 1 << 20;

/// Lists and watches one kind on an API server.
///
/// It stands for client-go's `ListWatch` made from a REST client. Objects of `PartialObjectMeta<K>` are asked for as
/// `PartialObjectMetadata`, so the server sends nothing else.
#[derive(Clone)]
pub struct ApiListWatch<K: Kind> {
    pub(super) client: Client,
    path: Arc<str>,
    selectors: Arc<[(String, String)]>,
    expected: Arc<Expected>,
    pub(super) listed: Arc<Listed>,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K: Kind> ApiListWatch<K> {
    /// The objects of one namespace, or of all; of a cluster-scoped kind if there is no namespace.
    pub fn new(client: Client, kind: &K::DynamicType, namespace: Option<&str>) -> ApiListWatch<K> {
        ApiListWatch {
            client,
            path: K::url_path(kind, namespace).into(),
            selectors: Arc::default(),
            expected: Arc::new(Expected::of::<K>(kind)),
            listed: Arc::new(Listed::of::<K>(kind)),
            kind: std::marker::PhantomData,
        }
    }

    /// Parameters that every list and watch carries, as in `labelSelector` and `fieldSelector`.
    #[must_use]
    pub fn parameters<N: Into<String>, V: Into<String>>(
        mut self,
        parameters: impl IntoIterator<Item = (N, V)>,
    ) -> ApiListWatch<K> {
        let more = parameters
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        self.selectors = self.selectors.iter().cloned().chain(more).collect();
        self
    }

    fn request(&self, accept: &str, parameters: &[(&str, &str)]) -> Result<Request<Body>, Error> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in &*self.selectors {
            query.append_pair(name, value);
        }
        query.extend_pairs(parameters);
        get(&format!("{}?{}", self.path, query.finish()), accept)
    }

    /// Asks for JSON and gets an answer that is some. `metadata_form` is what to ask for where metadata is all that is
    /// wanted.
    async fn ask(&self, metadata_form: &str, parameters: &[(&str, &str)]) -> Result<Response<Body>, Error> {
        let accept = if K::metadata_api() {
            format!("application/json;as={metadata_form};g=meta.k8s.io;v=v1")
        } else {
            "application/json".to_owned()
        };
        answer(&self.client, self.request(&accept, parameters)?).await
    }
}

impl<K: Kind> ListWatch<K> for ApiListWatch<K> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<Listing<K>, Error>> {
        Box::pin(async move {
            let limit = request.limit.map(|limit| limit.to_string());
            let mut parameters: Vec<(&str, &str)> = Vec::new();
            if let Some(limit) = &limit {
                parameters.push(("limit", limit));
            }
            if let Some(token) = &request.continue_token {
                parameters.push(("continue", token));
            }
            if let Some(version) = &request.resource_version {
                parameters.push(("resourceVersion", version));
            }
            let response = self.ask("PartialObjectMetadataList", &parameters).await?;
            let page = PageBody {
                body: response.into_body(),
                collected: BytesMut::new(),
                expected: Arc::clone(&self.expected),
            };
            Ok(stream::unfold(Page::Arriving(page), Page::next).boxed())
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<Watching<K>, Error>> {
        Box::pin(async move {
            let timeout = request.timeout.as_secs().to_string();
            let mut parameters = vec![
                ("watch", "true"),
                ("allowWatchBookmarks", "true"),
                ("timeoutSeconds", timeout.as_str()),
            ];
            if let Some(version) = &request.resource_version {
                parameters.push(("resourceVersion", version));
            }
            if request.initial_events {
                parameters.push(("sendInitialEvents", "true"));
                parameters.push(("resourceVersionMatch", "NotOlderThan"));
            }
            let response = self.ask("PartialObjectMetadata", &parameters).await?;
            let frames = Frames {
                body: response.into_body(),
                lines: Lines::new(LARGEST_EVENT),
                expected: Arc::clone(&self.expected),
            };
            Ok(stream::unfold(Some(frames), |frames| async move {
                let mut frames = frames?;
                let event = frames.next().await?;
                // After an error nothing that follows in the stream means anything.
                let rest = event.is_ok().then_some(frames);
                Some((event, rest))
            })
            .boxed())
        })
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(self.is_listed())
    }
}

impl<K: Kind> std::fmt::Debug for ApiListWatch<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ApiListWatch({})", self.path)
    }
}

/// A page of a list on its way.
enum Page {
    Arriving(PageBody),
    Here(RawPage),
    Failed,
}

struct PageBody {
    body: Body,
    collected: BytesMut,
    expected: Arc<Expected>,
}

impl Page {
    async fn next<K: Kind>(self) -> Option<(Result<ListPart<K>, Error>, Page)> {
        let mut page = match self {
            Page::Failed => return None,
            Page::Here(page) => page,
            Page::Arriving(mut page) => match collect_frame(&mut page, LARGEST_LIST).await {
                Ok(true) => return Some((Ok(ListPart::Arriving), Page::Arriving(page))),
                Ok(false) => match RawPage::read(page.collected.freeze(), page.expected) {
                    Ok(page) => page,
                    Err(error) => return Some((Err(error), Page::Failed)),
                },
                Err(error) => return Some((Err(error), Page::Failed)),
            },
        };
        page.next_part().map(|part| (part, Page::Here(page)))
    }
}

/// Adds the next piece of the body; false at its end.
async fn collect_frame(page: &mut PageBody, limit: u64) -> Result<bool, Error> {
    let Some(frame) = page.body.frame().await else {
        return Ok(false);
    };
    let frame = frame.map_err(|error| Error::transport("a list broke off", cause(error)))?;
    if let Ok(data) = frame.into_data() {
        if (page.collected.len() + data.len()) as u64 > limit {
            let limit = limit >> 20;
            return Err(Error::bad_data(format!(
                "a list of more than {limit} MiB, which is the limit"
            )));
        }
        page.collected.extend_from_slice(&data);
    }
    Ok(true)
}

/// The events of a watch's body.
struct Frames {
    body: Body,
    lines: Lines,
    expected: Arc<Expected>,
}

impl Frames {
    async fn next<K: Kind>(&mut self) -> Option<Result<super::WatchEvent<K>, Error>> {
        loop {
            match self.lines.next_line() {
                Ok(Some(line)) => return Some(json::watch_event(&line, &self.expected)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.lines.push(&data);
                    }
                }
                Some(Err(error)) => return Some(Err(Error::transport("the watch broke", cause(error)))),
                None => {
                    let rest = self.lines.rest()?;
                    // A last event may lack its line end; half an event is a broken connection, not bad data.
                    let whole = serde_json::from_slice::<serde::de::IgnoredAny>(&rest).is_ok();
                    return Some(if whole {
                        json::watch_event(&rest, &self.expected)
                    } else {
                        let cause = io::Error::from(io::ErrorKind::UnexpectedEof);
                        Err(Error::transport(
                            "the watch ended in the middle of an event",
                            cause,
                        ))
                    });
                }
            }
        }
    }
}

pub(super) fn get(path: &str, accept: &str) -> Result<Request<Body>, Error> {
    Request::get(path)
        .header(ACCEPT, accept)
        // A compressed watch would wait for its block to fill.
        .header(ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .map_err(|error| Error::bad_data_from("a request that cannot be made", error))
}

/// Sends a request for JSON, and gets an answer that is some and no failure.
pub(crate) async fn answer(client: &Client, request: Request<Body>) -> Result<Response<Body>, Error> {
    let response = client.send(request).await.map_err(request_error)?;
    if !response.status().is_success() {
        return Err(failure(response).await);
    }
    check_json(&response)?;
    Ok(response)
}

/// An answer in another format is the answer of something that is not the API server.
fn check_json(response: &Response<Body>) -> Result<(), Error> {
    let content_type = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    match content_type {
        Some(content_type) if !content_type.starts_with("application/json") => Err(Error::bad_data(format!(
            "content of the type {content_type:?} instead of application/json; is this an API server?"
        ))),
        _ => Ok(()),
    }
}

/// The beginning of a failure's body, as far as it came.
async fn words(mut body: Body) -> BytesMut {
    let mut words = BytesMut::new();
    while words.len() < LARGEST_FAILURE
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Ok(data) = frame.into_data() {
            words.extend_from_slice(&data);
        }
    }
    words
}

pub(crate) async fn failure(response: Response<Body>) -> Error {
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let body = words(response.into_body()).await;
    let mut status = match serde_json::from_slice::<kube::core::Status>(&body) {
        Ok(status) if !(status.message.is_empty() && status.reason.is_empty()) => {
            json::status_error(status, code)
        }
        // A proxy answers in its own words; the first line of them is enough.
        _ => StatusError {
            code,
            message: String::from_utf8_lossy(&body)
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(200)
                .collect(),
            ..StatusError::default()
        },
    };
    status.retry_after = status.retry_after.or(retry_after);
    Error::status(status)
}

/// An error before any answer: the server cannot be reached, or the connection broke before the answer came.
pub(crate) fn request_error(error: kube::Error) -> Error {
    if is_connect_error(&error) {
        Error::connect(cause(error))
    } else {
        Error::transport("the request got no answer", cause(error))
    }
}

/// What kube's error is about. Its own words only repeat those of its cause.
fn cause(error: kube::Error) -> Box<dyn StdError + Send + Sync> {
    match error {
        kube::Error::Service(cause) => cause,
        kube::Error::HyperError(cause) => cause.into(),
        error => error.into(),
    }
}

fn is_connect_error(error: &kube::Error) -> bool {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        let refused = error
            .downcast_ref::<io::Error>()
            .is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused);
        if refused || error.is::<Unreachable>() {
            return true;
        }
        next = error.source();
    }
    false
}
