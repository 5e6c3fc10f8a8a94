//! Answers to an informer: a byte that chooses its form, then answers with a line `---` between them, each with a letter first
//! that says what kind of answer it is.
//!
//! The first lists and watches of the informer get these answers, all later ones those of a server. In between the server
//! changes, so that nothing an answer said can still be true.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kube_informer::{Event, Form, SharedInformer, WireFormat};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::server::{World, with};

/// How many answers of an input are given.
const MOST: usize = 6;

const BETWEEN: &[u8] = b"\n---\n";

/// Versions that no answer names, even if it tries: the server goes on from there.
const FAR_AHEAD: u64 = 7_131_719_232_931_374_143;

/// The time that an informer may take to find the truth again.
const PATIENCE: Duration = Duration::from_hours(1);

/// What is known of each object: its version and its data.
type Contents = BTreeMap<String, (String, BTreeMap<String, String>)>;

/// Whatever a server says, the informer goes on; once the server says the truth, the cache has it, and every handler knows.
pub(crate) fn informer(data: &[u8]) {
    let Some((options, answers)) = data.split_first() else {
        return;
    };
    let answers = Answers::of(answers);
    with(async |world| {
        let builder = SharedInformer::<ConfigMap>::builder(answers.before(world.client.clone()))
            .streaming_list(options & 1 != 0)
            .form(if options & 2 == 0 {
                Form::Typed
            } else {
                Form::Packed
            })
            .wire_format(if options & 4 == 0 {
                WireFormat::Protobuf
            } else {
                WireFormat::Json
            })
            .watch_error_handler(|error| drop(error.to_string()))
            .seed(1);
        let informer = builder.build();
        let told = Told::default();
        informer.add_handler(told.handler()).expect("it runs");
        let started = Instant::now();
        informer.start().expect("it was not started");
        until("the answers are given", async || answers.are_given()).await;

        world.server.advance_resource_version(FAR_AHEAD);
        change(world);
        world.server.compact_history();
        world.server.cut_connections();
        let wanted = contents(&world.get("/api/v1/configmaps").await);
        until("the cache has the truth", async || cached(&informer) == wanted).await;
        until("the handler has heard it", async || told.last() == wanted).await;
        let most = 100 + 2 * started.elapsed().as_secs();
        assert!(
            answers.asked() <= most,
            "{} requests, more than {most}",
            answers.asked()
        );
        informer.shutdown().await;
    });
}

/// Waits on a clock that stands still while anything is left to do.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < PATIENCE, "it does not happen that {what}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Makes every object another one, one new, and one gone.
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

fn contents(list: &Value) -> Contents {
    let items = list["items"].as_array().expect("a list");
    let entry = |item: &Value| {
        let text = |name: &str| item["metadata"][name].as_str().unwrap_or_default().to_owned();
        let data = serde_json::from_value(item["data"].clone()).expect("texts");
        (
            format!("{}/{}", text("namespace"), text("name")),
            (text("resourceVersion"), data),
        )
    };
    items.iter().map(entry).collect()
}

fn cached(informer: &SharedInformer<ConfigMap>) -> Contents {
    let entry = |object: kube_informer::Object<ConfigMap>| {
        let data = object.arc().data.clone().unwrap_or_default();
        (object.key().to_string(), (object.version().to_string(), data))
    };
    informer.snapshot().iter().map(entry).collect()
}

/// What a handler was told last of each object.
#[derive(Clone, Default)]
struct Told {
    last: Arc<Mutex<Contents>>,
}

impl Told {
    /// A handler that takes note, and panics if what it is told is no history.
    fn handler(&self) -> impl FnMut(Event<ConfigMap>) + Send + use<> {
        let told = Arc::clone(&self.last);
        move |event: Event<ConfigMap>| {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let key = event.key().to_string();
            let object = event.object();
            let now = (
                object.version().to_string(),
                object.arc().data.clone().unwrap_or_default(),
            );
            let before = match &event {
                Event::Added { .. } | Event::Updated { .. } => told.insert(key, now),
                Event::Deleted(_) => told.remove(&key),
            };
            match event {
                Event::Added { .. } => assert!(before.is_none(), "added again"),
                Event::Updated { old, .. } => {
                    let before = before.expect("an update of what is there");
                    assert_eq!(before.0, old.version().to_string(), "an update of something else");
                }
                Event::Deleted(_) => assert!(before.is_some(), "deleted again"),
            }
        }
    }

    fn last(&self) -> Contents {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers to give, and how often something was asked.
#[derive(Clone)]
struct Answers {
    state: Arc<Mutex<(VecDeque<Response<Body>>, u64)>>,
}

impl Answers {
    fn of(data: &[u8]) -> Answers {
        let mut answers = VecDeque::new();
        let mut rest = Some(data);
        while let Some(data) = rest.filter(|_| answers.len() < MOST) {
            let end = data.windows(BETWEEN.len()).position(|part| part == BETWEEN);
            rest = end.map(|end| &data[end + BETWEEN.len()..]);
            answers.extend(answer(&data[..end.unwrap_or(data.len())]));
        }
        Answers {
            state: Arc::new(Mutex::new((answers, 0))),
        }
    }

    /// A client that gets these answers, and then those of another.
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
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += 1;
        let is_collection = request.uri().path().ends_with("/configmaps");
        is_collection.then(|| state.0.pop_front()).flatten()
    }

    fn are_given(&self) -> bool {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .is_empty()
    }

    fn asked(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// An answer of which only the body is hostile.
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
