//! Subresources, and requests that store no object of their resource, such as reviews.

use bytes::Bytes;
use http::StatusCode;
use jiff::Timestamp;
use kube_wire::selector::Selector;
use serde_json::{Value, json};

use super::delete::{DeleteOptions, delete};
use super::list::find;
use super::patch::{PatchKind, patched, unreadable};
use super::policies::{PolicyCheck, check_policies};
use super::review::review;
use super::token::request_token;
use super::view::View;
use super::write::{Body, Proposal, WriteOptions, WriteResult, change_object};
use crate::api::Resource;
use crate::cluster::Cluster;
use crate::convert;
use crate::patch::field_set::FieldSet;
use crate::patch::scale::{adopt_entries, show_entries};
use crate::patch::update::{Update, record_update};
use crate::request::{ObjectPath, Query, Verb};
use crate::scale;
use crate::schema::decode::decode;
use crate::schema::{Type, Types};
use crate::status::{Result, Status};
use crate::store::{Key, Stored};
use crate::timestamp::timestamp;

/// A response that is not an object of the resource.
#[derive(Debug)]
pub(crate) struct SpecialAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

/// Performs a write that is not a plain change of an object. Returns `None` for plain changes.
#[expect(clippy::too_many_arguments, reason = "all parts of a request")]
pub(crate) fn special_write(
    cluster: &Cluster,
    path: &ObjectPath,
    verb: Verb,
    patching: Option<PatchKind>,
    body: &Body,
    query: &Query,
    options: &WriteOptions,
    view: &View,
) -> Result<Option<SpecialAnswer>> {
    let name = path.name.as_deref().unwrap_or_default();
    let created = |value: &Value| {
        Ok(Some(SpecialAnswer {
            status: StatusCode::CREATED,
            body: view.answer_value(value)?,
        }))
    };
    match (path.resource.plural.as_str(), path.subresource.as_deref()) {
        (_, Some("scale")) => write_scale(cluster, path, patching, body, options, view).map(Some),
        ("namespaces", Some("finalize")) => finalize(cluster, path, body, options, view).map(Some),
        ("pods", Some("binding")) => created(&bind(cluster, path, name, body, options)?),
        ("bindings", None) => {
            let bound = body.object["metadata"]["name"].as_str().unwrap_or_default();
            created(&bind(cluster, path, bound, body, options)?)
        }
        ("pods", Some("eviction")) => {
            let deletion = DeleteOptions::parse(query, &body.object["deleteOptions"])?;
            let check = PolicyCheck::create(path, name, &body.object, options.dry_run);
            check_policies(cluster, options.origin.as_ref(), &check)?;
            spend_budget(cluster, path, options)?;
            delete(cluster, path, &deletion)?;
            created(&success())
        }
        ("serviceaccounts", Some("token")) => created(&request_token(cluster, path, body, options)?),
        (_, None) if verb == Verb::Create && !path.resource.allows("get") => {
            created(&review(cluster, path, body, options)?)
        }
        _ => Ok(None),
    }
}

fn write_scale(
    cluster: &Cluster,
    path: &ObjectPath,
    patching: Option<PatchKind>,
    body: &Body,
    options: &WriteOptions,
    view: &View,
) -> Result<SpecialAnswer> {
    let resource = &path.resource;
    let replicas = replicas_path(resource);
    let replicas: Vec<&str> = replicas.iter().map(String::as_str).collect();
    let result = change_object(cluster, path, options, |old| {
        let mut current = scale_for_update(resource, old)?;
        show_entries(old, &replicas, &mut current);
        let mut wanted = match patching {
            None => body.object.clone(),
            Some(kind) => patched(kind, scale_type(), &body.object, &current)?,
        };
        check_scale(&wanted).map_err(|status| match patching {
            None => status,
            Some(kind) => unreadable(status, kind, &body.object, || Ok(wanted.clone())),
        })?;
        let errors = scale::check(&wanted);
        if !errors.is_empty() {
            let name = path.name.as_deref().unwrap_or_default();
            return Err(Status::invalid("autoscaling", "Scale", name, &errors));
        }
        own_scale(&current, &mut wanted, options);
        let mut new = old.clone();
        apply_scale(resource, &mut new, &wanted)?;
        adopt_entries(&wanted, &resource.api_version(), &replicas, &mut new);
        Ok(Proposal::Applied(new))
    })?;
    let object = match result {
        WriteResult::Stored(object) => convert::from_stored(&object, resource),
        WriteResult::Unstored(object) => *object,
    };
    let body = view.scale_answer(&scale_of(resource, &object)?)?;
    Ok(SpecialAnswer {
        status: StatusCode::OK,
        body,
    })
}

