//! Making and changing objects: from the body of a request to a write in the store.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::list::find;
use super::policies::{Origin, PolicyCheck, Warnings, check_change, check_policies, sent_options};
use crate::admission::Operation;
use crate::api::Resource;
use crate::auth::{RBAC_GROUP, RoleWrite, User, aggregated_rules, check_escalation};
use crate::cluster::Cluster;
use crate::convert;
use crate::crd;
use crate::follow_up::follow_up;
use crate::golang::parse_unsigned;
use crate::patch::field_set::FieldSet;
use crate::patch::reset;
use crate::patch::update::{Update, keep_times, record_update};
use crate::request::{FieldValidation, ObjectPath, Query};
use crate::schema::decode::strict_failure;
use crate::services;
use crate::status::{FieldError, Result, Status, Subject};
use crate::store::{EventKind, Key, StaleRevision, Stored, Write};
use crate::timestamp::timestamp;

/// How a write is to be done.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// Who is recorded as the owner of what changes.
    pub(crate) manager: String,
    /// The request, if a client sent it.
    pub(crate) origin: Option<Origin>,
}

impl WriteOptions {
    /// Reads the query of a write; `options` is the option type named in errors.
    pub(crate) fn parse(
        query: &Query,
        options: &str,
        user_agent: &str,
        user: Option<Arc<User>>,
        warnings: Warnings,
    ) -> Result<WriteOptions> {
        let dry_run = query.dry_run(options)?;
        let validation = FieldValidation::parse(query, options)?;
        let manager = match query.text("fieldManager") {
            "" => user_agent
                .split('/')
                .next()
                .unwrap_or_default()
                .chars()
                .take(128)
                .collect(),
            given => given.to_owned(),
        };
        Ok(WriteOptions {
            dry_run,
            validation,
            manager,
            origin: Some(Origin {
                user,
                options: sent_options(query),
                warnings,
            }),
        })
    }

    /// Returns the user, if the request was authorized.
    pub(super) fn user(&self) -> Option<&User> {
        self.origin.as_ref()?.user.as_deref()
    }

    /// Returns the options of a write that follows from the request. No policy applies to it.
    pub(super) fn of_server(&self) -> WriteOptions {
        WriteOptions {
            origin: None,
            ..self.clone()
        }
    }
}

/// What a write ended in.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) result: WriteResult,
    /// For the client's eyes: `Warning` headers.
    pub(crate) warnings: Vec<String>,
    pub(crate) created: bool,
}

/// The object after a write.
#[derive(Debug)]
pub(crate) enum WriteResult {
    Stored(Arc<Stored>),
    /// Not in the store, because it was a dry run or the object is gone; in the version that was asked for.
    Unstored(Box<Value>),
}

/// Maximum number of attempts of a change if others change the object concurrently.
const TRIES: usize = 100;

