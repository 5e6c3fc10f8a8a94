//! Defaults of services, endpoints and policies.

use serde_json::{Value, json};

use super::fields::{each_item, is_empty, object_at, remove, set_default, text, with};

const AFFINITY_SECONDS: i64 = 10800;

/// Sets the defaults of a service, except addresses and node ports.
pub(super) fn service(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "sessionAffinity", "None");
    set_default(spec, "type", "ClusterIP");
    match text(spec, "sessionAffinity") {
        "None" => {
            remove(spec, "sessionAffinityConfig");
        }
        "ClientIP" => {
            let config = object_at(object_at(spec, "sessionAffinityConfig"), "clientIP");
            set_default(config, "timeoutSeconds", AFFINITY_SECONDS);
        }
        _ => {}
    }
    each_item(spec, "ports", |port| {
        set_default(port, "protocol", "TCP");
        let number = port["port"].clone();
        if is_empty(&port["targetPort"]) || port["targetPort"] == 0 {
            port["targetPort"] = number;
        }
    });
    let kind = text(spec, "type").to_owned();
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
    with(object, "status", |status| {
        with(status, "loadBalancer", |balancer| {
            each_item(balancer, "ingress", |ingress| {
                if !text(ingress, "ip").is_empty() {
                    set_default(ingress, "ipMode", "VIP");
                }
            });
        });
    });
}

pub(super) fn endpoints(object: &mut Value) {
    each_item(object, "subsets", |subset| {
        each_item(subset, "ports", |port| set_default(port, "protocol", "TCP"));
    });
}

pub(super) fn endpoint_slice(object: &mut Value) {
    each_item(object, "ports", |port| {
        set_default(port, "name", "");
        set_default(port, "protocol", "TCP");
    });
}

pub(super) fn ingress_class(object: &mut Value) {
    with(object, "spec", |spec| {
        with(spec, "parameters", |parameters| {
            set_default(parameters, "scope", "Cluster");
        });
    });
}

pub(super) fn network_policy(object: &mut Value) {
    let spec = object_at(object, "spec");
    object_at(spec, "podSelector");
    if is_empty(&spec["policyTypes"]) {
        spec["policyTypes"] = if is_empty(&spec["egress"]) {
            json!(["Ingress"])
        } else {
            json!(["Ingress", "Egress"])
        };
    }
    for direction in ["ingress", "egress"] {
        each_item(spec, direction, |rule| {
            each_item(rule, "ports", |port| set_default(port, "protocol", "TCP"));
        });
    }
}
