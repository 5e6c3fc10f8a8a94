//! Responses that do not depend on stored objects: version, health, discovery, OpenAPI.

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

use super::head::RequestHead;
use super::health;
use super::respond::{ok, plain, respond};
use crate::api::{Registry, discovery, documents};
use crate::cluster::Cluster;
use crate::request::{ObjectForm, Representation, Target};
use crate::response::{Body, encode_json};
use crate::status::{Result, Status};

/// Contained in both media types with which clients request OpenAPI v2 in protobuf.
const OPENAPI_PROTOBUF: &str = "com.github.proto-openapi.spec.v2";

/// Responds to a request that is not about objects.
pub(super) fn static_document(
    cluster: &Cluster,
    registry: &Registry,
    head: &RequestHead,
    target: &Target,
) -> Result<Response<Body>> {
    // The other documents ignore the method.
    let checks_method = matches!(
        target,
        Target::CoreVersions | Target::GroupVersion { .. } | Target::Version
    );
    if checks_method && head.method != Method::GET {
        return Err(Status::method_not_allowed());
    }
    let json = |value: &Value, pretty| Ok(ok(encode_json(value, pretty), Representation::JSON));
    let document = |value: &Value| json(value, head.pretty());
    match target {
        Target::Health => Ok(plain(StatusCode::OK, health::text(&head.path, &head.query))),
        Target::Version => json(&version(), true),
        Target::Root => json(&paths(registry), true),
        Target::CoreVersions | Target::Groups => {
            let core = matches!(target, Target::CoreVersions);
            let representation = Representation::negotiate(&head.headers, head.pretty(), |_| false)?;
            if representation.form == ObjectForm::Discovery {
                return Ok(aggregated(registry, head, core));
            }
            let value = if core {
                discovery::api_versions(&cluster.settings.advertised)
            } else {
                discovery::group_list(registry)
            };
            document(&value)
        }
        Target::Group(name) => {
            let group = registry.group(name).ok_or_else(Status::no_such_path)?;
            document(&discovery::group(group))
        }
        Target::GroupVersion { group, version } => {
            document(&discovery::resource_list(registry, group, version))
        }
        Target::OpenApiV2 if head.header(ACCEPT).contains(OPENAPI_PROTOBUF) => {
            let mut response = ok(documents::v2_protobuf(registry), Representation::JSON);
            let media_type =
                HeaderValue::from_static("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
            response.headers_mut().insert(CONTENT_TYPE, media_type);
            Ok(response)
        }
        Target::OpenApiV2 => {
            Representation::negotiate(&head.headers, false, |_| false)?;
            Ok(ok(documents::v2(registry), Representation::JSON))
        }
        Target::OpenApiV3Index => document(&documents::v3_index(registry)),
        Target::OpenApiV3 { group, version } => match documents::v3(registry, group, version) {
            Some(bytes) => Ok(ok(bytes, Representation::JSON)),
            None => Ok(plain(StatusCode::NOT_FOUND, "404 page not found\n")),
        },
        Target::Object(_) => Err(Status::no_such_path()),
    }
}

fn aggregated(registry: &Registry, head: &RequestHead, core: bool) -> Response<Body> {
    let bytes = encode_json(&discovery::aggregated(registry, core), false);
    let tag = format!("\"{:016X}\"", crate::hash::fnv1a(&bytes));
    let unchanged = head.header(IF_NONE_MATCH) == tag;
    let mut response = if unchanged {
        respond(
            StatusCode::NOT_MODIFIED,
            Body::full(Bytes::new()),
            Representation::JSON,
        )
    } else {
        ok(bytes, Representation::JSON)
    };
    let headers = response.headers_mut();
    let content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": crate::api::KUBERNETES_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

fn paths(registry: &Registry) -> Value {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned()];
    for group in registry.groups() {
        let prefix = if group.name.is_empty() {
            "/api".to_owned()
        } else {
            format!("/apis/{}", group.name)
        };
        paths.extend(group.versions.iter().map(|v| format!("{prefix}/{}", v.name)));
        if !group.name.is_empty() {
            paths.push(prefix);
        }
    }
    for fixed in [
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ] {
        paths.push(fixed.to_owned());
    }
    paths.sort();
    json!({ "paths": paths })
}
