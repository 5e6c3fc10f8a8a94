//! Reviews of users and permissions: the kinds whose names end in `Review`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::write::{Body, WriteOptions};
use crate::auth::{Action, ActionTarget, Decision, ISSUER, OPEN, User, authorize};
use crate::cluster::Cluster;
use crate::request::ObjectPath;
use crate::status::{FieldError, Result, Status};
use crate::timestamp::timestamp;

/// Handles a review.
///
/// # Errors
/// If the kind is not a review, or the request is invalid.
pub(super) fn review(
    cluster: &Cluster,
    path: &ObjectPath,
    body: &Body,
    options: &WriteOptions,
) -> Result<Value> {
    let resource = &path.resource;
    let user = options.user();
    let mut answer = body.object.clone();
    answer["kind"] = resource.kind.as_str().into();
    answer["apiVersion"] = resource.api_version().into();
    if !answer["metadata"].is_object() {
        answer["metadata"] = json!({});
    }
    answer["status"] = match resource.kind.as_str() {
        "SelfSubjectAccessReview" => access_review(cluster, &answer, user)?,
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            let local = path.namespace.as_deref();
            if let Some(namespace) = local {
                answer["metadata"]["namespace"] = namespace.into();
            }
            check_subject(&answer["spec"], local)?;
            access_review(
                cluster,
                &answer,
                user.map(|_| User::of_review(&answer["spec"])).as_ref(),
            )?
        }
        "SelfSubjectReview" => {
            answer["metadata"]["creationTimestamp"] = timestamp(Timestamp::now()).into();
            json!({ "userInfo": user.unwrap_or_else(|| cluster.access.admin()).to_json() })
        }
        "TokenReview" => token_review(cluster, &answer["spec"], user.is_some())?,
        "SelfSubjectRulesReview" => {
            let status = rules_review(cluster, &answer["spec"], user)?;
            // The real server's response does not repeat the namespace.
            answer["spec"] = json!({});
            status
        }
        _ => return Err(Status::method_not_allowed()),
    };
    Ok(answer)
}

/// Decides whether the user may perform the action in the spec. Without a user, requests are not authorized.
fn access_review(cluster: &Cluster, review: &Value, user: Option<&User>) -> Result<Value> {
    let action = action(&review["spec"])?;
    let Some(user) = user else {
        return Ok(json!({ "allowed": true, "reason": OPEN }));
    };
    let policy = cluster.access.policy(&cluster.store);
    let decision = authorize(&policy, user, &action);
    let mut status = json!({ "allowed": matches!(decision, Decision::Allowed(_)) });
    let reason = decision.reason();
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    Ok(status)
}

fn rules_review(cluster: &Cluster, spec: &Value, user: Option<&User>) -> Result<Value> {
    let namespace = spec["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let Some(user) = user else {
        return Ok(json!({
            "incomplete": false,
            "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
        }));
    };
    let policy = cluster.access.policy(&cluster.store);
    let (rules, missing_roles) = policy.rules(user, namespace);
    let (paths, resources): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| rule.is_about_paths());
    let mut status = json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false });
    let missing_roles = missing_roles.joined();
    if !missing_roles.is_empty() {
        status["evaluationError"] = missing_roles.into();
    }
    Ok(status)
}

/// Returns the user of a token. Without authorization, every token that the server did not issue is the admin's.
fn token_review(cluster: &Cluster, spec: &Value, enforced: bool) -> Result<Value> {
    let token = spec["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let audiences: Vec<&str> = spec["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let audiences = if audiences.is_empty() {
        vec![ISSUER]
    } else {
        audiences
    };
    Ok(
        match cluster.access.token_user(&cluster.store, token, &audiences) {
            Ok(found) => json!({
                "authenticated": true, "user": found.user.to_json(), "audiences": found.audiences,
            }),
            Err(why) if enforced || cluster.access.is_own_token(token) => json!({ "user": {}, "error": why }),
            Err(_) => json!({ "authenticated": true, "user": cluster.access.admin().to_json() }),
        },
    )
}

/// Returns the action of a review.
fn action(spec: &Value) -> Result<Action> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let field = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    match (resource.is_object(), path.is_object()) {
        (true, false) => Ok(Action {
            verb: field(resource, "verb"),
            target: ActionTarget::Resource {
                group: field(resource, "group"),
                resource: field(resource, "resource"),
                subresource: field(resource, "subresource"),
                namespace: field(resource, "namespace"),
                name: field(resource, "name"),
            },
        }),
        (false, true) => Ok(Action {
            verb: field(path, "verb"),
            target: ActionTarget::Path(field(path, "path")),
        }),
        (true, true) => Err(invalid_path(
            path,
            "cannot be specified in combination with resourceAttributes",
        )),
        (false, false) => Err(invalid(FieldError::invalid(
            "spec.resourceAttributes",
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ))),
    }
}

/// Checks the subject of a review, and the namespace of a local one.
fn check_subject(spec: &Value, local: Option<&str>) -> Result<()> {
    let lacks_user = spec["user"].as_str().is_none_or(str::is_empty)
        && spec["groups"].as_array().is_none_or(Vec::is_empty);
    if lacks_user {
        let detail = "at least one of user or group must be specified";
        return Err(invalid(FieldError::invalid("spec.user", "", detail)));
    }
    let Some(namespace) = local else { return Ok(()) };
    if spec["nonResourceAttributes"].is_object() {
        return Err(invalid_path(
            &spec["nonResourceAttributes"],
            "disallowed on this kind of request",
        ));
    }
    let given = &spec["resourceAttributes"]["namespace"];
    if spec["resourceAttributes"].is_object() && *given != namespace {
        let field = "spec.resourceAttributes.namespace";
        let given = given.as_str().unwrap_or_default();
        return Err(invalid(FieldError::invalid(
            field,
            given,
            "must match metadata.namespace",
        )));
    }
    Ok(())
}

/// Returns the error of an invalid path. The real server prints the names of Go fields.
fn invalid_path(path: &Value, detail: &str) -> Status {
    let shown = format!(
        "{{\"Path\":{},\"Verb\":{}}}",
        text(&path["path"]),
        text(&path["verb"])
    );
    invalid(FieldError::invalid("spec.nonResourceAttributes", path.clone(), detail).showing(shown))
}

fn text(value: &Value) -> Value {
    value.as_str().unwrap_or_default().into()
}

/// Returns the error of an invalid review. The real server does not name the kind here.
fn invalid(error: FieldError) -> Status {
    Status::invalid("authorization.k8s.io", "", "", &[error])
}
