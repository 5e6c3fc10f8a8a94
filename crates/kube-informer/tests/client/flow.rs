//! Bodies are streamed, so a slow reader does not delay others.

use kube_embedded::Server;
use kube_informer::client::watching_client;
use serde_json::json;

use crate::requests::{answer, read};

#[tokio::test]
async fn unread_lists_do_not_delay_others() {
    let server = Server::start().await.expect("a server");
    let text = "x".repeat(500_000);
    let maps = (0..10).map(|n| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("large-{n}"), "namespace": "default" },
            "data": { "text": text },
        })
    });
    server.load(maps).expect("large objects");
    let client = watching_client(server.client_config()).expect("a client");
    let list = "/api/v1/configmaps";
    let unread = futures::future::join_all((0..20).map(|_| answer(&client, list))).await;
    let whole = read(answer(&client, list).await).await;
    assert!(whole.len() > 5_000_000);
    for late in unread {
        assert_eq!(read(late).await.len(), whole.len());
    }
    assert_eq!(server.connections(), 1);
}
