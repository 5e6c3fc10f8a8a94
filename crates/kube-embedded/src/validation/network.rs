//! Validates services, ingresses and network policies.

use std::collections::BTreeSet;

use serde_json::Value;

use super::errors::Errors;
use super::{metadata, names, selectors};
use crate::defaults::fields::{is_empty, items, text};
use crate::status::FieldError;

pub(super) fn service(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    let kind = text(spec, "type");
    let ports = items(spec, "ports");
    let headless = text(spec, "clusterIP") == "None";
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.required("spec.ports");
    }
    if kind == "ExternalName" {
        match text(spec, "externalName").trim_end_matches('.') {
            "" => errors.required("spec.externalName"),
            name => errors.problems("spec.externalName", name, names::subdomain(name)),
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        service_port(
            &format!("spec.ports[{index}]"),
            port,
            ports.len() > 1,
            &mut seen,
            errors,
        );
    }
    metadata::labels("spec.selector", &spec["selector"], errors);
    errors.one_of(
        "spec.sessionAffinity",
        &spec["sessionAffinity"],
        &["ClientIP", "None"],
    );
    let timeout = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].as_i64();
    if let Some(seconds) = timeout.filter(|s| !(1..=86400).contains(s)) {
        let at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
        errors.invalid(at, seconds, "must be greater than 0 and less than 86400");
    }
    addresses(spec, errors);
    errors.one_of(
        "spec.type",
        &spec["type"],
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    type_dependents(spec, errors);
    let mut taken = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let protocol = text(port, "protocol");
        let number = port["port"].as_i64().unwrap_or(0);
        if !taken.insert((protocol, number)) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"]
            );
            errors.add(FieldError::duplicate(format!("spec.ports[{index}]"), port.clone()).showing(shown));
        }
    }
    if !is_empty(&object["status"]["loadBalancer"]["ingress"]) && kind != "LoadBalancer" {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        errors.forbidden("status.loadBalancer.ingress", detail);
    }
}

/// Validates the fields that depend on the service's type.
fn type_dependents(spec: &Value, errors: &mut Errors) {
    let kind = text(spec, "type");
    if kind == "ClusterIP" {
        for (index, port) in items(spec, "ports").iter().enumerate() {
            if port["nodePort"].as_i64().is_some_and(|n| n != 0) {
                let detail = "may not be used when `type` is 'ClusterIP'";
                errors.forbidden(format!("spec.ports[{index}].nodePort"), detail);
            }
        }
    }
    let ranges = items(spec, "loadBalancerSourceRanges");
    if !ranges.is_empty() {
        if kind != "LoadBalancer" {
            let detail = "may only be used when `type` is 'LoadBalancer'";
            errors.forbidden("spec.LoadBalancerSourceRanges", detail);
        }
        for (index, range) in ranges.iter().filter_map(Value::as_str).enumerate() {
            let field = format!("spec.LoadBalancerSourceRanges[{index}]");
            errors.problems(&field, range, names::cidr(range.trim()));
        }
    }
    if !is_empty(&spec["internalTrafficPolicy"]) {
        let policies = ["Cluster", "Local"];
        errors.one_of(
            "spec.internalTrafficPolicy",
            &spec["internalTrafficPolicy"],
            &policies,
        );
    }
    let policy = text(spec, "externalTrafficPolicy");
    let external = matches!(kind, "NodePort" | "LoadBalancer") || !is_empty(&spec["externalIPs"]);
    if !policy.is_empty() && !external {
        let detail = "may only be set for externally-accessible services";
        errors.invalid("spec.externalTrafficPolicy", policy, detail);
    }
}

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Validates the fields on which the allocation of addresses depends. If they are invalid, no others are validated.
pub(super) fn addressing(spec: &Value, errors: &mut Errors) {
    for (index, family) in items(spec, "ipFamilies").iter().enumerate() {
        errors.one_of(format!("spec.ipFamilies[{index}]"), family, &["IPv4", "IPv6"]);
    }
    if !is_empty(&spec["ipFamilyPolicy"]) {
        let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        errors.one_of("spec.ipFamilyPolicy", &spec["ipFamilyPolicy"], &policies);
    }
    let mut listed: Vec<&str> = items(spec, "clusterIPs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let first = text(spec, "clusterIP");
    if listed.is_empty() && !first.is_empty() {
        listed.push(first);
    }
    for (index, address) in listed.into_iter().enumerate().filter(|(_, a)| *a != "None") {
        errors.problems(&format!("spec.clusterIPs[{index}]"), address, names::ip(address));
    }
}

fn service_port<'a>(
    at: &str,
    port: &'a Value,
    several: bool,
    seen: &mut BTreeSet<&'a str>,
    errors: &mut Errors,
) {
    match text(port, "name") {
        "" if several => errors.required(format!("{at}.name")),
        "" => {}
        name => {
            errors.problems(&format!("{at}.name"), name, names::label(name));
            if !seen.insert(name) {
                errors.duplicate(format!("{at}.name"), name);
            }
        }
    }
    errors.port(format!("{at}.port"), port["port"].as_i64().unwrap_or(0));
    errors.one_of(
        format!("{at}.protocol"),
        &port["protocol"],
        &["SCTP", "TCP", "UDP"],
    );
    match &port["targetPort"] {
        Value::String(name) => errors.problems(&format!("{at}.targetPort"), name, names::port_name(name)),
        number => errors.port(format!("{at}.targetPort"), number.as_i64().unwrap_or(0)),
    }
}

