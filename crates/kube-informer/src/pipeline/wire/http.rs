//! Lists and watches of an API server, through kube's client.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use kube_wire::protobuf::{self, Schema};

use super::discovery::ServedResource;
use super::events::EventReader;
use super::expected::ExpectedKind;
use super::limits::Limits;
use super::pages::{ItemReader, JsonPage, ListPage, ProtobufPage};
use super::parameters::{Parameters, Tweak};
use super::status::failure;
use super::{ExactListRequest, ListRequest, ListStream, ListWatch, WatchRequest, WatchStream};
use crate::client::ConnectError;
use crate::error::Error;
use crate::object::Kind;

/// Lists and watches one kind on an API server.
///
/// It stands for client-go's `ListWatch` made from a REST client. Objects of `PartialObjectMeta<K>` are asked for as
/// `PartialObjectMetadata`, so the server sends nothing else.
///
/// Informers make their own. It is for sources of your own that change some of what an API server says, or look at it:
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example(client: kube::Client) {
/// use kube_informer::{SharedInformer, source::ApiListWatch};
///
/// let source = ApiListWatch::<Pod>::new(client, &(), Some("shop"));
/// let pods = SharedInformer::builder_from(source, ()).build();
/// # }
/// ```
#[doc(alias("NewListWatchFromClient", "cache.ListWatch"))]
pub struct ApiListWatch<K: Kind> {
    pub(super) client: Client,
    path: Arc<str>,
    parameters: Arc<Parameters>,
    tweak: Option<Tweak>,
    expected: Arc<ExpectedKind>,
    language: Arc<WireNegotiation>,
    wire_format: WireFormat,
    pub(super) served_resource: Arc<ServedResource>,
    limits: Limits,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K: Kind> ApiListWatch<K> {
    /// The objects of one namespace, or of all; of a cluster-scoped kind if there is no namespace.
    pub fn new(client: Client, kind: &K::DynamicType, namespace: Option<&str>) -> ApiListWatch<K> {
        let expected = ExpectedKind::of::<K>(kind);
        ApiListWatch {
            client,
            path: K::url_path(kind, namespace).into(),
            parameters: Arc::default(),
            tweak: None,
            language: Arc::new(WireNegotiation::of::<K>(&expected)),
            wire_format: WireFormat::default(),
            expected: Arc::new(expected),
            served_resource: Arc::new(ServedResource::of::<K>(kind)),
            limits: Limits::default(),
            kind: std::marker::PhantomData,
        }
    }

    /// The same in another namespace. What is learned of the server, as that it refuses protobuf, is learned for both.
    pub(crate) fn in_namespace(&self, kind: &K::DynamicType, namespace: Option<&str>) -> ApiListWatch<K> {
        ApiListWatch {
            path: K::url_path(kind, namespace).into(),
            ..self.clone()
        }
    }

    /// Only the objects whose labels fit, as the server sees them.
    #[must_use]
    pub fn labels(mut self, selector: impl fmt::Display) -> ApiListWatch<K> {
        Arc::make_mut(&mut self.parameters).labels(selector);
        self
    }

    /// Only the objects whose fields fit, as in `spec.nodeName=node-1`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> ApiListWatch<K> {
        Arc::make_mut(&mut self.parameters).fields(selector);
        self
    }

    /// Sets other parameters, which every list and watch carries. Of several with one name the last counts.
    ///
    /// # Errors
    /// If a parameter is one that informers set themselves; see [`InformerBuilder::parameter`](crate::InformerBuilder::parameter).
    pub fn parameters<N: Into<String>, V: Into<String>>(
        mut self,
        parameters: impl IntoIterator<Item = (N, V)>,
    ) -> Result<ApiListWatch<K>, Error> {
        let own = Arc::make_mut(&mut self.parameters);
        for (name, value) in parameters {
            own.set(name, value);
        }
        own.check()?;
        Ok(self)
    }

    /// Replaces all parameters by some that were checked before.
    pub(crate) fn with_parameters(mut self, parameters: Parameters) -> ApiListWatch<K> {
        self.parameters = Arc::new(parameters);
        self
    }

    /// Calls a function before every request, which may change the parameters; see
    /// [`InformerBuilder::tweak_requests`](crate::InformerBuilder::tweak_requests).
    #[doc(alias = "WithTweakListOptions")]
    #[must_use]
    pub fn tweak_requests(self, tweak: impl Fn(&mut Parameters) + Send + Sync + 'static) -> ApiListWatch<K> {
        self.with_tweak(Some(Arc::new(tweak)))
    }

    pub(crate) fn with_tweak(mut self, tweak: Option<Tweak>) -> ApiListWatch<K> {
        self.tweak = tweak;
        self
    }

    fn request(&self, accept: &str, parameters: &[(&str, &str)]) -> Result<Request<Body>, Error> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        match &self.tweak {
            Some(tweak) => {
                let mut tweaked = (*self.parameters).clone();
                tweak(&mut tweaked);
                tweaked.check()?;
                query.extend_pairs(tweaked.iter());
            }
            None => {
                query.extend_pairs(self.parameters.iter());
            }
        }
        query.extend_pairs(parameters);
        get(&format!("{}?{}", self.path, query.finish()), accept)
    }

    /// In which format to ask for objects. Without this it is protobuf, where Kubernetes has it and nothing of a `K` could
    /// get lost on the way; otherwise JSON.
    #[must_use]
    pub fn wire_format(mut self, format: WireFormat) -> ApiListWatch<K> {
        self.wire_format = format;
        self
    }

    /// The largest object in bytes, as they are sent; without this, 64 MiB. A list or watch with a larger one fails before
    /// it is read.
    #[must_use]
    pub fn max_object_bytes(mut self, bytes: usize) -> ApiListWatch<K> {
        self.limits.object = bytes;
        self
    }

    /// The largest page of a list in bytes, or list without pages; without this, 16 GiB.
    #[must_use]
    pub fn max_list_bytes(mut self, bytes: u64) -> ApiListWatch<K> {
        self.limits.list = bytes;
        self
    }

    /// Gets an answer, and says how it is to be read: in protobuf if there is a schema.
    async fn ask(
        &self,
        wanted: Representation,
        parameters: &[(&str, &str)],
    ) -> Result<(Response<Body>, Option<Schema>), Error> {
        let form = match wanted {
            Representation::Objects => String::new(),
            Representation::Metadata { form } => format!(";as={form};g=meta.k8s.io;v=v1"),
        };
        let json = format!("application/json{form}");
        let schema = match self.wire_format {
            WireFormat::Protobuf => self.language.protobuf(wanted),
            WireFormat::Json => None,
        };
        if let Some(schema) = schema {
            let accept = format!("{}{form},{json}", protobuf::MEDIA_TYPE);
            match good_answer(&self.client, self.request(&accept, parameters)?).await {
                Ok(response) => match ResponseFormat::of(&response) {
                    Some(ResponseFormat::Protobuf) => return Ok((response, Some(schema))),
                    Some(ResponseFormat::Json) => return Ok((response, None)),
                    None => return Err(another_format(&response, &accept)),
                },
                // A server that does not even want to be asked for it is asked once, and then never again.
                Err(error) if error.server_status().is_some_and(|status| status.code == 406) => {
                    self.language.refused.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        let response = answer(&self.client, self.request(&json, parameters)?).await?;
        Ok((response, None))
    }
}

/// In which format objects come from the server.
///
/// See [`InformerBuilder::wire_format`](crate::InformerBuilder::wire_format).
#[doc(alias = "ContentType")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireFormat {
    /// Protobuf, for the kinds that Kubernetes brings itself: it takes the server a quarter of the time that JSON takes.
    /// Custom resources, objects of aggregated API servers, and types that could hold fields which this library does not
    /// know, such as `DynamicObject`, come as JSON all the same.
    #[default]
    Protobuf,
    /// JSON for everything.
    Json,
}

/// How much of each object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Representation {
    Objects,
    Metadata { form: &'static str },
}

impl Representation {
    /// What a `K` needs. `form` is what to ask for where metadata is all.
    fn of<K: Kind>(form: &'static str) -> Representation {
        if K::metadata_api() {
            Representation::Metadata { form }
        } else {
            Representation::Objects
        }
    }
}

/// What can be spoken with the server.
///
/// Clones share this, because they have the same server and type. What one of them is told to ask for is its own.
#[derive(Debug)]
struct WireNegotiation {
    /// What objects look like in protobuf, if a `K` can be read from it and nothing is lost.
    schema: Option<Schema>,
    /// What metadata alone looks like.
    metadata: Option<Schema>,
    /// Whether the server has refused to be asked for protobuf.
    refused: AtomicBool,
}

impl WireNegotiation {
    fn of<K: Kind>(expected: &ExpectedKind) -> WireNegotiation {
        let schema = Schema::of(&expected.api_version, &expected.kind);
        let metadata = ExpectedKind::metadata();
        WireNegotiation {
            // Metadata is the same for all kinds, and all of it is known.
            schema: schema.filter(|schema| K::metadata_api() || schema.covers::<K>()),
            metadata: Schema::of(&metadata.api_version, &metadata.kind),
            refused: AtomicBool::new(false),
        }
    }

    fn protobuf(&self, wanted: Representation) -> Option<Schema> {
        let schema = match wanted {
            Representation::Objects => self.schema,
            Representation::Metadata { .. } => self.metadata,
        };
        schema.filter(|_| !self.refused.load(Ordering::Relaxed))
    }
}

impl<K: Kind> ListWatch<K> for ApiListWatch<K> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, Error>> {
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
                // Left to itself, a server takes the version of a list in pages as exactly that one. If its watches have
                // forgotten it, the next one fails, and the list after that is as old again, for ever.
                if version != "0" && limit.is_some() && request.continue_token.is_none() {
                    parameters.push(("resourceVersionMatch", "NotOlderThan"));
                }
            }
            let wanted = Representation::of::<K>(METADATA_LIST);
            let answer = self.ask(wanted, &parameters).await?;
            Ok(listing(answer, Arc::clone(&self.expected), self.limits))
        })
    }

    fn list_exactly(&self, request: ExactListRequest) -> BoxFuture<'_, Result<Option<ListStream<K>>, Error>> {
        Box::pin(async move {
            let limit = request.limit.to_string();
            let mut parameters = vec![("limit", limit.as_str())];
            match &request.continue_token {
                // It says the version, too, and servers refuse to be told it twice.
                Some(token) => parameters.push(("continue", token)),
                None => parameters.extend([
                    ("resourceVersion", request.version.as_str()),
                    ("resourceVersionMatch", "Exact"),
                ]),
            }
            let wanted = Representation::Metadata { form: METADATA_LIST };
            let answer = self.ask(wanted, &parameters).await?;
            Ok(Some(listing(
                answer,
                Arc::new(ExpectedKind::metadata()),
                self.limits,
            )))
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, Error>> {
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
            let wanted = Representation::of::<K>("PartialObjectMetadata");
            let (response, schema) = self.ask(wanted, &parameters).await?;
            let expected = Arc::clone(&self.expected);
            let events = EventReader::new(response.into_body(), schema, expected, self.limits);
            Ok(stream::unfold(Some(events), |events| async move {
                let mut events = events?;
                let event = events.next().await?;
                // After an error nothing that follows in the stream means anything.
                let rest = event.is_ok().then_some(events);
                Some((event, rest))
            })
            .boxed())
        })
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(self.is_listed_by_discovery())
    }
}