/// Creates an object from the body of a request.
pub(crate) fn create(
    cluster: &Cluster,
    path: &ObjectPath,
    body: Body,
    options: &WriteOptions,
) -> Result<Written> {
    let resource = &path.resource;
    let (mut object, mut warnings) = admit_body(cluster, resource, body, options.validation)?;
    place(resource, path.namespace.as_deref(), &mut object)?;
    if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        let formats = crd::unrecognized_formats(&object);
        warnings.extend(
            formats
                .iter()
                .map(|format| format!("unrecognized format {format:?}")),
        );
    }
    if !text(&object["metadata"]["resourceVersion"]).is_empty() {
        return Err(Status::new(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    check_namespace(
        cluster,
        resource,
        path.namespace.as_deref(),
        text(&object["metadata"]["name"]),
    )?;
    let result = create_object(cluster, resource, object, options, false)?;
    Ok(Written {
        result,
        warnings,
        created: true,
    })
}

/// Creates an object that has been read and placed; `applied` is whether apply has recorded its owners already.
pub(crate) fn create_object(
    cluster: &Cluster,
    resource: &Arc<Resource>,
    mut object: Value,
    options: &WriteOptions,
    applied: bool,
) -> Result<WriteResult> {
    let generate = text(&object["metadata"]["generateName"]).to_owned();
    let generated = text(&object["metadata"]["name"]).is_empty() && !generate.is_empty();
    if generated {
        object["metadata"]["name"] = cluster.generated_name(&generate).into();
    }
    resource.default(&mut object);
    check_grants(cluster, resource, None, &object, options)?;
    // Fields that requests cannot set are not owned.
    remove(
        &mut object["metadata"],
        &["deletionTimestamp", "deletionGracePeriodSeconds"],
    );
    if !applied {
        record_owners(resource, None, None, &mut object, options);
    }
    let metadata = &mut object["metadata"];
    metadata["uid"] = cluster.uid().into();
    metadata["creationTimestamp"] = timestamp(Timestamp::now()).into();
    remove(metadata, &["selfLink", "resourceVersion"]);
    resource.prepare_for_create(&mut object);
    let choosing = cluster.choosing_addresses(resource);
    if choosing.is_some() {
        services::allocate(cluster, &mut object, None)?;
    }
    check_valid(resource, &object, None, None)?;
    if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        object["status"] = crd::initial_status(&object);
    }
    let key = key_of(resource, &object);
    let check = PolicyCheck {
        operation: Operation::Create,
        resource,
        subresource: None,
        namespace: key.namespace(),
        name: key.name(),
        object: Some(&object),
        old: None,
        dry_run: options.dry_run,
    };
    check_policies(cluster, options.origin.as_ref(), &check)?;
    if let Some(there) = cluster.store.get(&resource.collection, &key) {
        return Err(exists(resource, &key, generated, there.deleting));
    }
    if options.dry_run {
        return Ok(WriteResult::Unstored(Box::new(object)));
    }
    let stored = commit(cluster, resource, key.clone(), None, EventKind::Added, object)
        .map_err(|StaleRevision| exists(resource, &key, generated, false))?;
    Ok(WriteResult::Stored(stored))
}

/// Replaces an object by the body of a request.
pub(crate) fn update(
    cluster: &Cluster,
    path: &ObjectPath,
    body: Body,
    options: &WriteOptions,
) -> Result<Written> {
    let resource = &path.resource;
    let name = path.name.as_deref().unwrap_or_default();
    let (mut object, warnings) = admit_body(cluster, resource, body, options.validation)?;
    let given = text(&object["metadata"]["name"]);
    if given.is_empty() {
        let why =
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(why));
    }
    check_name(path, &object)?;
    place(resource, path.namespace.as_deref(), &mut object)?;
    let upsert = path.subresource.is_none() && resource.creates_on_update();
    if upsert && find(cluster, path).is_err() {
        check_namespace(cluster, resource, path.namespace.as_deref(), name)?;
        remove(&mut object["metadata"], &["resourceVersion"]);
        let result = create_object(cluster, resource, object, options, false)?;
        return Ok(Written {
            result,
            warnings,
            created: true,
        });
    }
    let result = change_object(cluster, path, options, |old| {
        check_precondition(path, old, &object)?;
        Ok(Proposal::Replace(object.clone()))
    })?;
    Ok(Written {
        result,
        warnings,
        created: false,
    })
}

/// Replaces an object by the result of `propose`, which gets the current object in the version of the request. Retries
/// if others change the object concurrently.
pub(crate) fn change_object(
    cluster: &Cluster,
    path: &ObjectPath,
    options: &WriteOptions,
    mut propose: impl FnMut(&Value) -> Result<Proposal>,
) -> Result<WriteResult> {
    for _ in 0..TRIES {
        let current = find(cluster, path)?;
        let old = convert::from_stored(&current, &path.resource);
        let (new, applied) = match propose(&old)? {
            Proposal::Replace(new) => (new, false),
            Proposal::Applied(new) => (new, true),
        };
        match try_change(cluster, path, options, &current, &old, new, applied) {
            Err(Retry::No(status)) => return Err(status),
            Err(Retry::Yes) => {}
            Ok(result) => return Ok(result),
        }
    }
    let name = path.name.as_deref().unwrap_or_default();
    Err(Status::modified(path.resource.subject(name)))
}

