//! Serves one request: faults, authorization, the operation, and the response.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use kube_wire::protobuf;
use serde_json::json;
use tokio::time::Instant;

use super::compress;
use super::documents::static_document;
use super::head::RequestHead;
use super::mangle::mangle;
use super::permission::Permission;
use super::request_body::{delete_body, drain, expected_kind, object_body, patch_body, read};
use super::respond::{failed, ok, plain, respond, warn};
use super::timeout;
use crate::api::Registry;
use crate::cluster::Cluster;
use crate::faults::{Fault, ResponseFaults, failure};
use crate::record;
use crate::request::{OFFERED, ObjectForm, ObjectPath, PathError, Query, Representation, Target, Verb};
use crate::response::{Body, encode};
use crate::status::{Result, Status};
use crate::table::IncludeObject;
use crate::verbs::{
    self, DeleteOptions, Deleted, ListOptions, PatchKind, View, Warnings, WriteOptions, WriteResult, Written,
    answers_with_object, is_node_request,
};

/// A fault closed the connection without a response.
#[derive(Debug)]
pub(crate) struct ConnectionDropped;

impl std::fmt::Display for ConnectionDropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection was dropped by a fault")
    }
}

impl std::error::Error for ConnectionDropped {}

/// Serves a request. `connection` is the number of its connection.
pub(crate) async fn serve<B>(
    cluster: &Arc<Cluster>,
    request: Request<B>,
    connection: u64,
) -> Result<Response<Body>, ConnectionDropped>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let mut body = Box::pin(body);
    let mut head = RequestHead {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        headers: parts.headers,
        user: None,
        warnings: Warnings::default(),
    };
    let permission = Permission::of_request(cluster, &mut head);
    let registry = cluster.registry();
    let target = Target::parse(&head.path, &registry);
    let arrived = describe(&head, target.as_ref().ok(), connection, parts.version);
    let deprecation = match &target {
        Ok(Target::Object(path)) => path.resource.deprecation.clone(),
        _ => None,
    };
    let is_watch = arrived.verb == Some(Verb::Watch);
    let faults = cluster.faults.take(&arrived);
    let names = faults.iter().map(|f| format!("{f:?}")).collect();
    let number = cluster.record.add(record::Request {
        faults: names,
        ..arrived
    });

    let mut response_faults = ResponseFaults::default();
    for fault in &faults {
        response_faults.add(fault);
        match fault {
            Fault::Drop => return Err(ConnectionDropped),
            Fault::NoAnswer => std::future::pending().await,
            Fault::Delay(time) => tokio::time::sleep(*time).await,
            Fault::Compact => cluster.store.compact(cluster.store.revision()),
            _ => {}
        }
    }
    let answer = match faults.iter().find_map(|f| failure(f, cluster.store.revision())) {
        Some(status) => Err(status),
        // A malformed path is rejected before authentication errors.
        None if matches!(target, Err(PathError::Malformed)) => {
            Ok(plain(StatusCode::BAD_REQUEST, "400 Bad Request"))
        }
        None => match permission.and_then(|permission| permission.check(cluster, &head)) {
            Err(status) => Err(status),
            Ok(()) => match target {
                Ok(target) => {
                    answer(
                        cluster,
                        &registry,
                        &head,
                        target,
                        &mut body,
                        response_faults.clone(),
                    )
                    .await
                }
                Err(PathError::Status(status)) => Err(status),
                Err(PathError::NotFound) => Ok(plain(StatusCode::NOT_FOUND, "404 page not found\n")),
                Err(PathError::Malformed) => Err(Status::no_such_path()),
            },
        },
    };
    // Some HTTP/2 clients, for example curl, lose a response that is sent before the request has ended.
    drain(&mut body).await;
    let mut response = answer.unwrap_or_else(|status| failed(&status, head.pretty()));
    for text in deprecation.iter().chain(&head.warnings.take()) {
        warn(&mut response, text);
    }
    if head.method == Method::HEAD {
        let body = std::mem::replace(response.body_mut(), Body::Full(None));
        if let Some(length) = http_body::Body::size_hint(&body).exact() {
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
    }
    cluster
        .record
        .update(number, |r| r.status = Some(response.status().as_u16()));
    let is_stream = is_watch && response.status().is_success();
    Ok(mangle(response, &faults, is_stream))
}

