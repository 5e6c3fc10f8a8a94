//! The server of the benchmark on a cluster. It runs until its standard input ends.
//!
//! It prints the path of its kubeconfig. On the command `forget`, it restarts without its history:
//! connections break, and watches must relist.

use bench::Outcome;
use clap::{Parser, ValueEnum};
use conformance::{Folder, RealServer};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube_embedded::Server;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

#[derive(Debug, Parser)]
struct ServerArguments {
    server: Kind,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// kube-apiserver and etcd from `KUBEBUILDER_ASSETS`
    Real,
    /// The embedded server
    Embedded,
}

#[tokio::main]
async fn main() -> Outcome {
    match ServerArguments::parse().server {
        Kind::Real => real().await,
        Kind::Embedded => embedded().await,
    }
}

async fn real() -> Outcome {
    // The owners of the pods do not exist: a garbage collector would delete the pods.
    let server = RealServer::start_without_controllers().await?;
    let kubeconfig = server.kubeconfig();
    let other = Api::<ConfigMap>::default_namespaced(server.client().await?);
    serve(&kubeconfig, async || {
        // A client with the newest version could resume its watch.
        let mut written = ConfigMap::default();
        written.metadata.generate_name = Some("bench-".into());
        other.create(&PostParams::default(), &written).await?;
        Ok(server.forget_history().await?)
    })
    .await
}

async fn embedded() -> Outcome {
    let folder = Folder::create()?;
    let kubeconfig = folder.path().join("kubeconfig");
    let server = Server::start().await?;
    server.write_kubeconfig(&kubeconfig)?;
    serve(&kubeconfig, async || {
        server.advance_resource_version(1);
        server.compact_history();
        server.cut_connections();
        Ok(())
    })
    .await
}

async fn serve(kubeconfig: &std::path::Path, forget: impl AsyncFn() -> Outcome) -> Outcome {
    println!("{}", json!({"step": "started", "kubeconfig": kubeconfig}));
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if line != "forget" {
            return Err(format!("unknown command {line:?}").into());
        }
        forget().await?;
        println!("{}", json!({"step": "forgot"}));
    }
    Ok(())
}
