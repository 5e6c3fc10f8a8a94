//! Allocates the addresses and node ports of Services.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::status::{FieldError, Result, Status};
use crate::store::Key;

/// First address and number of addresses of 10.96.0.0/16, without network and broadcast address.
const FIRST_ADDRESS: u32 = u32::from_be_bytes([10, 96, 0, 1]);
const ADDRESSES: u32 = 65534;
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Sets missing addresses and node ports of a Service.
pub(crate) fn allocate(cluster: &Cluster, service: &mut Value, old: Option<&Value>) -> Result<()> {
    let kind = service["spec"]["type"].as_str().unwrap_or("ClusterIP").to_owned();
    if kind == "ExternalName" {
        return Ok(());
    }
    let name = service["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let invalid = |error: FieldError| Status::invalid("", "Service", &name, &[error]);
    let given = service["spec"]["clusterIP"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let known = old
        .and_then(|o| o["spec"]["clusterIP"].as_str())
        .unwrap_or_default();
    if given.is_empty() && !known.is_empty() {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if let Some(value) = old.and_then(|o| o["spec"].get(field)) {
                service["spec"][field] = value.clone();
            }
        }
    } else if given.is_empty() || (given != "None" && given != known) {
        let used = used_addresses(cluster);
        let address = if given.is_empty() {
            free_address(&used)
                .ok_or_else(|| Status::internal("failed to allocate a serviceIP: range is full"))?
        } else {
            let asked: Ipv4Addr = given.parse().map_err(|_| {
                invalid(FieldError::invalid(
                    "spec.clusterIPs",
                    json!([given]),
                    "failed to allocate IP: the provided IP is not valid",
                ))
            })?;
            if used.contains(&asked) {
                let why = format!("failed to allocate IP {asked}: provided IP is already allocated");
                return Err(invalid(FieldError::invalid(
                    "spec.clusterIPs",
                    json!([given]),
                    why,
                )));
            }
            asked
        };
        service["spec"]["clusterIP"] = address.to_string().into();
    }
    let spec = &mut service["spec"];
    let address = spec["clusterIP"].clone();
    if spec["clusterIPs"].as_array().is_none_or(Vec::is_empty) {
        spec["clusterIPs"] = json!([address]);
    }
    if spec["ipFamilies"].as_array().is_none_or(Vec::is_empty) {
        spec["ipFamilies"] = json!(["IPv4"]);
    }
    if spec["ipFamilyPolicy"].is_null() {
        spec["ipFamilyPolicy"] = "SingleStack".into();
    }
    if kind == "NodePort" || kind == "LoadBalancer" {
        allocate_node_ports(cluster, spec, old);
    }
    Ok(())
}

fn used_addresses(cluster: &Cluster) -> BTreeSet<Ipv4Addr> {
    let services = cluster.store.list("/services", Key::range(None)).objects;
    // The first selectable field of a Service is its cluster address.
    services
        .iter()
        .filter_map(|s| s.fields.first()?.parse().ok())
        .collect()
}

fn free_address(used: &BTreeSet<Ipv4Addr>) -> Option<Ipv4Addr> {
    (0..ADDRESSES)
        .map(|n| Ipv4Addr::from(FIRST_ADDRESS + n))
        .find(|a| !used.contains(a))
}

fn allocate_node_ports(cluster: &Cluster, spec: &mut Value, old: Option<&Value>) {
    let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return;
    };
    let wanting = |port: &Value| port["nodePort"].as_i64().unwrap_or(0) == 0;
    for port in ports.iter_mut().filter(|p| wanting(p)) {
        let same = old
            .and_then(|o| o["spec"]["ports"].as_array())
            .into_iter()
            .flatten()
            .find(|known| {
                known["port"] == port["port"]
                    && known["protocol"] == port["protocol"]
                    && known["nodePort"].is_i64()
            });
        if let Some(known) = same {
            port["nodePort"] = known["nodePort"].clone();
        }
    }
    if !ports.iter().any(wanting) {
        return;
    }
    let mut used: BTreeSet<i64> = ports.iter().filter_map(|p| p["nodePort"].as_i64()).collect();
    for service in cluster.store.list("/services", Key::range(None)).objects {
        let service = service.value();
        used.extend(
            service["spec"]["ports"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|p| p["nodePort"].as_i64()),
        );
    }
    let mut free = NODE_PORTS.filter(|p| !used.contains(p));
    for port in ports.iter_mut().filter(|p| wanting(p)) {
        if let Some(number) = free.next() {
            port["nodePort"] = number.into();
        }
    }
}
