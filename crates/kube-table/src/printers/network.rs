//! Services, endpoints, ingresses and addresses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Print, values};
use crate::format::{first_of, first_three_or_unset, join, labels, qualified, quantity, selector_cell};
use crate::row::{Row, items, number, text};

/// Printers of `networking.k8s.io` and `discovery.k8s.io`.
pub(super) fn printer(kind: &str) -> Option<Print> {
    let print: Print = match kind {
        "EndpointSlice" => endpoint_slice,
        "Ingress" => ingress,
        "IngressClass" => ingress_class,
        "IPAddress" => ip_address,
        "NetworkPolicy" => network_policy,
        "ServiceCIDR" => service_cidr,
        _ => return None,
    };
    Some(print)
}

pub(super) fn service(row: Row<'_>) -> Vec<Value> {
    let ports: Vec<String> = row.items("/spec/ports").iter().map(service_port).collect();
    let ports = if ports.is_empty() {
        "<none>".into()
    } else {
        ports.join(",")
    };
    values![
        row.name(),
        row.text("/spec/type"),
        row.given("/spec/clusterIPs/0").unwrap_or("<none>"),
        external_ips(row),
        ports,
        row.age(),
        labels(row.entries("/spec/selector")),
    ]
}

fn service_port(port: &Value) -> String {
    let (number, node, protocol) = (
        number(port, "port"),
        number(port, "nodePort"),
        text(port, "protocol"),
    );
    if node > 0 {
        format!("{number}:{node}/{protocol}")
    } else {
        format!("{number}/{protocol}")
    }
}

fn external_ips(row: Row<'_>) -> String {
    let external = row.items("/spec/externalIPs");
    match row.text("/spec/type") {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".into(),
        "ClusterIP" | "NodePort" => join(external, ","),
        "LoadBalancer" => {
            let mut addresses = balancer_addresses(row);
            addresses.extend(external.iter().filter_map(Value::as_str));
            if addresses.is_empty() {
                "<pending>".into()
            } else {
                addresses.join(",")
            }
        }
        "ExternalName" => row.text("/spec/externalName").into(),
        _ => "<unknown>".into(),
    }
}

/// Returns the addresses of a load balancer in order, without duplicates.
fn balancer_addresses(row: Row<'_>) -> Vec<&str> {
    let addresses: BTreeSet<&str> = row
        .items("/status/loadBalancer/ingress")
        .iter()
        .map(|ingress| match text(ingress, "ip") {
            "" => text(ingress, "hostname"),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect()
}

pub(super) fn endpoints(row: Row<'_>) -> Vec<Value> {
    let subsets = row.items("/subsets");
    let shown = if subsets.is_empty() {
        "<none>".into()
    } else {
        first_of(&subsets.iter().flat_map(subset).collect::<Vec<_>>(), 3, ",")
    };
    values![row.name(), shown, row.age()]
}

/// Returns every address with every port, or without a port if there are none.
fn subset(subset: &Value) -> Vec<String> {
    let addresses = items(&subset["addresses"])
        .iter()
        .map(|address| text(address, "ip"));
    let ports = items(&subset["ports"]);
    if ports.is_empty() {
        return addresses.map(str::to_owned).collect();
    }
    ports
        .iter()
        .flat_map(|port| {
            let port = number(port, "port");
            addresses.clone().map(move |ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{port}")
                } else {
                    format!("{ip}:{port}")
                }
            })
        })
        .collect()
}

fn endpoint_slice(row: Row<'_>) -> Vec<Value> {
    let ports: Vec<String> = row
        .items("/ports")
        .iter()
        .map(|port| match (&port["port"], &port["name"]) {
            (Value::Number(number), _) => number.to_string(),
            (_, Value::String(name)) => name.clone(),
            _ => "*".into(),
        })
        .collect();
    let addresses: Vec<String> = row
        .items("/endpoints")
        .iter()
        .flat_map(|endpoint| items(&endpoint["addresses"]))
        .map(quantity)
        .collect();
    values![
        row.name(),
        row.text("/addressType"),
        first_three_or_unset(&ports),
        first_three_or_unset(&addresses),
        row.age(),
    ]
}

fn ingress(row: Row<'_>) -> Vec<Value> {
    let ports = if row.items("/spec/tls").is_empty() {
        "80"
    } else {
        "80, 443"
    };
    values![
        row.name(),
        row.given("/spec/ingressClassName").unwrap_or("<none>"),
        hosts(row.items("/spec/rules")),
        balancer_addresses(row).join(","),
        ports,
        row.age(),
    ]
}

/// Returns the first three hosts. The rest is counted in rules, with or without a host.
fn hosts(rules: &[Value]) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for rule in rules {
        if shown.len() == 3 {
            return format!("{} + {} more...", shown.join(","), rules.len() - 3);
        }
        shown.extend(Some(text(rule, "host")).filter(|host| !host.is_empty()));
    }
    if shown.is_empty() {
        "*".into()
    } else {
        shown.join(",")
    }
}

fn ingress_class(row: Row<'_>) -> Vec<Value> {
    let mut name = row.name().to_owned();
    if row.annotation("ingressclass.kubernetes.io/is-default-class") == Some("true") {
        name.push_str(" (default)");
    }
    let parameters = row.at("/spec/parameters").map_or_else(
        || "<none>".into(),
        |parameters| {
            let kind = match parameters["apiGroup"].as_str() {
                Some(group) => format!("{}.{group}", text(parameters, "kind")),
                None => text(parameters, "kind").into(),
            };
            format!("{kind}/{}", text(parameters, "name"))
        },
    );
    values![name, row.text("/spec/controller"), parameters, row.age()]
}

fn ip_address(row: Row<'_>) -> Vec<Value> {
    let parent = row.at("/spec/parentRef").map_or_else(
        || "<none>".into(),
        |parent| {
            let resource = qualified(text(parent, "resource"), text(parent, "group")).to_lowercase();
            let name = text(parent, "name");
            match text(parent, "namespace") {
                "" => format!("{resource}/{name}"),
                namespace => format!("{resource}/{namespace}/{name}"),
            }
        },
    );
    // One cell more than columns, like the kube-apiserver.
    values![row.name(), parent, row.age()]
}

fn network_policy(row: Row<'_>) -> Vec<Value> {
    values![row.name(), selector_cell(row.at("/spec/podSelector")), row.age()]
}

fn service_cidr(row: Row<'_>) -> Vec<Value> {
    values![row.name(), join(row.items("/spec/cidrs"), ","), row.age()]
}