/// Sets the finalizers in the spec of a namespace. Other requests cannot change them.
fn finalize(
    cluster: &Cluster,
    path: &ObjectPath,
    body: &Body,
    options: &WriteOptions,
    view: &View,
) -> Result<SpecialAnswer> {
    let result = change_object(cluster, path, options, |old| {
        let mut new = old.clone();
        match body.object["spec"]
            .get("finalizers")
            .filter(|f| f.as_array().is_some_and(|f| !f.is_empty()))
        {
            Some(finalizers) => new["spec"]["finalizers"] = finalizers.clone(),
            None => {
                if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
                    spec.remove("finalizers");
                }
            }
        }
        Ok(Proposal::Replace(new))
    })?;
    let body = match result {
        WriteResult::Stored(object) => view.answer(&object)?,
        WriteResult::Unstored(object) => view.answer_value(&object)?,
    };
    Ok(SpecialAnswer {
        status: StatusCode::OK,
        body,
    })
}

/// Binds a pod to a node, like the scheduler.
fn bind(
    cluster: &Cluster,
    path: &ObjectPath,
    pod: &str,
    body: &Body,
    options: &WriteOptions,
) -> Result<Value> {
    let node = body.object["target"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if node.is_empty() {
        let error = crate::status::FieldError::required("target.name", "");
        return Err(Status::invalid("", "Binding", pod, &[error]));
    }
    let check = PolicyCheck::create(path, pod, &body.object, options.dry_run);
    check_policies(cluster, options.origin.as_ref(), &check)?;
    let registry = cluster.registry();
    let resource = registry.find("", "v1", "pods").ok_or_else(Status::no_such_path)?;
    let pod_path = ObjectPath {
        resource: resource.clone(),
        name: Some(pod.to_owned()),
        subresource: Some("binding".into()),
        ..path.clone()
    };
    change_object(cluster, &pod_path, &options.of_server(), |old| {
        if let Some(known) = old["spec"]["nodeName"].as_str().filter(|n| !n.is_empty()) {
            let why = format!("pod {pod} is already assigned to node {known:?}");
            return Err(Status::conflict(
                crate::status::Subject {
                    group: "",
                    resource: "pods/binding",
                    name: pod,
                },
                &why,
            ));
        }
        let mut new = old.clone();
        new["spec"]["nodeName"] = node.as_str().into();
        if let Some(annotations) = body.object["metadata"]["annotations"].as_object() {
            for (name, value) in annotations {
                new["metadata"]["annotations"][name] = value.clone();
            }
        }
        let scheduled = json!({
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": null,
            "lastTransitionTime": timestamp(Timestamp::now()),
        });
        match new["status"].get_mut("conditions").and_then(Value::as_array_mut) {
            Some(conditions) => {
                conditions.retain(|c| c["type"] != "PodScheduled");
                conditions.push(scheduled);
            }
            None => new["status"]["conditions"] = json!([scheduled]),
        }
        Ok(Proposal::Replace(new))
    })?;
    Ok(success())
}

/// Counts an eviction against the disruption budget of the pod, if it has one and is running.
fn spend_budget(cluster: &Cluster, path: &ObjectPath, options: &WriteOptions) -> Result<()> {
    let object = find(cluster, path)?;
    let pod = object.value();
    if object.deleting || !matches!(pod["status"]["phase"].as_str(), Some("Running" | "Unknown")) {
        return Ok(());
    }
    let registry = cluster.registry();
    let budgets = registry
        .find("policy", "v1", "poddisruptionbudgets")
        .ok_or_else(Status::no_such_path)?;
    let all = cluster
        .store
        .list(&budgets.collection, Key::range(path.namespace.as_deref()))
        .objects;
    let covers = |budget: &Value| {
        let selector: Result<Selector, _> = scale::selector_text(&budget["spec"]["selector"]).parse();
        selector.is_ok_and(|s| !s.is_everything() && s.matches(&*object.labels))
    };
    let Some(budget) = all.iter().find(|budget| covers(&budget.value())) else {
        return Ok(());
    };
    let budget = ObjectPath {
        resource: budgets.clone(),
        name: Some(budget.key.name().to_owned()),
        subresource: Some("status".into()),
        ..path.clone()
    };
    change_object(cluster, &budget, &options.of_server(), |old| {
        let allowed = old["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
        if allowed <= 0 {
            return Err(over_budget(old));
        }
        let mut new = old.clone();
        new["status"]["disruptionsAllowed"] = (allowed - 1).into();
        new["status"]["disruptedPods"][object.key.name()] = timestamp(Timestamp::now()).into();
        Ok(Proposal::Replace(new))
    })?;
    Ok(())
}

/// Returns an object or a subresource of it.
pub(crate) fn get_subresource(path: &ObjectPath, object: &Stored, view: &View) -> Result<Bytes> {
    match path.subresource.as_deref() {
        Some("scale") => view.scale_answer(&scale_of(&path.resource, &view.versioned(object))?),
        _ => view.answer(object),
    }
}

/// Returns the error of an eviction that the disruption budget does not allow.
fn over_budget(budget: &Value) -> Status {
    let number = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    let cause = format!(
        "The disruption budget {} needs {} healthy pods and has {} currently",
        budget["metadata"]["name"].as_str().unwrap_or_default(),
        number("desiredHealthy"),
        number("currentHealthy")
    );
    Status::new(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    )
    .cause("DisruptionBudget", &cause, "")
}

fn success() -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 })
}

