//! Deleting: at once, after a grace period, or when finalizers are through.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::list::{self, Page};
use super::options::ListOptions;
use super::policies::{Origin, PolicyCheck, Warnings, check_policies, has_policies};
use super::write::commit;
use crate::admission::Operation;
use crate::api::Resource;
use crate::auth::User;
use crate::cluster::Cluster;
use crate::convert;
use crate::crd;
use crate::faults::ResponseFaults;
use crate::request::{ObjectPath, Query, check_dry_run};
use crate::status::{FieldError, Result, Status};
use crate::store::{EventKind, Key, StaleRevision, Stored};
use crate::timestamp::timestamp;

/// How to delete.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
    /// The options as they were sent.
    pub(crate) sent: Value,
    /// The request, if a client sent it.
    pub(crate) origin: Option<Origin>,
    /// The request names no object, but deletes those of a collection.
    pub(crate) of_collection: bool,
}

/// What becomes of the dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// What a deletion ended in.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// It is gone; this was its last state.
    Gone(Arc<Stored>),
    /// It is marked and waits for finalizers, its grace period or, a namespace, its content.
    Marked(Arc<Stored>),
    /// It was a dry run.
    Untouched(Arc<Stored>),
}

/// Namespaces that every cluster has.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Finalizer of an object whose dependents go first.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an object whose dependents are to be set free first.
pub(crate) const ORPHAN: &str = "orphan";

impl DeleteOptions {
    /// Reads options from the body of a request, else from its query.
    pub(crate) fn parse(query: &Query, body: &Value) -> Result<DeleteOptions> {
        let from_query = || {
            let mut options = json!({});
            for name in ["propagationPolicy"] {
                if query.has(name) {
                    options[name] = query.text(name).into();
                }
            }
            if let Some(orphan) = query.optional_flag("orphanDependents") {
                options["orphanDependents"] = orphan.into();
            }
            let dry_run: Vec<&str> = query.all("dryRun").collect();
            options["dryRun"] = dry_run.into();
            if let Some(seconds) = query.integer("gracePeriodSeconds")? {
                options["gracePeriodSeconds"] = seconds.into();
            }
            Ok::<Value, Status>(options)
        };
        let given = if body.as_object().is_none_or(serde_json::Map::is_empty) {
            from_query()?
        } else {
            body.clone()
        };
        let dry_run: Vec<&str> = given["dryRun"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|v| !v.is_empty())
            .collect();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(DeleteOptions {
            grace_period: given["gracePeriodSeconds"].as_i64(),
            propagation: propagation(&given)?,
            uid: text(&given["preconditions"]["uid"]),
            resource_version: text(&given["preconditions"]["resourceVersion"]),
            dry_run: check_dry_run("DeleteOptions", &dry_run)?,
            sent: given,
            origin: None,
            of_collection: false,
        })
    }

    /// Names the request, so that policies apply.
    pub(crate) fn of_request(mut self, user: Option<Arc<User>>, warnings: Warnings) -> DeleteOptions {
        let mut options = std::mem::take(&mut self.sent);
        if let Some(fields) = options.as_object_mut() {
            fields
                .retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
        }
        self.origin = Some(Origin {
            user,
            options,
            warnings,
        });
        self
    }
}

fn propagation(options: &Value) -> Result<Option<Propagation>> {
    let policy = options["propagationPolicy"].as_str();
    let invalid = |error| Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
    match (policy, options["orphanDependents"].as_bool()) {
        (Some(_), Some(_)) => invalid(FieldError::invalid(
            "propagationPolicy",
            policy,
            "orphanDependents and deletionPropagation cannot be both set",
        )),
        (None, Some(true)) | (Some("Orphan"), None) => Ok(Some(Propagation::Orphan)),
        (None, Some(false)) | (Some("Background"), None) => Ok(Some(Propagation::Background)),
        (Some("Foreground"), None) => Ok(Some(Propagation::Foreground)),
        (None, None) => Ok(None),
        (Some(other), None) => invalid(FieldError::not_supported(
            "propagationPolicy",
            other,
            &["Foreground", "Background", "Orphan", "nil"],
        )),
    }
}

