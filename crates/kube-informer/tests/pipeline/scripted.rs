//! A scripted source of objects that records its requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use kube_informer::{
    Error, InformerBuilder, Key, ResourceVersion, SharedInformer,
    error::StatusError,
    source::{
        ExactListRequest, ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest,
        WatchStream,
    },
};
use parking_lot::Mutex;
use tokio::sync::watch;

/// A small server: objects, their history, and watches. Clones share one state.
#[derive(Clone)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    /// Whether lists get a response.
    answering: Arc<watch::Sender<bool>>,
}

struct State {
    objects: BTreeMap<Key, ConfigMap>,
    version: u64,
    uids: u64,
    history: Vec<(u64, Change)>,
    watches: Vec<UnboundedSender<Result<WatchEvent<ConfigMap>, Error>>>,
    list_error: Option<Error>,
    served: bool,
    questions: usize,
    lists: Vec<ListRequest>,
    exact_lists: ExactLists,
}

/// How lists at an exact version are answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExactLists {
    Correct,
    /// The next one contains no objects.
    EmptyOnce,
    /// Every page has the same continue token.
    Endless,
}

#[derive(Clone)]
enum Change {
    Added(ConfigMap),
    Modified(ConfigMap),
    Deleted(ConfigMap),
    Bookmark,
}

impl Server {
    pub(crate) fn new() -> Server {
        Server {
            state: Arc::new(Mutex::new(State {
                objects: BTreeMap::new(),
                version: 1,
                uids: 0,
                history: Vec::new(),
                watches: Vec::new(),
                list_error: None,
                served: true,
                questions: 0,
                lists: Vec::new(),
                exact_lists: ExactLists::Correct,
            })),
            answering: Arc::new(watch::Sender::new(true)),
        }
    }

    /// Creates a server with these objects.
    pub(crate) fn with(keys: &[&str]) -> Server {
        let server = Server::new();
        for key in keys {
            server.put(key, "");
        }
        server
    }

    pub(crate) fn builder(&self) -> InformerBuilder<ConfigMap> {
        SharedInformer::builder_from(self.clone(), ())
            .streaming_list(false)
            .seed(1)
    }

    pub(crate) fn informer(&self) -> SharedInformer<ConfigMap> {
        self.builder().build()
    }

    /// Creates or changes an object and returns the version.
    pub(crate) fn put(&self, key: &str, text: &str) -> ResourceVersion {
        let key: Key = key.parse().unwrap();
        let mut state = self.state.lock();
        state.version += 1;
        let known = state
            .objects
            .get(&key)
            .and_then(|object| object.metadata.uid.clone());
        let is_known = known.is_some();
        let uid = known.unwrap_or_else(|| {
            state.uids += 1;
            state.uids.to_string()
        });
        let object = ConfigMap {
            metadata: ObjectMeta {
                name: Some(key.name().to_owned()),
                namespace: key.namespace().map(str::to_owned),
                resource_version: Some(state.version.to_string()),
                uid: Some(uid),
                ..ObjectMeta::default()
            },
            data: Some([("text".to_owned(), text.to_owned())].into()),
            ..ConfigMap::default()
        };
        state.objects.insert(key, object.clone());
        state.tell(if is_known {
            Change::Modified(object)
        } else {
            Change::Added(object)
        })
    }

    pub(crate) fn delete(&self, key: &str) -> ResourceVersion {
        let mut state = self.state.lock();
        let mut object = state
            .objects
            .remove(&key.parse().unwrap())
            .expect("the object exists");
        state.version += 1;
        object.metadata.resource_version = Some(state.version.to_string());
        state.tell(Change::Deleted(object))
    }

    /// Sends a bookmark with a new version, without changing objects.
    pub(crate) fn bookmark(&self) -> ResourceVersion {
        let mut state = self.state.lock();
        state.version += 1;
        state.tell(Change::Bookmark)
    }

    pub(crate) fn version(&self) -> ResourceVersion {
        self.state.lock().version.into()
    }

    /// Drops the history and ends every watch with an expired version, so that informers have to list again.
    pub(crate) fn expire(&self) {
        let mut state = self.state.lock();
        state.history.clear();
        for watch in std::mem::take(&mut state.watches) {
            let gone = StatusError {
                code: 410,
                reason: "Expired".to_owned(),
                ..StatusError::default()
            };
            let _ = watch.unbounded_send(Ok(WatchEvent::Failure(gone)));
        }
    }

    /// Simulates a restored backup: an older version, older objects, and no watches.
    pub(crate) fn restore(&self, version: u64, keys: &[&str]) {
        self.expire();
        {
            let mut state = self.state.lock();
            state.objects.clear();
            state.version = version - keys.len() as u64;
        }
        for key in keys {
            self.put(key, "restored");
        }
        self.state.lock().history.clear();
    }

    /// Sets an error for all lists, or removes it.
    pub(crate) fn fail_lists(&self, error: Option<Error>) {
        self.state.lock().list_error = error;
    }