fn describe(
    head: &RequestHead,
    target: Option<&Target>,
    connection: u64,
    version: http::Version,
) -> record::Request {
    let object = match target {
        Some(Target::Object(path)) => Some(path),
        _ => None,
    };
    record::Request {
        number: 0,
        at: Instant::now(),
        verb: object.and_then(|p| p.verb(&head.method, wants_watch(&head.query)).ok()),
        resource: object.map(|p| p.resource.plural.clone()).unwrap_or_default(),
        group: object.map(|p| p.resource.group.clone()).unwrap_or_default(),
        namespace: object.and_then(|p| p.namespace.clone()),
        name: object.and_then(|p| p.name.clone()),
        subresource: object.and_then(|p| p.subresource.clone()),
        method: head.method.to_string(),
        path: head.path.clone(),
        query: head.query.pairs().to_vec(),
        user: head.user.as_ref().map(|user| user.name().to_owned()),
        user_agent: head.header(USER_AGENT).to_owned(),
        accept: head.header(ACCEPT).to_owned(),
        connection,
        http_version: format!("{version:?}"),
        status: None,
        faults: Vec::new(),
    }
}

fn wants_watch(query: &Query) -> bool {
    query.flag("watch")
}

async fn answer<B>(
    cluster: &Arc<Cluster>,
    registry: &Registry,
    head: &RequestHead,
    target: Target,
    body: B,
    response_faults: ResponseFaults,
) -> Result<Response<Body>>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let path = match target {
        Target::Object(path) => path,
        document => {
            timeout::check(&head.query)?;
            return static_document(cluster, registry, head, &document);
        }
    };
    let verb = path.verb(&head.method, wants_watch(&head.query))?;
    let is_long = verb == Verb::Watch || path.subresource.as_deref() == Some("log") || is_node_request(&path);
    if !is_long {
        timeout::check(&head.query)?;
    }
    path.check_name()?;
    let representation =
        Representation::negotiate(&head.headers, head.pretty(), |form| in_protobuf(&path, form))?;
    let view = View {
        resource: path.resource.clone(),
        representation,
        include: IncludeObject::from_query(Some(head.query.text("includeObject")))?,
        fault: response_faults.object,
    };
    if representation.form == ObjectForm::Table && view.printer().is_none() {
        return Err(Status::not_acceptable(OFFERED));
    }
    if is_node_request(&path) {
        verbs::check_connection(cluster, &path, &head.query, head.user.as_ref(), &head.warnings)?;
        verbs::connect(cluster, &path, &head.query, &*verbs::find(cluster, &path)?)?;
        return Ok(respond(
            StatusCode::NO_CONTENT,
            Body::full(Bytes::new()),
            representation,
        ));
    }
    match verb {
        Verb::Get => {
            let object = verbs::get(cluster, &path, &head.query).await?;
            if path.subresource.is_some() {
                return verbs::get_subresource(&path, &object, &view).map(|b| ok(b, representation));
            }
            Ok(ok(view.answer(&object)?, representation))
        }
        Verb::List => {
            let options = ListOptions::parse(&head.query, &path.resource, None, false)?;
            let page = verbs::list(cluster, &path, &options, &response_faults).await?;
            let response = respond(StatusCode::OK, page.body(&view)?, representation);
            Ok(compress::negotiated(response, head.header(ACCEPT_ENCODING)))
        }
        Verb::Watch => {
            let options = ListOptions::parse(&head.query, &path.resource, path.name.as_deref(), true)?;
            let stream = verbs::watch(cluster, &path, options, view, response_faults)?;
            let mut response = respond(StatusCode::OK, stream, representation);
            let media_type = HeaderValue::from_static(representation.encoding.watch_media_type());
            response.headers_mut().insert(CONTENT_TYPE, media_type);
            Ok(response)
        }
        Verb::Create | Verb::Update | Verb::Patch => {
            let bytes = read(body).await?;
            write(cluster, head, &path, verb, &bytes, &view)
        }
        Verb::Delete => {
            let bytes = read(body).await?;
            let options = delete_options(head, &bytes)?;
            let deleted = verbs::delete(cluster, &path, &options)?;
            Ok(ok(deletion(&path, &deleted, &view)?, representation))
        }
        Verb::DeleteCollection => {
            let bytes = read(body).await?;
            let options = delete_options(head, &bytes)?;
            let list = ListOptions::parse(&head.query, &path.resource, None, false)?;
            let page = verbs::delete_collection(cluster, &path, &list, &options).await?;
            Ok(respond(StatusCode::OK, page.body(&view)?, representation))
        }
    }
}