/// Deletes the object that a path names.
pub(crate) fn delete(cluster: &Cluster, path: &ObjectPath, options: &DeleteOptions) -> Result<Deleted> {
    let name = path.name.as_deref().unwrap_or_default();
    if path.resource.is("", "Namespace") && IMMORTAL.contains(&name) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(path.resource.subject(name), why));
    }
    let key = Key::new(path.namespace.as_deref(), name);
    delete_object(cluster, &path.resource, &key, options)
}

/// Deletes the objects that a list with these options finds.
pub(crate) async fn delete_collection(
    cluster: &Cluster,
    path: &ObjectPath,
    list: &ListOptions,
    options: &DeleteOptions,
) -> Result<Page> {
    // Objects of all namespaces cannot be deleted with one request.
    if path.resource.namespaced && path.namespace.is_none() {
        return Err(match path.resource.custom() {
            Some(_) => Status::no_such_path(),
            None => Status::method_not_allowed(),
        });
    }
    let page = list::list(cluster, path, list, &ResponseFaults::default()).await?;
    let options = DeleteOptions {
        of_collection: true,
        ..options.clone()
    };
    for object in &page.objects {
        match delete_object(cluster, &path.resource, &object.key, &options) {
            Ok(_) => {}
            // Someone else was faster.
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    Ok(page)
}

/// Deletes an object, or marks it where something holds it back.
pub(crate) fn delete_object(
    cluster: &Cluster,
    resource: &Arc<Resource>,
    key: &Key,
    options: &DeleteOptions,
) -> Result<Deleted> {
    loop {
        let current = cluster
            .store
            .get(&resource.collection, key)
            .ok_or_else(|| Status::not_found(resource.subject(key.name())))?;
        check_preconditions(resource, &current, options)?;
        check_deletion(cluster, resource, &current, options)?;
        if options.dry_run {
            return Ok(Deleted::Untouched(current));
        }
        // Someone else was faster: look again.
        if let Ok(deleted) = try_delete(cluster, resource, &current, options) {
            return Ok(deleted);
        }
    }
}

/// Applies the policies to a deletion.
fn check_deletion(
    cluster: &Cluster,
    resource: &Arc<Resource>,
    current: &Stored,
    options: &DeleteOptions,
) -> Result<()> {
    if options.origin.is_none() || !has_policies(cluster) {
        return Ok(());
    }
    let old = convert::from_stored(current, resource);
    let check = PolicyCheck {
        operation: Operation::Delete,
        resource,
        subresource: None,
        namespace: current.key.namespace(),
        name: if options.of_collection {
            ""
        } else {
            current.key.name()
        },
        object: None,
        old: Some(&old),
        dry_run: options.dry_run,
    };
    check_policies(cluster, options.origin.as_ref(), &check)
}

fn try_delete(
    cluster: &Cluster,
    resource: &Arc<Resource>,
    current: &Arc<Stored>,
    options: &DeleteOptions,
) -> Result<Deleted, StaleRevision> {
    // Deletion works on the stored form: it touches only metadata, which is the same in every version.
    let registry = cluster.registry();
    let resource = registry.of_collection(&resource.collection).unwrap_or(resource);
    let old = current.value();
    let mut new = old.clone();
    let mut finalizers = finalizers(resource, &old, options.propagation);
    let is_definition = resource.is("apiextensions.k8s.io", "CustomResourceDefinition");
    if is_definition && !current.deleting {
        // Its objects go first.
        finalizers.push(crd::CLEANUP.into());
        crd::terminate(&mut new, &timestamp(Timestamp::now()));
    }
    let is_namespace = resource.is("", "Namespace");
    let held_by_spec = is_namespace
        && new["spec"]["finalizers"]
            .as_array()
            .is_some_and(|f| !f.is_empty());
    let grace = grace_period(resource, &old, options.grace_period);
    let metadata = &mut new["metadata"];
    if finalizers.is_empty() {
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("finalizers");
        }
    } else {
        metadata["finalizers"] = finalizers.clone().into();
    }
    let (key, mut expected) = (current.key.clone(), Some(current.revision));
    if finalizers.is_empty() && !held_by_spec && grace == 0 {
        // A pod is always told first that it is to end, and when; also when that is now.
        if resource.is("", "Pod") && metadata["deletionGracePeriodSeconds"] != 0 {
            mark(metadata, Timestamp::now(), 0);
            let marked = commit(
                cluster,
                resource,
                key.clone(),
                expected,
                EventKind::Modified,
                new.clone(),
            )?;
            expected = Some(marked.revision);
        }
        let gone = commit(cluster, resource, key, expected, EventKind::Deleted, new)?;
        return Ok(Deleted::Gone(gone));
    }
    let already = metadata.get("deletionTimestamp").is_some();
    let shorter = metadata["deletionGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|g| grace < g);
    if !already || shorter {
        mark(metadata, Timestamp::now(), grace);
    }
    if is_namespace && let Some(fields) = metadata.as_object_mut() {
        fields.remove("deletionGracePeriodSeconds");
    }
    if is_namespace {
        new["status"]["phase"] = "Terminating".into();
    }
    if new == old {
        return Ok(Deleted::Marked(current.clone()));
    }
    let marked = commit(cluster, resource, key, expected, EventKind::Modified, new)?;
    Ok(Deleted::Marked(marked))
}

/// Marks an object as to be deleted after a grace period.
fn mark(metadata: &mut Value, now: Timestamp, grace: i64) {
    let already = metadata.get("deletionTimestamp").is_some();
    metadata["deletionTimestamp"] = timestamp(now + SignedDuration::from_secs(grace)).into();
    metadata["deletionGracePeriodSeconds"] = grace.into();
    if let (false, Some(generation)) = (already, metadata["generation"].as_i64()) {
        metadata["generation"] = (generation + 1).into();
    }
}

fn check_preconditions(resource: &Resource, current: &Stored, options: &DeleteOptions) -> Result<()> {
    // Here the real server names the kind where it names the resource elsewhere.
    let subject = crate::status::Subject {
        group: &resource.group,
        resource: &resource.kind,
        name: current.key.name(),
    };
    if let Some(uid) = &options.uid
        && **uid != *current.uid
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            current.uid
        );
        return Err(Status::conflict(subject, &why));
    }
    if let Some(version) = &options.resource_version
        && *version != current.revision.to_string()
    {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The \
             object might have been modified",
            current.revision
        );
        return Err(Status::conflict(subject, &why));
    }
    Ok(())
}

