//! Lists and watches of an API server, sent with kube's client.

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
/// client-go: `ListWatch`, created from a REST client. Objects of type `PartialObjectMeta<K>` are requested
/// as `PartialObjectMetadata`, so the server sends only metadata.
///
/// Informers create this source themselves. It can be wrapped by a custom source that observes or changes
/// responses:
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
    negotiation: Arc<WireNegotiation>,
    wire_format: WireFormat,
    pub(super) served_resource: Arc<ServedResource>,
    limits: Limits,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K: Kind> ApiListWatch<K> {
    /// Creates a source for one namespace, for all namespaces, or for a cluster-scoped kind.
    pub fn new(client: Client, kind: &K::DynamicType, namespace: Option<&str>) -> ApiListWatch<K> {
        let expected = ExpectedKind::of::<K>(kind);
        ApiListWatch {
            client,
            path: K::url_path(kind, namespace).into(),
            parameters: Arc::default(),
            tweak: None,
            negotiation: Arc::new(WireNegotiation::of::<K>(&expected)),
            wire_format: WireFormat::default(),
            expected: Arc::new(expected),
            served_resource: Arc::new(ServedResource::of::<K>(kind)),
            limits: Limits::default(),
            kind: std::marker::PhantomData,
        }
    }

    /// Returns this source for another namespace. Both share what was negotiated with the server, for example
    /// that it rejects protobuf.
    pub(crate) fn in_namespace(&self, kind: &K::DynamicType, namespace: Option<&str>) -> ApiListWatch<K> {
        ApiListWatch {
            path: K::url_path(kind, namespace).into(),
            ..self.clone()
        }
    }

    /// Selects objects by their labels, on the server.
    #[must_use]
    pub fn labels(mut self, selector: impl fmt::Display) -> ApiListWatch<K> {
        Arc::make_mut(&mut self.parameters).labels(selector);
        self
    }

    /// Selects objects by their fields, for example `spec.nodeName=node-1`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> ApiListWatch<K> {
        Arc::make_mut(&mut self.parameters).fields(selector);
        self
    }

    /// Sets other parameters of every list and watch request. The last value of a name is used.
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

    /// Replaces all parameters by already checked ones.
    pub(crate) fn with_parameters(mut self, parameters: Parameters) -> ApiListWatch<K> {
        self.parameters = Arc::new(parameters);
        self
    }

    /// Sets a function that may change the parameters of each request; see
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

    /// Sets the format in which objects are requested.
    ///
    /// The default is protobuf for kinds of Kubernetes whose type `K` covers all fields, and JSON otherwise.
    #[must_use]
    pub fn wire_format(mut self, format: WireFormat) -> ApiListWatch<K> {
        self.wire_format = format;
        self
    }

    /// Sets the maximum size of an object in bytes as sent by the server. The default is 64 MiB.
    ///
    /// A list or watch with a larger object fails before the object is read completely.
    #[must_use]
    pub fn max_object_bytes(mut self, bytes: usize) -> ApiListWatch<K> {
        self.limits.object = bytes;
        self
    }

    /// Sets the maximum size of a page, or of a list without pages, in bytes. The default is 16 GiB.
    #[must_use]
    pub fn max_list_bytes(mut self, bytes: u64) -> ApiListWatch<K> {
        self.limits.list = bytes;
        self
    }

    /// Sends a request and returns the response, and a schema if it is in protobuf.
    async fn send(
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
            WireFormat::Protobuf => self.negotiation.protobuf(wanted),
            WireFormat::Json => None,
        };
        if let Some(schema) = schema {
            let accept = format!("{}{form},{json}", protobuf::MEDIA_TYPE);
            match successful_response(&self.client, self.request(&accept, parameters)?).await {
                Ok(response) => match ResponseFormat::of(&response) {
                    Some(ResponseFormat::Protobuf) => return Ok((response, Some(schema))),
                    Some(ResponseFormat::Json) => return Ok((response, None)),
                    None => return Err(content_type_error(&response, &accept)),
                },
                // A server that rejects protobuf is not asked for it again.
                Err(error) if error.server_status().is_some_and(|status| status.code == 406) => {
                    self.negotiation.protobuf_refused.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        let response = json_response(&self.client, self.request(&json, parameters)?).await?;
        Ok((response, None))
    }
}

/// The format in which the server sends objects.
///
/// See [`InformerBuilder::wire_format`](crate::InformerBuilder::wire_format).
#[doc(alias = "ContentType")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireFormat {
    /// Protobuf for the built-in kinds of Kubernetes, which costs the server a quarter of the time of JSON.
    /// Custom resources, objects of aggregated API servers, and types with unknown fields such as
    /// `DynamicObject` are still sent as JSON.
    #[default]
    Protobuf,
    /// JSON for everything.
    Json,
}

/// The part of each object to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Representation {
    Objects,
    Metadata { form: &'static str },
}