fn addresses(spec: &Value, errors: &mut Errors) {
    let kind = text(spec, "type");
    if text(spec, "clusterIP") == "None" && matches!(kind, "LoadBalancer" | "NodePort") {
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.invalid("spec.clusterIPs[0]", "None", &detail);
    }
    for (index, address) in items(spec, "externalIPs")
        .iter()
        .filter_map(Value::as_str)
        .enumerate()
    {
        errors.problems(&format!("spec.externalIPs[{index}]"), address, names::ip(address));
    }
}

pub(super) fn endpoints(object: &Value, errors: &mut Errors) {
    for (index, subset) in items(object, "subsets").iter().enumerate() {
        let at = format!("subsets[{index}]");
        for list in ["addresses", "notReadyAddresses"] {
            for (index, address) in items(subset, list).iter().enumerate() {
                let (field, ip) = (format!("{at}.{list}[{index}].ip"), text(address, "ip"));
                let problems = names::ip(ip);
                let broken = !problems.is_empty();
                errors.problems(&field, ip, problems);
                if broken {
                    errors.invalid(field, ip, "must be a valid IP address");
                }
            }
        }
        if is_empty(&subset["addresses"]) && is_empty(&subset["notReadyAddresses"]) {
            errors.required_because(at.clone(), "must specify `addresses` or `notReadyAddresses`");
        }
        let ports = items(subset, "ports");
        for (index, port) in ports.iter().enumerate() {
            let at = format!("{at}.ports[{index}]");
            if ports.len() > 1 && text(port, "name").is_empty() {
                errors.required(format!("{at}.name"));
            }
            errors.port(format!("{at}.port"), port["port"].as_i64().unwrap_or(0));
            errors.one_of(format!("{at}.protocol"), &port["protocol"], &PROTOCOLS);
        }
    }
}

pub(super) fn ingress(spec: &Value, errors: &mut Errors) {
    let rules = items(spec, "rules");
    if rules.is_empty() && spec["defaultBackend"].is_null() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.invalid("spec", Value::Null, detail);
    }
    if spec["defaultBackend"].is_object() {
        backend("spec.defaultBackend", &spec["defaultBackend"], errors);
    }
    for (index, tls) in items(spec, "tls").iter().enumerate() {
        for (host_index, host) in items(tls, "hosts").iter().filter_map(Value::as_str).enumerate() {
            host_name(&format!("spec.tls[{index}].hosts[{host_index}]"), host, errors);
        }
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("spec.rules[{index}]");
        if let Some(host) = rule["host"].as_str().filter(|h| !h.is_empty()) {
            if host.parse::<std::net::IpAddr>().is_ok() {
                errors.invalid(
                    format!("{at}.host"),
                    host,
                    "must be a DNS name, not an IP address",
                );
            } else {
                host_name(&format!("{at}.host"), host, errors);
            }
        }
        if !rule["http"].is_object() {
            continue;
        }
        let paths = items(&rule["http"], "paths");
        if paths.is_empty() {
            errors.required(format!("{at}.http.paths"));
        }
        for (index, path) in paths.iter().enumerate() {
            ingress_path(&format!("{at}.http.paths[{index}]"), path, errors);
        }
    }
}

fn host_name(field: &str, host: &str, errors: &mut Errors) {
    let problems = if host.contains('*') {
        names::wildcard_subdomain(host)
    } else {
        names::subdomain(host)
    };
    errors.problems(field, host, problems);
}