/// The finalizers after a deletion with this propagation: those of the garbage collector come and go with it.
fn finalizers(resource: &Resource, object: &Value, wanted: Option<Propagation>) -> Vec<String> {
    let present: Vec<String> = object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|f| f.as_str().map(str::to_owned))
        .collect();
    let has = |name: &str| present.iter().any(|f| f == name);
    let propagation = wanted.unwrap_or_else(|| {
        if has(ORPHAN) {
            Propagation::Orphan
        } else if has(FOREGROUND) {
            Propagation::Foreground
        } else if matches!(
            (resource.group.as_str(), resource.kind.as_str()),
            ("batch", "Job") | ("", "ReplicationController")
        ) {
            Propagation::Orphan
        } else {
            Propagation::Background
        }
    });
    let mut finalizers: Vec<String> = present
        .iter()
        .filter(|f| *f != ORPHAN && *f != FOREGROUND)
        .cloned()
        .collect();
    match propagation {
        Propagation::Orphan => finalizers.push(ORPHAN.into()),
        Propagation::Foreground => finalizers.push(FOREGROUND.into()),
        Propagation::Background => {}
    }
    finalizers
}

/// Seconds until a pod that runs somewhere is gone; everything else goes at once.
fn grace_period(resource: &Resource, object: &Value, wanted: Option<i64>) -> i64 {
    let runs = resource.is("", "Pod")
        && object["spec"]["nodeName"].as_str().is_some_and(|n| !n.is_empty())
        && !matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !runs {
        return 0;
    }
    wanted
        .or_else(|| object["spec"]["terminationGracePeriodSeconds"].as_i64())
        .unwrap_or(30)
        .max(0)
}

/// Kinds whose deletion answers with the object instead of a success status.
pub(crate) fn answers_with_object(resource: &Resource) -> bool {
    match resource.group.as_str() {
        "" => matches!(
            resource.plural.as_str(),
            "namespaces"
                | "persistentvolumes"
                | "persistentvolumeclaims"
                | "pods"
                | "podtemplates"
                | "resourcequotas"
                | "services"
                | "serviceaccounts"
        ),
        "resource.k8s.io" => true,
        "storage.k8s.io" => resource.plural != "csistoragecapacities",
        _ => false,
    }
}
