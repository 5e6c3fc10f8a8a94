//! Validates containers: their ports, environment, mounts and probes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::errors::Errors;
use super::names;
use super::resources::resources;
use crate::defaults::fields::{is_empty, items, text};

const NO_HANDLER: &str = "must specify a handler type";
const ENV_SOURCES: &str =
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
const VARIABLE_NAME: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
/// Maximum id of a user or group.
const MAX_ID: i64 = i32::MAX as i64;

/// Validates the containers of a pod; `volumes` are those that they can mount.
pub(super) fn containers(field: &str, spec: &Value, volumes: &BTreeSet<String>, errors: &mut Errors) {
    let list = items(spec, "containers");
    if list.is_empty() {
        errors.required(format!("{field}.containers"));
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (index, container) in list.iter().enumerate() {
        let at = format!("{field}.containers[{index}]");
        common(&at, container, volumes, errors);
        let name = text(container, "name");
        if !name.is_empty() && !seen.insert(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
        if !text(container, "restartPolicy").is_empty() {
            let field = format!("{at}.restartPolicy");
            errors.one_of(
                field,
                &container["restartPolicy"],
                &["Always", "Never", "OnFailure"],
            );
        }
        hooks(&at, container, errors);
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (index, container) in list.iter().enumerate() {
        for (port_index, port) in items(container, "ports").iter().enumerate() {
            let Some(number) = port["hostPort"].as_i64().filter(|n| *n != 0) else {
                continue;
            };
            let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if !taken.insert(key.clone()) {
                errors.duplicate(
                    format!("{field}.containers[{index}].ports[{port_index}].hostPort"),
                    key,
                );
            }
        }
    }
}

/// Validates init containers, including sidecars.
pub(super) fn init_containers(field: &str, spec: &Value, volumes: &BTreeSet<String>, errors: &mut Errors) {
    let mut seen: BTreeSet<&str> = items(spec, "containers")
        .iter()
        .map(|c| text(c, "name"))
        .collect();
    for (index, container) in items(spec, "initContainers").iter().enumerate() {
        let at = format!("{field}.initContainers[{index}]");
        common(&at, container, volumes, errors);
        let name = text(container, "name");
        if !name.is_empty() && !seen.insert(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
        if text(container, "restartPolicy") == "Always" {
            hooks(&at, container, errors);
        } else {
            for hook in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container[hook].is_object() {
                    let detail = "may not be set for init containers without restartPolicy=Always";
                    errors.forbidden(format!("{at}.{hook}"), detail);
                }
            }
        }
    }
}

/// Validates ephemeral containers, which have neither ports nor probes.
pub(super) fn ephemeral_containers(field: &str, spec: &Value, errors: &mut Errors) {
    let others = || {
        ["containers", "initContainers"]
            .iter()
            .flat_map(|list| items(spec, list))
    };
    let mut seen: BTreeSet<&str> = others().map(|c| text(c, "name")).collect();
    for (index, container) in items(spec, "ephemeralContainers").iter().enumerate() {
        let at = format!("{field}.ephemeralContainers[{index}]");
        named(&at, container, errors);
        let name = text(container, "name");
        if !name.is_empty() && !seen.insert(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
        for unfit in [
            "ports",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            if !is_empty(&container[unfit]) {
                errors.forbidden(
                    format!("{at}.{unfit}"),
                    "cannot be set for an Ephemeral Container",
                );
            }
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others().any(|c| text(c, "name") == target) {
            errors.not_found(format!("{at}.targetContainerName"), target);
        }
    }
}

fn named(at: &str, container: &Value, errors: &mut Errors) {
    match text(container, "name") {
        "" => errors.required(format!("{at}.name")),
        name => errors.problems(&format!("{at}.name"), name, names::label(name)),
    }
    if text(container, "image").is_empty() {
        errors.required(format!("{at}.image"));
    }
}

fn common(at: &str, container: &Value, volumes: &BTreeSet<String>, errors: &mut Errors) {
    named(at, container, errors);
    errors.one_of(
        format!("{at}.terminationMessagePolicy"),
        &container["terminationMessagePolicy"],
        &["File", "FallbackToLogsOnError"],
    );
    ports(at, container, errors);
    environment(at, container, errors);
    environment_sources(at, container, errors);
    mounts(at, container, volumes, errors);
    errors.one_of(
        format!("{at}.imagePullPolicy"),
        &container["imagePullPolicy"],
        &["Always", "IfNotPresent", "Never"],
    );
    resources(&format!("{at}.resources"), &container["resources"], errors);
    for name in ["runAsUser", "runAsGroup"] {
        if let Some(id) = container["securityContext"][name]
            .as_i64()
            .filter(|id| !(0..=MAX_ID).contains(id))
        {
            let detail = format!("must be between 0 and {MAX_ID}, inclusive");
            errors.invalid(format!("{at}.securityContext.{name}"), id, &detail);
        }
    }
}

fn ports(at: &str, container: &Value, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, port) in items(container, "ports").iter().enumerate() {
        let at = format!("{at}.ports[{index}]");
        let name = text(port, "name");
        if !name.is_empty() {
            let problems = names::port_name(name);
            if problems.is_empty() && !seen.insert(name) {
                errors.duplicate(format!("{at}.name"), name);
            }
            errors.problems(&format!("{at}.name"), name, problems);
        }
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.required(format!("{at}.containerPort")),
            number => errors.port(format!("{at}.containerPort"), number),
        }
        if let Some(number) = port["hostPort"].as_i64().filter(|n| *n != 0) {
            errors.port(format!("{at}.hostPort"), number);
        }
        errors.one_of(
            format!("{at}.protocol"),
            &port["protocol"],
            &["SCTP", "TCP", "UDP"],
        );
    }
}

fn environment(at: &str, container: &Value, errors: &mut Errors) {
    for (index, variable) in items(container, "env").iter().enumerate() {
        let at = format!("{at}.env[{index}]");
        let name = text(variable, "name");
        if name.is_empty() {
            errors.required(format!("{at}.name"));
        } else if !is_variable(name) {
            errors.invalid(format!("{at}.name"), name, VARIABLE_NAME);
        }
        let source = &variable["valueFrom"];
        if let Some(sources) = source.as_object() {
            let at = format!("{at}.valueFrom");
            references(&at, source, errors);
            if sources.is_empty() {
                errors.invalid(at, "", ENV_SOURCES);
            } else if !text(variable, "value").is_empty() {
                errors.invalid(at, "", "may not be specified when `value` is not empty");
            } else if sources.len() > 1 {
                errors.invalid(at, "", "may not have more than one field specified at a time");
            }
        }
    }
}

/// Validates the sources of environment variables.
fn references(at: &str, source: &Value, errors: &mut Errors) {
    let field = &source["fieldRef"];
    if field.is_object() {
        let path = text(field, "fieldPath");
        let known = matches!(
            path,
            "metadata.name"
                | "metadata.namespace"
                | "metadata.uid"
                | "spec.nodeName"
                | "spec.serviceAccountName"
                | "status.hostIP"
                | "status.hostIPs"
                | "status.podIP"
                | "status.podIPs"
        );
        let subscripted = ["metadata.annotations['", "metadata.labels['"]
            .iter()
            .any(|p| path.starts_with(p));
        if path.is_empty() {
            errors.required(format!("{at}.fieldRef.fieldPath"));
        } else if !known && !subscripted {
            let detail = format!("error converting fieldPath: field label not supported: {path}");
            errors.invalid(format!("{at}.fieldRef.fieldPath"), path, &detail);
        }
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        let reference = &source[name];
        if !reference.is_object() {
            continue;
        }
        let of = text(reference, "name");
        errors.problems(&format!("{at}.{name}.name"), of, names::subdomain(of));
        match text(reference, "key") {
            "" => errors.required(format!("{at}.{name}.key")),
            key => errors.problems(&format!("{at}.{name}.key"), key, names::config_key(key)),
        }
    }
}

fn environment_sources(at: &str, container: &Value, errors: &mut Errors) {
    for (index, source) in items(container, "envFrom").iter().enumerate() {
        let item = format!("{at}.envFrom[{index}]");
        let prefix = text(source, "prefix");
        if !prefix.is_empty() && !is_variable(prefix) {
            errors.invalid(format!("{item}.prefix"), prefix, VARIABLE_NAME);
        }
        let given: Vec<&str> = ["configMapRef", "secretRef"]
            .into_iter()
            .filter(|n| source[*n].is_object())
            .collect();
        for name in &given {
            match text(&source[*name], "name") {
                "" => errors.required(format!("{item}.{name}.name")),
                of => errors.problems(&format!("{item}.{name}.name"), of, names::subdomain(of)),
            }
        }
        // The real server's field has no index.
        match given.len() {
            0 => errors.invalid(
                format!("{at}.envFrom"),
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            ),
            1 => {}
            _ => errors.invalid(
                format!("{at}.envFrom"),
                "",
                "may not have more than one field specified at a time",
            ),
        }
    }
}

fn is_variable(name: &str) -> bool {
    name.bytes()
        .all(|b| (b.is_ascii_graphic() && b != b'=') || b == b' ')
}

fn mounts(at: &str, container: &Value, volumes: &BTreeSet<String>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    let list = format!("{at}.volumeMounts");
    for (index, mount) in items(container, "volumeMounts").iter().enumerate() {
        let at = format!("{list}[{index}]");
        let name = text(mount, "name");
        if name.is_empty() {
            errors.required(format!("{at}.name"));
        }
        if !volumes.contains(name) {
            errors.not_found(format!("{at}.name"), name);
        }
        let path = text(mount, "mountPath");
        if path.is_empty() {
            errors.required(format!("{at}.mountPath"));
        } else if !seen.insert(path) {
            errors.invalid(format!("{at}.mountPath"), path, "must be unique");
        }
        // The real server's field has no index.
        let sub = text(mount, "subPath");
        let field = format!("{list}.subPath");
        if sub.starts_with('/') {
            errors.invalid(field, sub, "must be a relative path");
        } else if sub.split('/').any(|part| part == "..") {
            errors.invalid(field, sub, "must not contain '..'");
        }
    }
}

fn hooks(at: &str, container: &Value, errors: &mut Errors) {
    for hook in ["postStart", "preStop"] {
        let handler = &container["lifecycle"][hook];
        if handler.is_object() {
            handler_of(&format!("{at}.lifecycle.{hook}"), handler, errors);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = &container[name];
        if !probe.is_object() {
            continue;
        }
        let at = format!("{at}.{name}");
        handler_of(&at, probe, errors);
        for number in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            errors.not_negative(format!("{at}.{number}"), &probe[number]);
        }
        if name != "readinessProbe"
            && let Some(wrong) = probe["successThreshold"].as_i64().filter(|n| *n != 1)
        {
            errors.invalid(format!("{at}.successThreshold"), wrong, "must be 1");
        }
    }
}

fn handler_of(at: &str, handler: &Value, errors: &mut Errors) {
    let given: Vec<&str> = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"]
        .into_iter()
        .filter(|kind| handler[*kind].is_object())
        .collect();
    let Some(kind) = given.first() else {
        errors.required_because(at, NO_HANDLER);
        return;
    };
    for more in given.iter().skip(1) {
        errors.forbidden(format!("{at}.{more}"), "may not specify more than 1 handler type");
    }
    let action = &handler[*kind];
    match *kind {
        "exec" if is_empty(&action["command"]) => errors.required(format!("{at}.exec.command")),
        "httpGet" | "tcpSocket" | "grpc" => {
            let at = format!("{at}.{kind}.port");
            match &action["port"] {
                Value::String(name) => errors.problems(&at, name, names::port_name(name)),
                number => errors.port(at, number.as_i64().unwrap_or(0)),
            }
        }
        _ => {}
    }
}