/// What a list is called that holds nothing but metadata.
const METADATA_LIST: &str = "PartialObjectMetadataList";

/// Reads a page of a list.
fn listing<K: Kind>(
    (response, schema): (Response<Body>, Option<Schema>),
    expected: Arc<ExpectedKind>,
    limits: Limits,
) -> ListStream<K> {
    let reader = match schema {
        Some(schema) => ItemReader::Protobuf(ProtobufPage::new(expected, schema, limits)),
        None => ItemReader::Json(JsonPage::new(expected, limits)),
    };
    let page = ListPage::new(response.into_body(), reader, limits.list);
    stream::unfold(page, ListPage::next).boxed()
}

impl<K: Kind> Clone for ApiListWatch<K> {
    fn clone(&self) -> Self {
        ApiListWatch {
            client: self.client.clone(),
            path: Arc::clone(&self.path),
            parameters: Arc::clone(&self.parameters),
            tweak: self.tweak.clone(),
            expected: Arc::clone(&self.expected),
            language: Arc::clone(&self.language),
            wire_format: self.wire_format,
            served_resource: Arc::clone(&self.served_resource),
            limits: self.limits,
            kind: std::marker::PhantomData,
        }
    }
}

impl<K: Kind> fmt::Debug for ApiListWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiListWatch({})", self.path)
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
pub(super) async fn answer(client: &Client, request: Request<Body>) -> Result<Response<Body>, Error> {
    let response = good_answer(client, request).await?;
    match ResponseFormat::of(&response) {
        Some(ResponseFormat::Json) => Ok(response),
        _ => Err(another_format(&response, "application/json")),
    }
}

