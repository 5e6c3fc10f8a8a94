//! client-go's informers of the same objects, through the same proxy.

use std::fs;

use conformance::client_go::{ClientGoProgram, DEFAULT};
use contract_checker::Findings;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{Cluster, PATIENCE};
use crate::sorts::SELECTED;
use crate::subjects::View;
use crate::truth::listed;

/// A client-go program with informers for some views.
pub(crate) struct Oracle {
    program: ClientGoProgram,
    views: Vec<View>,
}

impl Oracle {
    /// Starts the program. Requires Go.
    pub(crate) async fn start(cluster: &Cluster, views: impl Iterator<Item = View>) -> Oracle {
        let kubeconfig = cluster
            .server
            .guest_kubeconfig(cluster.proxy.address())
            .to_string();
        let write = |path: &std::path::Path| fs::write(path, kubeconfig).expect("a kubeconfig");
        let mut program = ClientGoProgram::with(write, "", DEFAULT).await;
        // An informer of client-go watches one namespace or all.
        let views: Vec<View> = views.filter(|view| !view.is_several()).collect();
        let requested = views.iter().map(|view| {
            let resource = view.sort.resource();
            json!({
                "name": view.name,
                "form": view.form,
                "group": resource.group,
                "version": resource.version,
                "resource": resource.plural,
                "namespace": view.namespaces.first().unwrap_or(&""),
                "labels": if view.selected { SELECTED } else { "" },
            })
        });
        program.ask("follow", &requested.collect()).await;
        Oracle { program, views }
    }

    /// Checks at a quiet point that its stores equal the server's state. client-go waits for up to a minute
    /// after failures.
    pub(crate) async fn check(&mut self, cluster: &Cluster, findings: &Findings) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (mut wanted, [client, _]) = (json!({}), &cluster.clients);
            for view in &self.views {
                let objects = listed(client, view, None).await.expect("a list without faults");
                let versions = objects.iter();
                wanted[view.name] = versions
                    .map(|(key, state)| (key.to_string(), json!(state.version.to_string())))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            }
            let found = self.program.ask("stores", &wanted).await;
            let differs = |view: &&View| found[view.name]["store"] != wanted[view.name];
            let Some(view) = self.views.iter().find(differs) else {
                return;
            };
            if Instant::now() > deadline {
                let (has, server) = (&found[view.name]["store"], &wanted[view.name]);
                let message = format_args!("client-go has {has}, the server {server}");
                return findings.add(5, view.name, message);
            }
        }
    }

    /// Returns the number of events that client-go's handlers received.
    pub(crate) async fn events(&mut self) -> u64 {
        let found = self.program.ask("accounts", &Value::Null).await;
        let count = |name: &str| {
            ["adds", "updates", "deletes"]
                .iter()
                .filter_map(|kind| found[name][kind].as_u64())
                .sum::<u64>()
        };
        self.views.iter().map(|view| count(view.name)).sum()
    }
}