fn ingress_path(at: &str, path: &Value, errors: &mut Errors) {
    let (kind, text_of) = (text(path, "pathType"), text(path, "path"));
    match kind {
        "" => {
            errors.required_because(format!("{at}.pathType"), "pathType must be specified");
            return;
        }
        "Exact" | "Prefix" => {
            if !text_of.starts_with('/') {
                errors.invalid(format!("{at}.path"), text_of, "must be an absolute path");
            }
            for bad in ["//", "/./", "/../", "%2f", "%2F"] {
                if text_of.contains(bad) {
                    errors.invalid(
                        format!("{at}.path"),
                        text_of,
                        &format!("must not contain '{bad}'"),
                    );
                }
            }
            for bad in ["/..", "/."] {
                if text_of.ends_with(bad) {
                    errors.invalid(format!("{at}.path"), text_of, &format!("cannot end with '{bad}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !text_of.is_empty() && !text_of.starts_with('/') {
                errors.invalid(format!("{at}.path"), text_of, "must be an absolute path");
            }
        }
        _ => errors.one_of(
            format!("{at}.pathType"),
            &path["pathType"],
            &["Exact", "ImplementationSpecific", "Prefix"],
        ),
    }
    backend(&format!("{at}.backend"), &path["backend"], errors);
}

fn backend(at: &str, backend: &Value, errors: &mut Errors) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (service.is_object(), resource.is_object()) {
        (true, true) => {
            let detail = "cannot set both resource and service backends";
            errors.invalid(at, "", detail);
        }
        (false, false) => errors.required_because(at, "resource or service backend is required"),
        (true, false) => {
            match text(service, "name") {
                "" => errors.required(format!("{at}.service.name")),
                name => errors.problems(&format!("{at}.service.name"), name, names::label(name)),
            }
            let (name, number) = (
                text(&service["port"], "name"),
                service["port"]["number"].as_i64().unwrap_or(0),
            );
            match (name.is_empty(), number) {
                (false, 0) => {
                    errors.problems(&format!("{at}.service.port.name"), name, names::port_name(name));
                }
                (false, _) => errors.invalid(at, "", "cannot set both port name & port number"),
                (true, 0) => errors.required_because(at, "port name or number is required"),
                (true, number) => errors.port(format!("{at}.service.port.number"), number),
            }
        }
        (false, true) => {}
    }
}

pub(super) fn ingress_class(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let controller = &object["spec"]["controller"];
    if let Some(old) = old {
        errors.immutable("spec.controller", controller, &old["spec"]["controller"]);
    } else if is_empty(controller) {
        errors.required("spec.controller");
    }
}

pub(super) fn network_policy(spec: &Value, errors: &mut Errors) {
    selectors::selector("spec.podSelector", &spec["podSelector"], errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in items(spec, direction).iter().enumerate() {
            for (peer_index, peer) in items(rule, peers).iter().enumerate() {
                let at = format!("spec.{direction}[{index}].{peers}[{peer_index}]");
                let sources = peer.as_object().map_or(0, serde_json::Map::len);
                if sources == 0 {
                    errors.required_because(at, "must specify a peer");
                } else if peer["ipBlock"].is_object() && sources > 1 {
                    errors.forbidden(at, "may not specify both ipBlock and another peer");
                }
            }
        }
    }
    for (index, kind) in items(spec, "policyTypes").iter().enumerate() {
        errors.one_of(format!("spec.policyTypes[{index}]"), kind, &["Ingress", "Egress"]);
    }
}

pub(super) fn ip_address(spec: &Value, errors: &mut Errors) {
    let parent = &spec["parentRef"];
    if parent.is_null() {
        errors.required("spec.parentRef");
        return;
    }
    for name in ["resource", "name"] {
        if text(parent, name).is_empty() {
            errors.required(format!("spec.parentRef.{name}"));
        }
    }
}

pub(super) fn endpoint_slice(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    for (index, endpoint) in items(object, "endpoints").iter().enumerate() {
        if is_empty(&endpoint["addresses"]) {
            let detail = "must contain at least 1 address";
            errors.required_because(format!("endpoints[{index}].addresses"), detail);
        }
    }
    match text(object, "addressType") {
        "" => errors.required("addressType"),
        _ => match old {
            Some(old) if old["addressType"] != object["addressType"] => {
                errors.immutable("addressType", &object["addressType"], &old["addressType"]);
            }
            _ => errors.one_of("addressType", &object["addressType"], &["FQDN", "IPv4", "IPv6"]),
        },
    }
}
