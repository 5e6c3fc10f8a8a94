//! Connections to a server without HTTP/2.

use kube_embedded::Server;
use kube_informer::client::watching_client;

use crate::kinds::forty_kinds;

#[tokio::test]
async fn forty_kinds_use_separate_connections_without_http2() {
    let server = Server::builder().only_http1().start().await.expect("a server");
    let factory = forty_kinds(watching_client(server.client_config()).expect("a client")).await;
    // A list or discovery may have left an idle connection.
    let connections = server.connections();
    assert!((40..=45).contains(&connections), "{connections} connections");
    super::stopped(&factory).await;
    server.stop().await;
}
