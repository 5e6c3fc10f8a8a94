//! Responses to an informer. An input is a byte that selects its options, then responses separated by lines
//! `---`, each with a first letter for its kind.
//!
//! The first lists and watches get these responses, all later ones those of a server. In between all objects
//! of the server change, so that no earlier response is still correct.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use contract_checker::{
    CacheChecker, CacheContents, CachedObject, Collection, Findings, HandlerChecker, HandlerRules,
    ObjectState, ObservedEvent,
};
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kube_informer::{CacheFormat, Event, Key, Object, SharedInformer, source::WireFormat};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::server::{World, with};

/// Maximum number of responses of an input.
const MOST: usize = 6;

const BETWEEN: &[u8] = b"\n---\n";

/// The server's version after the responses, which no input contains.
const FAR_AHEAD: u64 = 7_131_719_232_931_374_143;

/// Timeout for the informer to recover.
const PATIENCE: Duration = Duration::from_hours(1);

/// The informer survives any response. Once the server sends correct responses, the cache equals the server's
/// state, and so does the last event of each object.
pub(crate) fn informer(data: &[u8]) {
    let Some((options, answers)) = data.split_first() else {
        return;
    };
    let answers = ScriptedResponses::of(answers);
    with(async |world| {
        let builder = SharedInformer::<ConfigMap>::builder(answers.before(world.client.clone()))
            .streaming_list(options & 1 != 0)
            .cache_format(if options & 2 == 0 {
                CacheFormat::Decoded
            } else {
                CacheFormat::Packed
            })
            .wire_format(if options & 4 == 0 {
                WireFormat::Protobuf
            } else {
                WireFormat::Json
            })
            .watch_error_handler(|error| drop(error.to_string()))
            .seed(1);
        let informer = builder.build();
        let findings = Arc::new(Findings::default());
        let rules = HandlerRules {
            server_may_go_back: true,
            ..HandlerRules::default()
        };
        let handler = HandlerChecker::new("handler", &findings, rules);
        informer
            .add_handler(checked(&handler, &informer))
            .expect("it runs");
        let started = Instant::now();
        informer.start().expect("the first start");
        let mut cache = CacheChecker::new("cache", &findings, None, Vec::new());
        until("the answers are given", async || answers.are_given()).await;
        cache.check_version(informer.resource_version().as_ref(), informer.status().went_back);

        world.server.advance_resource_version(FAR_AHEAD);
        change(world);
        world.server.compact_history();
        world.server.cut_connections();
        let wanted = contents(&world.get("/api/v1/configmaps").await);
        until("the cache equals the server", async || {
            cached(&informer) == wanted
        })
        .await;
        cache.check_version(informer.resource_version().as_ref(), informer.status().went_back);
        until("the handler has received it", async || {
            handler.present() == wanted
        })
        .await;
        let most = 100 + 2 * started.elapsed().as_secs();
        assert!(
            answers.asked() <= most,
            "{} requests, more than {most}",
            answers.asked()
        );
        informer.shutdown().await;
        handler.end("after the informer stopped");
        findings.assert_none();
    });
}

/// Waits on a paused clock, on which time passes when all tasks are idle.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < PATIENCE, "timeout: {what}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Changes every object, creates one, and deletes one.
fn change(world: &World) {
    let maps = [
        ("default", "a"),
        ("default", "b"),
        ("other", "a"),
        ("other", "new"),
        ("kube-system", "z"),
    ];
    let objects = maps.map(|(namespace, name)| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
            "data": {"truth": name},
        })
    });
    world.server.load(objects).expect("objects");
}

fn contents(list: &Value) -> Collection {
    let items = list["items"].as_array().expect("a list");
    let entry = |item: &Value| {
        let text = |name: &str| item["metadata"][name].as_str().unwrap_or_default();
        let data: BTreeMap<String, String> = serde_json::from_value(item["data"].clone()).expect("texts");
        let state = ObjectState {
            version: text("resourceVersion").into(),
            uid: Some(text("uid").to_owned()),
            content: hash_of(&data),
        };
        (Key::namespaced(text("namespace"), text("name")), state)
    };
    items.iter().map(entry).collect()
}

fn cached(informer: &SharedInformer<ConfigMap>) -> Collection {
    CacheContents::of(&informer.snapshot(), state_of).objects
}

fn state_of(object: &Object<ConfigMap>) -> ObjectState {
    ObjectState {
        content: hash_of(&object.data.clone().unwrap_or_default()),
        ..ObjectState::of(object)
    }
}

fn hash_of(data: &BTreeMap<String, String>) -> u64 {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish()
}

/// Returns a handler whose events are checked.
fn checked(
    checker: &Arc<HandlerChecker>,
    informer: &SharedInformer<ConfigMap>,
) -> impl FnMut(Event<ConfigMap>) + Send + use<> {
    let (checker, lister) = (Arc::clone(checker), informer.lister());
    move |event: Event<ConfigMap>| {
        let cached = CachedObject::of(&lister.snapshot(), event.key(), state_of);
        checker.check(&ObservedEvent::of(&event, state_of), &cached);
    }
}

/// The responses, and the number of requests.
#[derive(Clone)]
struct ScriptedResponses {
    state: Arc<Mutex<(VecDeque<Response<Body>>, u64)>>,
}

impl ScriptedResponses {
    fn of(data: &[u8]) -> ScriptedResponses {
        let mut answers = VecDeque::new();
        let mut rest = Some(data);
        while let Some(data) = rest.filter(|_| answers.len() < MOST) {
            let end = data.windows(BETWEEN.len()).position(|part| part == BETWEEN);
            rest = end.map(|end| &data[end + BETWEEN.len()..]);
            answers.extend(answer(&data[..end.unwrap_or(data.len())]));
        }
        ScriptedResponses {
            state: Arc::new(Mutex::new((answers, 0))),
        }
    }

    /// Returns a client that gets these responses, and then those of another client.
    fn before(&self, client: Client) -> Client {
        let answers = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (answers, client) = (answers.clone(), client.clone());
            async move {
                match answers.next(&request) {
                    Some(answer) => Ok(answer),
                    None => client.send(request).await,
                }
            }
        });
        Client::new(service, "default")
    }

    fn next(&self, request: &Request<Body>) -> Option<Response<Body>> {
        let mut state = self.state.lock();
        state.1 += 1;
        let is_collection = request.uri().path().ends_with("/configmaps");
        is_collection.then(|| state.0.pop_front()).flatten()
    }

    fn are_given(&self) -> bool {
        self.state.lock().0.is_empty()
    }

    fn asked(&self) -> u64 {
        self.state.lock().1
    }
}

/// Returns a response with an arbitrary body.
fn answer(data: &[u8]) -> Option<Response<Body>> {
    let (letter, body) = data.split_first()?;
    let (code, content_type) = match letter {
        b'P' => (200, "application/vnd.kubernetes.protobuf"),
        b'W' => (200, "application/vnd.kubernetes.protobuf;stream=watch"),
        b'G' => (410, "application/json"),
        b'N' => (404, "application/json"),
        b'T' => (429, "application/json"),
        b'E' => (500, "application/vnd.kubernetes.protobuf"),
        b'H' => (200, "text/html"),
        b'A' => (406, "application/json"),
        b'S' => (204, "application/json"),
        _ => (200, "application/json"),
    };
    let answer = Response::builder()
        .status(code)
        .header("content-type", content_type);
    answer.body(Body::from(body.to_vec())).ok()
}
