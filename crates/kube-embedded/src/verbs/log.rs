//! Logs of pods. They are empty, because there are no nodes; their options are checked.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::request::Query;
use crate::status::{FieldError, Result, Status, Subject};
use crate::store::{Key, Stored};

/// Checks a request for a log. Only a pod without a node has one, which is empty.
pub(crate) fn check_log(cluster: &Cluster, pod: &Stored, query: &Query) -> Result<()> {
    let name = pod.key.name();
    check_options(name, query)?;
    let pod_value = pod.value();
    let container = container(name, &pod_value, query.text("container"))?;
    let Some(node) = pod_value["spec"]["nodeName"].as_str().filter(|n| !n.is_empty()) else {
        return Ok(());
    };
    let Some(found) = cluster.store.get("/nodes", &Key::new(None, node)) else {
        // The real server names the node but calls it a pod.
        return Err(Status::not_found(Subject {
            group: "",
            resource: "pods",
            name: node,
        }));
    };
    let addresses = found.value()["status"]["addresses"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let reachable = addresses.iter().find_map(|a| a["address"].as_str());
    let Some(address) = reachable else {
        return Err(Status::unnamed(
            "no preferred addresses found; known addresses: []",
        ));
    };
    let namespace = pod.key.namespace().unwrap_or_default();
    Err(Status::unnamed(format!(
        "Get \"https://{address}:10250/containerLogs/{namespace}/{name}/{container}\": dial tcp {address}:10250: \
         connect: connection refused"
    )))
}

fn check_options(name: &str, query: &Query) -> Result<()> {
    let mut errors = Vec::new();
    for (option, least, why) in [
        ("tailLines", 0, "must be greater than or equal to 0"),
        ("limitBytes", 1, "must be greater than 0"),
        ("sinceSeconds", 1, "must be greater than 0"),
    ] {
        if let Some(number) = query.integer(option)?
            && number < least
        {
            errors.push(FieldError::invalid(option, number, why));
        }
    }
    if query.has("sinceSeconds") && query.has("sinceTime") {
        let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        errors.push(FieldError::forbidden("[]", why));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid("", "PodLogOptions", name, &errors))
    }
}

/// Returns the name of the requested container.
pub(super) fn container(pod: &str, value: &Value, wanted: &str) -> Result<String> {
    let names = |list: &str| {
        let containers = value["spec"][list].as_array().into_iter().flatten();
        containers
            .filter_map(|c| c["name"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let mut all = names("initContainers");
    all.extend(names("containers"));
    all.extend(names("ephemeralContainers"));
    match (wanted, all.as_slice()) {
        ("", [only]) => Ok(only.clone()),
        ("", _) => Err(Status::bad_request(format!(
            "a container name must be specified for pod {pod}, choose one of: [{}]",
            all.join(" ")
        ))),
        _ if all.iter().any(|name| name == wanted) => Ok(wanted.to_owned()),
        _ => Err(Status::bad_request(format!(
            "container {wanted} is not valid for pod {pod}"
        ))),
    }
}
