//! What can be asked for.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, Uri, header};
use serde_json::{Value, json};

use super::filter::Filter;
use super::guard::{Hosts, guard};
use super::house::House;
use super::overview::overview;
use super::view::{Told, View, millis};
use crate::object::Key;

const PAGE: &str = include_str!("page/index.html");
const SCRIPT: &str = include_str!("page/dashboard.js");
const STYLE: &str = include_str!("page/dashboard.css");
const ICON: &str = include_str!("page/icon.svg");

/// How many changes are told at a time.
const CHANGES: usize = 50;

pub(super) fn router(house: Arc<House>, hosts: Hosts, beside: Router) -> Router {
    Router::new()
        .route("/", get(page))
        .route(
            "/dashboard.js",
            get(async || file("text/javascript; charset=utf-8", SCRIPT)),
        )
        .route(
            "/dashboard.css",
            get(async || file("text/css; charset=utf-8", STYLE)),
        )
        .route("/icon.svg", get(async || file("image/svg+xml", ICON)))
        .route("/api/overview", get(everything))
        .route("/api/samples", get(samples))
        .route("/api/objects", get(objects))
        .route("/api/object", get(object))
        .route("/api/history", get(history))
        .route("/api/index-values", get(index_values))
        .fallback_service(get(page))
        .with_state(house)
        .merge(beside)
        .layer(from_fn_with_state(Arc::new(hosts), guard))
}

/// The page. Its links are relative to its own address, whatever that is, so that it works under any path and behind proxies
/// that take a part of the path away.
async fn page(OriginalUri(asked): OriginalUri, uri: Uri) -> Response {
    if !matches!(uri.path(), "" | "/") {
        return Refusal::missing("there is nothing at this address").into_response();
    }
    let base = match asked.path().rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => format!("./{last}/"),
        _ => "./".to_owned(),
    };
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._~%/".contains(char);
    if !base.chars().all(is_plain) {
        return Refusal::missing("the dashboard is under a path with characters that it does not know")
            .into_response();
    }
    (
        [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
        PAGE.replace("{base}", &base),
    )
        .into_response()
}

fn file(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

async fn everything(State(house): State<Arc<House>>) -> Response {
    house.looked();
    answer(&overview(&house.views(), &house.queues))
}

async fn samples(State(house): State<Arc<House>>, uri: Uri) -> Result<Response, Refusal> {
    house.looked();
    let parameters = Parameters::of(&uri);
    let since = match parameters.get("since") {
        None => UNIX_EPOCH,
        Some(text) => {
            let millis = text.parse().ok().map(Duration::from_millis);
            millis
                .and_then(|millis| UNIX_EPOCH.checked_add(millis))
                .ok_or_else(|| Refusal::bad("since is to be milliseconds since 1970"))?
        }
    };
    let samples = house.samples.lock();
    let told = samples
        .since(since)
        .map(|sample| json!({ "at": millis(sample.at), "counts": sample.counts }));
    Ok(answer(&told.collect()))
}

async fn objects(State(house): State<Arc<House>>, uri: Uri) -> Result<Response, Refusal> {
    let parameters = Parameters::of(&uri);
    let view = parameters.view(&house)?;
    // Who has seen all this need not be told again, and nothing need be searched for.
    if parameters.get("seen").is_some_and(|seen| seen == view.tag()) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let filter = Filter::parse(parameters.all()).map_err(Refusal::bad)?;
    let page = search(&house, move || view.page(&filter))
        .await?
        .map_err(Refusal::bad)?;
    Ok(answer(
        &json!({ "tag": page.tag, "total": page.total, "objects": page.rows }),
    ))
}

async fn object(State(house): State<Arc<House>>, uri: Uri) -> Result<Response, Refusal> {
    let parameters = Parameters::of(&uri);
    let (view, key) = (parameters.view(&house)?, parameters.key()?);
    let gone = format!("{key} is not in the cache");
    let found = search(&house, move || {
        let object = view.object(&key);
        (object, view.history(Some(&key), CHANGES))
    });
    let (object, history) = found.await?;
    if object.is_none() && history.is_empty() {
        return Err(Refusal::missing(gone));
    }
    Ok(answer(
        &json!({ "object": object, "history": history.iter().map(change).collect::<Vec<_>>() }),
    ))
}

async fn history(State(house): State<Arc<House>>, uri: Uri) -> Result<Response, Refusal> {
    let view = Parameters::of(&uri).view(&house)?;
    let history = search(&house, move || view.history(None, CHANGES)).await?;
    Ok(answer(&history.iter().map(change).collect()))
}

async fn index_values(State(house): State<Arc<House>>, uri: Uri) -> Result<Response, Refusal> {
    let parameters = Parameters::of(&uri);
    let view = parameters.view(&house)?;
    let index = parameters.get("index").unwrap_or_default().to_owned();
    let values = search(&house, move || view.index_values(&index)).await?;
    Ok(answer(&json!(values)))
}

fn change(told: &Told) -> Value {
    let differences = told.differences.iter();
    let differences =
        differences.map(|found| json!({ "path": found.path, "old": found.old, "new": found.new }));
    json!({
        "at": millis(told.at),
        "what": told.what,
        "key": told.key.as_str(),
        "version": told.version,
        "differences": differences.collect::<Vec<_>>(),
    })
}

/// Does what may take long where nothing else has to wait for it.
async fn search<T: Send + 'static>(
    house: &House,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let permit = Arc::clone(&house.searches).acquire_owned().await;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    // The objects' own code prints them, and may panic.
    done.await.map_err(|_| Refusal {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        why: "an object of this kind cannot be shown: its type panics; see the log".to_owned(),
    })
}

fn answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// What stands behind the question mark.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn of(uri: &Uri) -> Parameters {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        Parameters(pairs.into_owned().collect())
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn get(&self, wanted: &str) -> Option<&str> {
        self.all()
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value)
    }

    fn view(&self, house: &House) -> Result<Arc<dyn View>, Refusal> {
        let id = self
            .get("informer")
            .ok_or_else(|| Refusal::bad("which informer? informer=pods, for example"))?;
        house
            .view(id)
            .ok_or_else(|| Refusal::missing(format!("there is no informer {id:?}")))
    }

    fn key(&self) -> Result<Key, Refusal> {
        let key = self
            .get("key")
            .ok_or_else(|| Refusal::bad("which object? key=namespace/name"))?;
        key.parse()
            .map_err(|error: crate::ParseKeyError| Refusal::bad(error.to_string()))
    }
}

/// Why something is not answered.
struct Refusal {
    status: StatusCode,
    why: String,
}

impl Refusal {
    fn bad(why: impl Into<String>) -> Refusal {
        Refusal {
            status: StatusCode::BAD_REQUEST,
            why: why.into(),
        }
    }

    fn missing(why: impl Into<String>) -> Refusal {
        Refusal {
            status: StatusCode::NOT_FOUND,
            why: why.into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, answer(&json!({ "error": self.why }))).into_response()
    }
}
