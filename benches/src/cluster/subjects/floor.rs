//! The baseline of all subjects: downloads and decrypts a list, and discards it.

use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use kube_informer::client::default_client;

use super::Wire;
use crate::Outcome;
use crate::cluster::ClusterSubject;

/// This project's client without decoding and caching.
pub(super) struct Floor {
    client: Client,
    accept: &'static str,
}

impl Floor {
    pub(super) async fn new(wire: Wire) -> Outcome<Floor> {
        let accept = match wire {
            Wire::Protobuf => "application/vnd.kubernetes.protobuf",
            Wire::Json => "application/json",
        };
        Ok(Floor {
            client: default_client().await?,
            accept,
        })
    }
}

impl ClusterSubject for Floor {
    async fn sync(&mut self) -> Outcome {
        let request = Request::get("/api/v1/pods?resourceVersion=0")
            .header("accept", self.accept)
            .body(Body::empty())?;
        let answer = self.client.send(request).await?;
        if !answer.status().is_success() {
            return Err(format!("the list failed with status {}", answer.status()).into());
        }
        let mut body = answer.into_body();
        while let Some(frame) = body.frame().await {
            frame?;
        }
        Ok(())
    }

    fn objects(&self) -> usize {
        0
    }

    fn lists(&self) -> u64 {
        0
    }
}