fn try_change(
    cluster: &Cluster,
    path: &ObjectPath,
    options: &WriteOptions,
    current: &Arc<Stored>,
    old: &Value,
    mut new: Value,
    applied: bool,
) -> Result<WriteResult, Retry> {
    let resource = &path.resource;
    let name = current.key.name();
    let subject = resource.subject(name);
    check_version(resource, subject, current, &new)?;
    check_unchanged(resource, subject, old, &new)?;
    keep_metadata(old, &mut new);
    resource.default(&mut new);
    check_grants(cluster, resource, Some(old), &new, options)?;
    // Requests to these subresources have already prepared the object.
    match path.subresource.as_deref() {
        Some("finalize" | "binding") => {}
        Some("scale") => resource.prepare_for_update(old, &mut new, None),
        other => resource.prepare_for_update(old, &mut new, other),
    }
    let choosing = cluster.choosing_addresses(resource);
    if choosing.is_some() {
        services::allocate(cluster, &mut new, Some(old))?;
    }
    check_valid(resource, &new, Some(old), path.subresource.as_deref())?;
    if !applied {
        record_owners(
            resource,
            path.subresource.as_deref(),
            Some(old),
            &mut new,
            options,
        );
    }
    keep_times(old, &mut new);
    if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") && path.subresource.is_none() {
        new["status"] = crd::updated_status(&new, old);
    }
    check_change(cluster, path, options, old, &new)?;
    let finished = is_finished(&new);
    if new == *old && !finished {
        return Ok(WriteResult::Stored(current.clone()));
    }
    if options.dry_run {
        return Ok(WriteResult::Unstored(Box::new(new)));
    }
    let (key, expected) = (current.key.clone(), Some(current.revision));
    if finished {
        // The last state is answered at the version it had; the deletion has one of its own.
        commit(cluster, resource, key, expected, EventKind::Deleted, new.clone())
            .map_err(|StaleRevision| Retry::Yes)?;
        return Ok(WriteResult::Unstored(Box::new(new)));
    }
    match commit(cluster, resource, key, expected, EventKind::Modified, new) {
        Ok(stored) => Ok(WriteResult::Stored(stored)),
        Err(StaleRevision) => Err(Retry::Yes),
    }
}

/// Stores an object in the version of `resource`, and performs the follow-up actions.
pub(crate) fn commit(
    cluster: &Cluster,
    resource: &Resource,
    key: Key,
    expected: Option<u64>,
    kind: EventKind,
    object: Value,
) -> Result<Arc<Stored>, StaleRevision> {
    let (object, schema) = convert::to_stored(object, resource);
    let fields = resource.selectable_values(&object);
    let write = Write {
        collection: &resource.collection,
        key,
        expected,
        kind,
        object,
        fields,
        schema,
    };
    let stored = cluster.store.write(write)?;
    follow_up(cluster, resource, kind, &stored);
    if resource.is(RBAC_GROUP, "ClusterRole") && cluster.access.is_enforced() {
        aggregate_roles(cluster);
    }
    Ok(stored)
}

/// Updates the rules of every aggregating ClusterRole from the roles that it selects.
fn aggregate_roles(cluster: &Cluster) {
    let registry = cluster.registry();
    let Some(resource) = registry.find(RBAC_GROUP, "v1", "clusterroles") else {
        return;
    };
    for (stored, rules) in aggregated_rules(&cluster.access.policy(&cluster.store)) {
        let mut role = stored.value();
        role["rules"] = rules;
        let (key, expected) = (stored.key.clone(), Some(stored.revision));
        // If the role has changed at the same time, that write aggregates, too. This write aggregates again, for roles
        // that select the changed role.
        let _ = commit(cluster, resource, key, expected, EventKind::Modified, role);
    }
}

/// Decodes a body. Unknown and duplicate fields are warnings or an error.
pub(crate) fn admit_body(
    cluster: &Cluster,
    resource: &Resource,
    body: Body,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>)> {
    let is_checked = validation != FieldValidation::Ignore;
    let text = body.text.as_deref().filter(|_| is_checked);
    let duplicates = body.duplicates();
    let decoded = resource.decode(&cluster.registry(), body.object, text)?;
    match validation {
        FieldValidation::Strict => {
            let problems: Vec<String> = duplicates.into_iter().chain(decoded.unknown).collect();
            if problems.is_empty() {
                Ok((decoded.object, problems))
            } else {
                Err(strict_failure(&resource.kind, &resource.version, &problems))
            }
        }
        FieldValidation::Warn => {
            let warnings = body.duplicate_keys.into_iter().chain(decoded.unknown);
            Ok((decoded.object, warnings.collect()))
        }
        FieldValidation::Ignore => Ok((decoded.object, Vec::new())),
    }
}