impl Representation {
    /// Returns the representation that `K` needs. `form` is the media type parameter for metadata.
    fn of<K: Kind>(form: &'static str) -> Representation {
        if K::metadata_api() {
            Representation::Metadata { form }
        } else {
            Representation::Objects
        }
    }
}

/// The wire formats that the server supports.
///
/// Shared by clones, because they have the same server and type. The configured format is not shared.
#[derive(Debug)]
struct WireNegotiation {
    /// The protobuf schema of objects, if `K` can be decoded from it without loss.
    schema: Option<Schema>,
    /// The protobuf schema of metadata.
    metadata: Option<Schema>,
    /// Whether the server has rejected protobuf.
    protobuf_refused: AtomicBool,
}

impl WireNegotiation {
    fn of<K: Kind>(expected: &ExpectedKind) -> WireNegotiation {
        let schema = Schema::of(&expected.api_version, &expected.kind);
        let metadata = ExpectedKind::metadata();
        WireNegotiation {
            // Metadata has the same fields for all kinds, and all of them are known.
            schema: schema.filter(|schema| K::metadata_api() || schema.covers::<K>()),
            metadata: Schema::of(&metadata.api_version, &metadata.kind),
            protobuf_refused: AtomicBool::new(false),
        }
    }

    fn protobuf(&self, wanted: Representation) -> Option<Schema> {
        let schema = match wanted {
            Representation::Objects => self.schema,
            Representation::Metadata { .. } => self.metadata,
        };
        schema.filter(|_| !self.protobuf_refused.load(Ordering::Relaxed))
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
                // By default, servers return a list with a limit at exactly this version. If that version has
                // expired, so has the watch that follows, and the next list would have the same old version.
                if version != "0" && limit.is_some() && request.continue_token.is_none() {
                    parameters.push(("resourceVersionMatch", "NotOlderThan"));
                }
            }
            let wanted = Representation::of::<K>(METADATA_LIST);
            let response = self.send(wanted, &parameters).await?;
            Ok(list_stream(response, Arc::clone(&self.expected), self.limits))
        })
    }

    fn list_exactly(&self, request: ExactListRequest) -> BoxFuture<'_, Result<Option<ListStream<K>>, Error>> {
        Box::pin(async move {
            let limit = request.limit.to_string();
            let mut parameters = vec![("limit", limit.as_str())];
            match &request.continue_token {
                // The token contains the version, and servers reject a second one.
                Some(token) => parameters.push(("continue", token)),
                None => parameters.extend([
                    ("resourceVersion", request.version.as_str()),
                    ("resourceVersionMatch", "Exact"),
                ]),
            }
            let wanted = Representation::Metadata { form: METADATA_LIST };
            let response = self.send(wanted, &parameters).await?;
            Ok(Some(list_stream(
                response,
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
            let (response, schema) = self.send(wanted, &parameters).await?;
            let expected = Arc::clone(&self.expected);
            let events = EventReader::new(response.into_body(), schema, expected, self.limits);
            Ok(stream::unfold(Some(events), |events| async move {
                let mut events = events?;
                let event = events.next().await?;
                // The stream is unusable after an error.
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

/// The kind of a list of metadata.
const METADATA_LIST: &str = "PartialObjectMetadataList";

/// Reads a page of a list.
fn list_stream<K: Kind>(
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
            negotiation: Arc::clone(&self.negotiation),
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
        // A compressed watch would be delayed until a block is full.
        .header(ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .map_err(|error| Error::bad_data_from("invalid request", error))
}

/// Sends a request and returns a successful response in JSON.
pub(super) async fn json_response(client: &Client, request: Request<Body>) -> Result<Response<Body>, Error> {
    let response = successful_response(client, request).await?;
    match ResponseFormat::of(&response) {
        Some(ResponseFormat::Json) => Ok(response),
        _ => Err(content_type_error(&response, "application/json")),
    }
}

/// Sends a request and returns a successful response.
async fn successful_response(client: &Client, request: Request<Body>) -> Result<Response<Body>, Error> {
    let response = client.send(request).await.map_err(request_error)?;
    if !response.status().is_success() {
        return Err(failure(response).await);
    }
    Ok(response)
}

/// The format of a response.
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

/// Returns the error for a response in another format, which is not from an API server.
fn content_type_error(response: &Response<Body>, expected: &str) -> Error {
    Error::bad_data(format!(
        "unexpected content type {:?}: expected {expected}; check that the URL is that of an API server",
        content_type(response).unwrap_or_default()
    ))
}

/// Converts an error without a response: the server cannot be reached, or the connection was lost.
pub(crate) fn request_error(error: kube::Error) -> Error {
    if is_connect_error(&error) {
        Error::connect(cause(error))
    } else {
        Error::transport("no response from the server", cause(error))
    }
}

/// Returns the cause of kube's error, whose own message only repeats it.
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
