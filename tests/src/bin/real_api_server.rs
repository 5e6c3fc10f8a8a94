//! A real kube-apiserver for programs that are not tests. It prints the path of its kubeconfig once it is ready,
//! and ends when standard input closes.

use std::io;
use std::process::ExitCode;

use conformance::real::{RealServer, StartError};

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), StartError> {
    let server = RealServer::start().await?;
    println!("{}", server.kubeconfig().display());
    // The servers end when `server` is dropped, even if standard input fails.
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()))
        .await
        .map_err(io::Error::other)??;
    drop(server);
    Ok(())
}
