//! The routes of the dashboard.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, Uri, header};
use kube_informer::Key;
use serde_json::{Value, json};

use crate::filter::Filter;
use crate::guard::{Hosts, guard};
use crate::overview::overview;
use crate::state::DashboardState;
use crate::view::{ChangeReport, InformerView, millis};

const PAGE: &str = include_str!("page/index.html");
const SCRIPT: &str = include_str!("page/dashboard.js");
const STYLE: &str = include_str!("page/dashboard.css");
const ICON: &str = include_str!("page/icon.svg");

/// Maximum number of changes in a response.
const MAX_CHANGES: usize = 50;

pub(super) fn router(state: Arc<DashboardState>, hosts: Hosts, beside: Router) -> Router {
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
        .route("/api/overview", get(get_overview))
        .route("/api/samples", get(samples))
        .route("/api/objects", get(objects))
        .route("/api/object", get(object))
        .route("/api/history", get(history))
        .route("/api/index-values", get(index_values))
        .fallback_service(get(page))
        .with_state(state)
        .merge(beside)
        .layer(from_fn_with_state(Arc::new(hosts), guard))
}

/// Returns the page. Its links are relative to its own address, so that it works under any path and behind proxies that strip a prefix.
async fn page(OriginalUri(asked): OriginalUri, uri: Uri) -> Response {
    if !matches!(uri.path(), "" | "/") {
        return RequestError::missing("no page at this address").into_response();
    }
    let base = match asked.path().rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => format!("./{last}/"),
        _ => "./".to_owned(),
    };
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._~%/".contains(char);
    if !base.chars().all(is_plain) {
        return RequestError::missing("unsupported characters in the path of the dashboard").into_response();
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

async fn get_overview(State(state): State<Arc<DashboardState>>) -> Response {
    state.requested();
    answer(&overview(&state.views(), &state.queues))
}

async fn samples(State(state): State<Arc<DashboardState>>, uri: Uri) -> Result<Response, RequestError> {
    state.requested();
    let parameters = Parameters::of(&uri);
    let since = match parameters.get("since") {
        None => UNIX_EPOCH,
        Some(text) => {
            let millis = text.parse().ok().map(Duration::from_millis);
            millis
                .and_then(|millis| UNIX_EPOCH.checked_add(millis))
                .ok_or_else(|| RequestError::bad("invalid since: expected milliseconds since 1970"))?
        }
    };
    let samples = state.samples.lock();
    let samples = samples
        .since(since)
        .map(|sample| json!({ "at": millis(sample.at), "counts": sample.counts }));
    Ok(answer(&samples.collect()))
}

async fn objects(State(state): State<Arc<DashboardState>>, uri: Uri) -> Result<Response, RequestError> {
    let parameters = Parameters::of(&uri);
    let view = parameters.view(&state)?;
    // The client already has this state of the cache.
    if parameters.get("seen").is_some_and(|seen| seen == view.tag()) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let filter = Filter::parse(parameters.all()).map_err(RequestError::bad)?;
    let page = search(&state, move || view.page(&filter))
        .await?
        .map_err(RequestError::bad)?;
    Ok(answer(
        &json!({ "tag": page.tag, "total": page.total, "objects": page.rows }),
    ))
}

async fn object(State(state): State<Arc<DashboardState>>, uri: Uri) -> Result<Response, RequestError> {
    let parameters = Parameters::of(&uri);
    let (view, key) = (parameters.view(&state)?, parameters.key()?);
    let gone = format!("{key} is not in the cache");
    let found = search(&state, move || {
        let object = view.object(&key);
        (object, view.history(Some(&key), MAX_CHANGES))
    });
    let (object, history) = found.await?;
    if object.is_none() && history.is_empty() {
        return Err(RequestError::missing(gone));
    }
    Ok(answer(
        &json!({ "object": object, "history": history.iter().map(change).collect::<Vec<_>>() }),
    ))
}

async fn history(State(state): State<Arc<DashboardState>>, uri: Uri) -> Result<Response, RequestError> {
    let view = Parameters::of(&uri).view(&state)?;
    let history = search(&state, move || view.history(None, MAX_CHANGES)).await?;
    Ok(answer(&history.iter().map(change).collect()))
}

async fn index_values(State(state): State<Arc<DashboardState>>, uri: Uri) -> Result<Response, RequestError> {
    let parameters = Parameters::of(&uri);
    let view = parameters.view(&state)?;
    let index = parameters.get("index").unwrap_or_default().to_owned();
    let values = search(&state, move || view.index_values(&index)).await?;
    Ok(answer(&json!(values)))
}

fn change(report: &ChangeReport) -> Value {
    let differences = report.differences.iter();
    let differences =
        differences.map(|found| json!({ "path": found.path, "old": found.old, "new": found.new }));
    json!({
        "at": millis(report.at),
        "what": report.what,
        "key": report.key.as_str(),
        "version": report.version,
        "differences": differences.collect::<Vec<_>>(),
    })
}

/// Runs a search on a blocking thread.
async fn search<T: Send + 'static>(
    state: &DashboardState,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RequestError> {
    let permit = Arc::clone(&state.searches).acquire_owned().await;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    // Serialization is user code and may panic.
    done.await.map_err(|_| RequestError {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        message: "cannot serialize an object of this kind: its type panicked; see the log".to_owned(),
    })
}

fn answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// The query parameters of a request.
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

    fn view(&self, state: &DashboardState) -> Result<Arc<InformerView>, RequestError> {
        let id = self
            .get("informer")
            .ok_or_else(|| RequestError::bad("missing parameter \"informer\", for example informer=pods"))?;
        state
            .view(id)
            .ok_or_else(|| RequestError::missing(format!("unknown informer {id:?}")))
    }

    fn key(&self) -> Result<Key, RequestError> {
        let key = self
            .get("key")
            .ok_or_else(|| RequestError::bad("missing parameter \"key\", for example key=namespace/name"))?;
        key.parse()
            .map_err(|error: kube_informer::error::ParseKeyError| RequestError::bad(error.to_string()))
    }
}

/// An error response.
struct RequestError {
    status: StatusCode,
    message: String,
}

impl RequestError {
    fn bad(message: impl Into<String>) -> RequestError {
        RequestError {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
        }
    }

    fn missing(message: impl Into<String>) -> RequestError {
        RequestError {
            status: StatusCode::NOT_FOUND,
            message: message.into(),
        }
    }
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        (self.status, answer(&json!({ "error": self.message }))).into_response()
    }
}
