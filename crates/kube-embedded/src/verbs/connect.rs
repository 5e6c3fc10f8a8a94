//! Requests that need a node: logs, exec, attach, port forwarding and proxies. There are no nodes, so they fail as on a real
//! server whose nodes do not respond.

use super::log::check_log;
use super::log::container;
use crate::cluster::Cluster;
use crate::request::{ObjectPath, Query};
use crate::status::{Result, Status, Subject};
use crate::store::{Key, Stored};

/// Returns whether a request needs a node.
pub(crate) fn is_node_request(path: &ObjectPath) -> bool {
    matches!(
        path.subresource.as_deref(),
        Some("log" | "attach" | "exec" | "portforward" | "proxy")
    )
}

/// Checks a request that needs a node. It can only succeed for the log of a pod without a node, which is empty.
pub(crate) fn connect(cluster: &Cluster, path: &ObjectPath, query: &Query, object: &Stored) -> Result<()> {
    let name = object.key.name();
    let pod = object.value();
    match (path.resource.plural.as_str(), path.subresource.as_deref()) {
        ("pods", Some("proxy")) => return Err(Status::bad_request("address not allowed")),
        ("pods", Some("portforward")) => {}
        ("pods", Some("log")) => return check_log(cluster, object, query),
        ("pods", _) => {
            container(name, &pod, query.text("container"))?;
        }
        (resource, _) => {
            let kind = resource.trim_end_matches('s');
            let why = format!("no endpoints available for {kind} {name:?}");
            return Err(Status::new(503, "ServiceUnavailable", why));
        }
    }
    match pod["spec"]["nodeName"].as_str().unwrap_or_default() {
        "" => Err(Status::bad_request(format!(
            "pod {name} does not have a host assigned"
        ))),
        node if cluster.store.get("/nodes", &Key::new(None, node)).is_some() => {
            Err(Status::internal(format!("dial tcp: lookup {node}: no such host")))
        }
        // The real server names the resource of the request here, too.
        node => Err(Status::not_found(Subject {
            group: "",
            resource: "pods",
            name: node,
        })),
    }
}