/// Sends a request, and gets an answer that is no failure.
async fn good_answer(client: &Client, request: Request<Body>) -> Result<Response<Body>, Error> {
    let response = client.send(request).await.map_err(request_error)?;
    if !response.status().is_success() {
        return Err(failure(response).await);
    }
    Ok(response)
}

/// In which format an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseFormat {
    Json,
    Protobuf,
}

impl ResponseFormat {
    fn of(response: &Response<Body>) -> Option<ResponseFormat> {
        match content_type(response) {
            None => Some(ResponseFormat::Json),
            Some(content_type) if content_type.starts_with("application/json") => Some(ResponseFormat::Json),
            Some(content_type) if content_type.starts_with(protobuf::MEDIA_TYPE) => {
                Some(ResponseFormat::Protobuf)
            }
            Some(_) => None,
        }
    }
}

fn content_type(response: &Response<Body>) -> Option<&str> {
    response.headers().get(CONTENT_TYPE)?.to_str().ok()
}

/// An answer in another format is the answer of something that is not the API server.
fn another_format(response: &Response<Body>, asked: &str) -> Error {
    Error::bad_data(format!(
        "content of the type {:?} instead of {asked}; is this an API server?",
        content_type(response).unwrap_or_default()
    ))
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
pub(super) fn cause(error: kube::Error) -> Box<dyn StdError + Send + Sync> {
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
        if refused || error.is::<ConnectError>() {
            return true;
        }
        next = error.source();
    }
    false
}
