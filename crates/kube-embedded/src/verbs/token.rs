//! Tokens of service accounts: the subresource `token`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::list::find;
use super::policies::{PolicyCheck, check_policies};
use super::write::{Body, WriteOptions};
use crate::auth::{BoundObject, ISSUER, TokenSpec};
use crate::cluster::Cluster;
use crate::request::ObjectPath;
use crate::status::{FieldError, Result, Status, Subject};
use crate::store::Key;
use crate::timestamp::timestamp;

/// Default lifetime of a token in seconds.
const LIFETIME: i64 = 3600;

/// Handles a TokenRequest.
///
/// # Errors
/// If the service account or the object to which the token is bound does not exist, the request is invalid, or a policy
/// denies it.
pub(super) fn request_token(
    cluster: &Cluster,
    path: &ObjectPath,
    body: &Body,
    options: &WriteOptions,
) -> Result<Value> {
    let account = find(cluster, path)?;
    let spec = &body.object["spec"];
    let given = body.object["metadata"]["name"].as_str().unwrap_or_default();
    let name = account.key.name();
    if !given.is_empty() && given != name {
        let detail = "must match the service account name if specified";
        return Err(invalid(name, FieldError::invalid("metadata.name", given, detail)));
    }
    let seconds = lifetime(given, spec)?;
    let check = PolicyCheck::create(path, name, &body.object, options.dry_run);
    check_policies(cluster, options.origin.as_ref(), &check)?;
    let namespace = account.key.namespace().unwrap_or_default();
    let bound = match &spec["boundObjectRef"] {
        Value::Object(_) => Some(bound_object(cluster, namespace, &spec["boundObjectRef"])?),
        _ => None,
    };
    let audiences = spec["audiences"].as_array().into_iter().flatten();
    let mut audiences: Vec<String> = audiences.filter_map(|a| a.as_str().map(str::to_owned)).collect();
    if audiences.is_empty() {
        audiences.push(ISSUER.into());
    }
    let (token, expires) = cluster.access.account_token(&TokenSpec {
        namespace,
        account: name,
        account_uid: &account.uid,
        bound: bound
            .as_ref()
            .map(|(kind, name, uid)| BoundObject { kind, name, uid }),
        audiences: audiences.clone(),
        seconds,
        id: cluster.uid(),
    });
    let expires = Timestamp::from_second(expires).unwrap_or(Timestamp::MAX);
    Ok(json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": account.uid,
            "creationTimestamp": timestamp(Timestamp::now()),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec["boundObjectRef"],
        },
        "status": { "token": token, "expirationTimestamp": timestamp(expires) },
    }))
}

/// Returns kind, name and uid of the object to which a token is bound.
fn bound_object(cluster: &Cluster, namespace: &str, reference: &Value) -> Result<(String, String, String)> {
    let field = |name: &str| reference[name].as_str().unwrap_or_default();
    let (kind, name) = (field("kind"), field("name"));
    let (resource, namespace) = match (field("apiVersion"), kind) {
        ("v1", "Pod") => ("pods", Some(namespace)),
        ("v1", "Secret") => ("secrets", Some(namespace)),
        ("v1", "Node") => ("nodes", None),
        (version, _) => {
            let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(why));
        }
    };
    let subject = |resource| Subject {
        group: "",
        resource,
        name,
    };
    let key = Key::new(namespace, name);
    let Some(found) = cluster.store.get(&format!("/{resource}"), &key) else {
        return Err(Status::not_found(subject(resource)));
    };
    let uid = field("uid");
    if !uid.is_empty() && uid != &*found.uid {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been \
             deleted and then recreated"
        );
        return Err(Status::conflict(subject(kind), &why));
    }
    Ok((kind.to_owned(), name.to_owned(), found.uid.to_string()))
}

/// Returns the requested lifetime of a token in seconds.
fn lifetime(name: &str, spec: &Value) -> Result<i64> {
    let field = "spec.expirationSeconds";
    match spec["expirationSeconds"].as_i64() {
        None => Ok(LIFETIME),
        Some(short) if short < 600 => {
            let detail = "may not specify a duration less than 10 minutes";
            Err(invalid(name, FieldError::invalid(field, short, detail)))
        }
        Some(long) if long > 1 << 32 => {
            let detail = "may not specify a duration larger than 2^32 seconds";
            Err(invalid(name, FieldError::invalid(field, long, detail)))
        }
        Some(seconds) => Ok(seconds),
    }
}

fn invalid(name: &str, error: FieldError) -> Status {
    Status::invalid("authentication.k8s.io", "TokenRequest", name, &[error])
}