/// Checks that users do not grant permissions that they do not have.
fn check_grants(
    cluster: &Cluster,
    resource: &Resource,
    old: Option<&Value>,
    new: &Value,
    options: &WriteOptions,
) -> Result<()> {
    let Some(user) = options.user() else { return Ok(()) };
    if resource.group != RBAC_GROUP {
        return Ok(());
    }
    let write = RoleWrite {
        kind: &resource.kind,
        resource: &resource.plural,
        namespace: new["metadata"]["namespace"].as_str(),
        old,
        new,
    };
    check_escalation(&cluster.access.policy(&cluster.store), user, write)
}

/// A namespace must exist before anything is made in it, and takes nothing new while it is being deleted.
pub(crate) fn check_namespace(
    cluster: &Cluster,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
) -> Result<()> {
    let Some(namespace) = namespace else { return Ok(()) };
    let Some(found) = cluster.store.get("/namespaces", &Key::new(None, namespace)) else {
        return Err(Status::not_found(Subject {
            group: "",
            resource: "namespaces",
            name: namespace,
        }));
    };
    if !found.deleting {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let cause = format!("namespace {namespace} is being terminated");
    Err(Status::forbidden(resource.subject(name), &why).cause(
        "NamespaceTerminating",
        &cause,
        "metadata.namespace",
    ))
}

/// Records who owns the fields that a write changes.
fn record_owners(
    resource: &Resource,
    subresource: Option<&str>,
    old: Option<&Value>,
    new: &mut Value,
    options: &WriteOptions,
) {
    let Some((types, ty)) = resource.types() else {
        return;
    };
    let update = Update {
        types,
        ty: &ty,
        api_version: &resource.api_version(),
        old,
        manager: &options.manager,
        subresource: subresource.unwrap_or_default(),
        reset: &reset_fields(resource, subresource),
        now: Timestamp::now(),
    };
    record_update(update, new);
}

/// Returns the fields that requests to a path do not write. The requests do not own them.
pub(crate) fn reset_fields(resource: &Resource, subresource: Option<&str>) -> FieldSet {
    let subresource = subresource.unwrap_or_default();
    match resource.custom() {
        Some(_) => reset::custom(subresource, resource.has_status()),
        None => reset::builtin(&resource.plural, subresource),
    }
}

fn exists(resource: &Resource, key: &Key, generated: bool, deleting: bool) -> Status {
    let mut status = Status::already_exists(resource.subject(key.name()));
    if deleting {
        status.message.insert_str(0, "object is being deleted: ");
    }
    if !generated {
        return status;
    }
    status
        .retry_after(1)
        .with_detail(", the server was not able to generate a unique name for the object")
}

fn check_valid(
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
    subresource: Option<&str>,
) -> Result<()> {
    let errors = resource.validate(object, old, subresource);
    if errors.is_empty() {
        return Ok(());
    }
    // Events of both groups are one kind inside the server.
    let group = if resource.kind == "Event" {
        ""
    } else {
        &resource.group
    };
    Err(Status::invalid(
        group,
        &resource.kind,
        text(&object["metadata"]["name"]),
        &errors,
    ))
}

/// The body of a request: an object, and the JSON it was read from, if it was.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) object: Value,
    pub(crate) text: Option<String>,
    /// Keys that the YAML it was read from has twice, such as `line 9: key "foo" already set in map`.
    pub(crate) duplicate_keys: Vec<String>,
}

impl Body {
    pub(crate) fn new(object: Value) -> Body {
        Body {
            object,
            text: None,
            duplicate_keys: Vec::new(),
        }
    }

    /// The duplicate keys in one text, as Go's reader complains about them.
    pub(super) fn duplicates(&self) -> Option<String> {
        let lines = self.duplicate_keys.join("\n  ");
        (!lines.is_empty()).then(|| format!("yaml: unmarshal errors:\n  {lines}"))
    }
}

/// What an object should become.
#[derive(Debug)]
pub(crate) enum Proposal {
    /// This; who owns which field is still to be recorded.
    Replace(Value),
    /// This, by server-side apply, which has recorded its owners itself.
    Applied(Value),
}

/// Why a change was not done, and whether to try again.
enum Retry {
    Yes,
    No(Status),
}