    /// Sets whether the kind is served. If not, requests fail with 404 and watches end.
    pub(crate) fn serve(&self, served: bool) {
        let mut state = self.state.lock();
        state.served = served;
        if !served {
            state.watches.clear();
        }
    }

    pub(crate) fn answer_exact_lists(&self, how: ExactLists) {
        self.state.lock().exact_lists = how;
    }

    /// Returns the number of requests.
    pub(crate) fn questions(&self) -> usize {
        self.state.lock().questions
    }

    /// Sets whether lists get a response.
    pub(crate) fn answer_lists(&self, answering: bool) {
        self.answering.send_replace(answering);
    }

    /// Returns the number of list requests.
    pub(crate) fn lists(&self) -> usize {
        self.state.lock().lists.len()
    }

    /// Returns the number of open watches.
    pub(crate) fn watches(&self) -> usize {
        let mut state = self.state.lock();
        state.watches.retain(|watch| !watch.is_closed());
        state.watches.len()
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        self.state.lock().objects.keys().cloned().collect()
    }
}

impl State {
    fn count_request(&mut self) -> Result<(), Error> {
        self.questions += 1;
        if self.served {
            return Ok(());
        }
        Err(Error::status(StatusError {
            code: 404,
            message: "404 page not found".to_owned(),
            ..StatusError::default()
        }))
    }

    /// Returns the objects at an earlier version, like etcd.
    fn objects_at(&self, version: u64) -> Vec<ConfigMap> {
        let mut objects = BTreeMap::new();
        let changes = self.history.iter().take_while(|(at, _)| *at <= version);
        let key = |object: &ConfigMap| (object.metadata.namespace.clone(), object.metadata.name.clone());
        for (_, change) in changes {
            match change {
                Change::Added(object) | Change::Modified(object) => {
                    objects.insert(key(object), object.clone());
                }
                Change::Deleted(object) => drop(objects.remove(&key(object))),
                Change::Bookmark => {}
            }
        }
        objects.into_values().collect()
    }

    fn tell(&mut self, change: Change) -> ResourceVersion {
        let version = self.version;
        self.watches
            .retain(|watch| watch.unbounded_send(Ok(change.event(version))).is_ok());
        self.history.push((version, change));
        version.into()
    }
}

impl Change {
    fn event(&self, version: u64) -> WatchEvent<ConfigMap> {
        match self.clone() {
            Change::Added(object) => WatchEvent::Added(item(object)),
            Change::Modified(object) => WatchEvent::Modified(item(object)),
            Change::Deleted(object) => WatchEvent::Deleted(item(object)),
            Change::Bookmark => WatchEvent::Bookmark {
                version: version.into(),
                initial_events_end: false,
            },
        }
    }
}

fn item(object: ConfigMap) -> RawObject<ConfigMap> {
    RawObject::decoded(object).expect("it has a name and a version")
}

impl ListWatch<ConfigMap> for Server {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.state.lock().lists.push(request);
        let mut answering = self.answering.subscribe();
        async move {
            answering
                .wait_for(|answering| *answering)
                .await
                .expect("the server holds the sender");
            let mut state = self.state.lock();
            state.count_request()?;
            if let Some(error) = &state.list_error {
                return Err(error.clone());
            }
            let end = ListPart::End {
                version: state.version.into(),
                continue_token: None,
            };
            let items = state
                .objects
                .values()
                .cloned()
                .map(|object| ListPart::Object(item(object)));
            let parts: Vec<_> = items.chain([end]).map(Ok).collect();
            Ok(stream::iter(parts).boxed())
        }
        .boxed()
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        async move {
            let (sender, receiver) = unbounded();
            let after: u64 = request
                .resource_version
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            let mut state = self.state.lock();
            state.count_request()?;
            for (version, change) in &state.history {
                if *version > after {
                    let _ = sender.unbounded_send(Ok(change.event(*version)));
                }
            }
            state.watches.push(sender);
            Ok(receiver.boxed())
        }
        .boxed()
    }

    fn list_exactly(
        &self,
        request: ExactListRequest,
    ) -> BoxFuture<'_, Result<Option<ListStream<ConfigMap>>, Error>> {
        async move {
            let mut state = self.state.lock();
            state.count_request()?;
            let version: u64 = request.version.parse().expect("the version is a number");
            let mut objects = state.objects_at(version);
            if state.exact_lists == ExactLists::EmptyOnce {
                state.exact_lists = ExactLists::Correct;
                objects.clear();
            }
            let objects = objects.into_iter();
            let end = ListPart::End {
                version: version.into(),
                continue_token: (state.exact_lists == ExactLists::Endless).then(|| "token".to_owned()),
            };
            let items = objects.map(|object| ListPart::Object(item(object)));
            let parts: Vec<_> = items.chain([end]).map(Ok).collect();
            Ok(Some(stream::iter(parts).boxed()))
        }
        .boxed()
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        let mut state = self.state.lock();
        state.questions += 1;
        futures::future::ready(Ok(state.served)).boxed()
    }
}

/// Returns the text of an object.
pub(crate) fn text(object: &ConfigMap) -> Option<String> {
    object.data.as_ref()?.get("text").cloned()
}