fn scale_of(resource: &Resource, object: &Value) -> Result<Value> {
    let mut scale = match resource.custom() {
        Some(custom) => custom.to_scale(&resource.version, object)?,
        None => scale::of_builtin(object),
    };
    let replicas = replicas_path(resource);
    let replicas: Vec<&str> = replicas.iter().map(String::as_str).collect();
    show_entries(object, &replicas, &mut scale);
    Ok(scale)
}

/// Returns the path of the replicas of a kind.
fn replicas_path(resource: &Resource) -> Vec<String> {
    let custom = resource
        .custom()
        .and_then(|custom| custom.version(&resource.version)?.scale.as_ref());
    let path = custom.map_or(".spec.replicas", |paths| &paths.spec_replicas);
    path.split('.')
        .filter(|step| !step.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Checks that the body of a request can be decoded as a scale.
fn check_scale(sent: &Value) -> Result<()> {
    let Some((types, ty)) = scale_type() else {
        return Ok(());
    };
    decode(types, &ty, "Scale", "autoscaling/v1", sent.clone()).map(drop)
}

/// Records the owner of the replicas of a written scale.
fn own_scale(current: &Value, wanted: &mut Value, options: &WriteOptions) {
    let Some((types, ty)) = scale_type() else {
        return;
    };
    if wanted["metadata"].get("managedFields").is_none() {
        wanted["metadata"]["managedFields"] = current["metadata"]["managedFields"].clone();
    }
    let update = Update {
        types,
        ty: &ty,
        api_version: "autoscaling/v1",
        old: Some(current),
        manager: &options.manager,
        subresource: "scale",
        reset: &FieldSet::default(),
        now: Timestamp::now(),
    };
    record_update(update, wanted);
}

/// Returns the scale of an object, which may have no replicas yet.
pub(super) fn scale_for_update(resource: &Resource, object: &Value) -> Result<Value> {
    match resource.custom() {
        Some(custom) => custom.to_scale_for_update(&resource.version, object),
        None => Ok(scale::of_builtin(object)),
    }
}

fn apply_scale(resource: &Resource, object: &mut Value, wanted: &Value) -> Result<()> {
    if let Some(custom) = resource.custom() {
        return custom.apply_scale(&resource.version, object, wanted);
    }
    scale::apply_builtin(object, wanted);
    Ok(())
}

fn scale_type() -> Option<(&'static Types, Type)> {
    let types = Types::builtin();
    let id = types.find("io.k8s.api.autoscaling.v1.Scale")?;
    Some((types, Type::Ref(id)))
}