fn delete_options(head: &RequestHead, bytes: &Bytes) -> Result<DeleteOptions> {
    let options = DeleteOptions::parse(&head.query, &delete_body(head, bytes)?)?;
    Ok(options.of_request(head.user.clone(), head.warnings.clone()))
}

fn write(
    cluster: &Cluster,
    head: &RequestHead,
    path: &ObjectPath,
    verb: Verb,
    bytes: &Bytes,
    view: &View,
) -> Result<Response<Body>> {
    let agent = head.header(USER_AGENT);
    let content_type = head.content_type();
    let options_type = match verb {
        Verb::Create => "CreateOptions",
        Verb::Update => "UpdateOptions",
        _ => "PatchOptions",
    };
    let (user, warnings) = (head.user.clone(), head.warnings.clone());
    let options = WriteOptions::parse(&head.query, options_type, agent, user, warnings)?;
    let patch_kind = match verb {
        Verb::Patch => Some(PatchKind::parse(&content_type, path.resource.custom().is_some())?),
        _ => None,
    };
    let body = match patch_kind {
        Some(kind) => patch_body(kind, bytes).or_else(|unreadable| match kind {
            PatchKind::Apply => Err(unreadable),
            // A missing object is reported before an undecodable patch.
            _ => verbs::find(cluster, path).and(Err(unreadable)),
        })?,
        None => object_body(path, &content_type, bytes)?,
    };
    if let Some(answer) = verbs::special_write(
        cluster,
        path,
        verb,
        patch_kind,
        &body,
        &head.query,
        &options,
        view,
    )? {
        return Ok(respond(
            answer.status,
            Body::full(answer.body),
            view.representation,
        ));
    }
    let written = match (verb, patch_kind) {
        (Verb::Create, _) => verbs::create(cluster, path, body, &options)?,
        (_, Some(kind)) => verbs::patch(cluster, path, kind, &body, &head.query, &options)?,
        _ => verbs::update(cluster, path, body, &options)?,
    };
    written_answer(&written, view)
}

fn written_answer(written: &Written, view: &View) -> Result<Response<Body>> {
    let bytes = match &written.result {
        WriteResult::Stored(object) => view.answer(object)?,
        WriteResult::Unstored(value) => view.answer_value(value)?,
    };
    let status = if written.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut response = respond(status, Body::full(bytes), view.representation);
    for warning in &written.warnings {
        warn(&mut response, warning);
    }
    Ok(response)
}

/// Returns whether a form of a resource can be encoded in protobuf.
fn in_protobuf(path: &ObjectPath, form: ObjectForm) -> bool {
    let (api_version, kind) = expected_kind(path);
    match form {
        ObjectForm::Object => protobuf::is_known(&api_version, kind),
        ObjectForm::Metadata => true,
        ObjectForm::Table | ObjectForm::Discovery => false,
    }
}

fn deletion(path: &ObjectPath, deleted: &Deleted, view: &View) -> Result<Bytes> {
    match deleted {
        Deleted::Marked(object) => view.answer(object),
        Deleted::Gone(object) | Deleted::Untouched(object) => {
            if answers_with_object(&path.resource) {
                return view.answer(object);
            }
            let mut details =
                json!({ "name": object.key.name(), "kind": path.resource.plural, "uid": object.uid });
            if !path.resource.group.is_empty() {
                details["group"] = path.resource.group.as_str().into();
            }
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            });
            encode(&status, view.representation)
        }
    }
}