impl From<Status> for Retry {
    fn from(status: Status) -> Retry {
        Retry::No(status)
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// An object that names itself must do so as the URL does.
pub(super) fn check_name(path: &ObjectPath, object: &Value) -> Result<()> {
    let name = path.name.as_deref().unwrap_or_default();
    match text(&object["metadata"]["name"]) {
        "" => Ok(()),
        given if given == name => Ok(()),
        given => {
            let why = format!("the name of the object ({given}) does not match the name on the URL ({name})");
            Err(Status::bad_request(why))
        }
    }
}

fn remove(object: &mut Value, fields: &[&str]) {
    if let Some(map) = object.as_object_mut() {
        map.retain(|name, _| !fields.contains(&name.as_str()));
    }
}

fn key_of(resource: &Resource, object: &Value) -> Key {
    let namespace = resource
        .namespaced
        .then(|| text(&object["metadata"]["namespace"]));
    Key::new(namespace, text(&object["metadata"]["name"]))
}

/// Puts an object into the namespace of the request.
fn place(resource: &Resource, namespace: Option<&str>, object: &mut Value) -> Result<()> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    let given = text(&object["metadata"]["namespace"]);
    match namespace {
        Some(namespace) if given.is_empty() => object["metadata"]["namespace"] = namespace.into(),
        Some(namespace) if given == namespace => {}
        Some(_) => {
            let why = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Status::bad_request(why));
        }
        None if !resource.namespaced => remove(&mut object["metadata"], &["namespace"]),
        None => {}
    }
    Ok(())
}

/// The body of an update must be of the very object that is there.
fn check_precondition(path: &ObjectPath, old: &Value, new: &Value) -> Result<()> {
    let (uid, known) = (text(&new["metadata"]["uid"]), text(&old["metadata"]["uid"]));
    if uid.is_empty() || uid == known {
        return Ok(());
    }
    let resource = &path.resource;
    let name = path.name.as_deref().unwrap_or_default();
    let key = Key::new(path.namespace.as_deref(), name);
    let place = match resource.custom() {
        Some(_) => format!("{}/{}/{key}", resource.group, resource.plural),
        None => format!("{}/{key}", resource.plural),
    };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {uid}, UID in object meta: {known}"
    );
    Err(Status::conflict(resource.subject(name), &why))
}

/// A change must be about the version that the client knew, if it says one. Zero is none.
fn check_version(
    resource: &Resource,
    subject: Subject<'_>,
    current: &Stored,
    new: &Value,
) -> Result<(), Retry> {
    let version = match text(&new["metadata"]["resourceVersion"]) {
        "" => 0,
        version => parse_unsigned(version).map_err(Status::unnamed)?,
    };
    if version == 0 && resource.needs_version() {
        let error = FieldError::invalid(
            "metadata.resourceVersion",
            json!(0),
            "must be specified for an update",
        );
        return Err(Status::invalid(&resource.group, &resource.plural, subject.name, &[error]).into());
    }
    if version != 0 && version != current.revision {
        return Err(Status::modified(subject).into());
    }
    Ok(())
}

/// What a change may name only as it is. That an object is to be deleted is said by deleting it.
fn check_unchanged(resource: &Resource, subject: Subject<'_>, old: &Value, new: &Value) -> Result<(), Retry> {
    let changed = ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"]
        .into_iter()
        .filter(|field| {
            let given = &new["metadata"][field];
            !given.is_null() && *given != "" && *given != old["metadata"][field]
        });
    let errors: Vec<_> = changed
        .map(|field| {
            let given = new["metadata"][field].clone();
            FieldError::invalid(format!("metadata.{field}"), given, "field is immutable")
        })
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&resource.group, &resource.kind, subject.name, &errors).into())
}

/// What no client may change: identity and the marks of time.
fn keep_metadata(old: &Value, new: &mut Value) {
    const KEPT: [&str; 7] = [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "selfLink",
    ];
    let old = &old["metadata"];
    let metadata = &mut new["metadata"];
    for field in KEPT {
        match old.get(field) {
            Some(value) => metadata[field] = value.clone(),
            None => remove(metadata, &[field]),
        }
    }
    if metadata.get("managedFields").is_none()
        && let Some(owners) = old.get("managedFields")
    {
        metadata["managedFields"] = owners.clone();
    }
}

/// A deletion is under way and nothing holds the object back any more.
pub(crate) fn is_finished(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata.get("deletionTimestamp").is_some()
        && metadata["finalizers"].as_array().is_none_or(Vec::is_empty)
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        // A namespace is also held back by the finalizers in its spec.
        && !(object["kind"] == "Namespace" && object["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty()))
}
