//! Access: hosts, headers, methods and routes.

use axum::Router;
use axum::body::Body;
use http::{Method, Request, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::SharedInformer;
use kube_informer_dashboard::Dashboard;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{TIMEOUT, get, send, server};

#[tokio::test]
async fn the_content_security_policy_forbids_other_origins() {
    let router = Dashboard::new().router();
    for path in [
        "/",
        "/dashboard.js",
        "/dashboard.css",
        "/icon.svg",
        "/api/overview",
        "/nothing",
    ] {
        let answer = get(&router, path).await;
        let header = |name: &str| {
            answer
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'self';") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        assert_eq!(
            (header("x-content-type-options"), header("cache-control")),
            ("nosniff", "no-store"),
            "{path}"
        );
        assert_eq!(header("access-control-allow-origin"), "", "{path}");
    }
    let page = get(&router, "/").await.text;
    for outside in ["http:", "https:", "<style", "style=", "onclick", "<script>"] {
        assert!(!page.contains(outside), "{outside} in the page");
    }
    for script in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "https://",
    ] {
        assert!(
            !get(&router, "/dashboard.js").await.text.contains(script),
            "{script} in the script"
        );
    }
}

#[tokio::test]
async fn only_get_is_accepted() {
    let router = Dashboard::new().router();
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        for path in ["/", "/api/overview", "/api/objects", "/nothing"] {
            let request = Request::builder()
                .method(&method)
                .uri(path)
                .body(Body::empty())
                .expect("a request");
            let status = send(&router, request).await.status;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn the_page_works_under_any_path() {
    let app = Router::new().nest("/a/dash", Dashboard::new().router());
    let page = get(&app, "/a/dash").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(
        page.headers["content-type"]
            .to_str()
            .expect("text")
            .starts_with("text/html")
    );
    for link in [
        "src=\"./dash/dashboard.js\"",
        "href=\"./dash/dashboard.css\"",
        "src=\"./dash/icon.svg\"",
    ] {
        assert!(page.text.contains(link), "{link}");
    }
    let service = Router::new().nest_service("/a/dash", Dashboard::new().router());
    let page = get(&service, "/a/dash/").await;
    assert!(page.text.contains("src=\"./dashboard.js\""), "{}", page.text);
    for path in [
        "/a/dash/dashboard.js",
        "/a/dash/dashboard.css",
        "/a/dash/icon.svg",
        "/a/dash/api/overview",
    ] {
        assert_eq!(get(&app, path).await.status, StatusCode::OK, "{path}");
    }
    assert_eq!(get(&app, "/a/dash/none").await.status, StatusCode::NOT_FOUND);
}

/// Returns the response to a request over a socket.
async fn request_over_socket(address: std::net::SocketAddr, host: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET /api/overview HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut response = String::new();
    stream.read_to_string(&mut response).await.expect("an answer");
    response
}

#[tokio::test]
async fn on_loopback_only_loopback_names_are_accepted() {
    let dashboard = Dashboard::new().start().await.expect("a port");
    let address = dashboard.address();
    assert!(address.ip().is_loopback());
    assert_eq!(dashboard.url(), format!("http://{address}/"));
    for host in [&address.to_string(), "localhost", "[::1]:80"] {
        assert!(
            request_over_socket(address, host)
                .await
                .starts_with("HTTP/1.1 200"),
            "{host}"
        );
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example"] {
        let response = request_over_socket(address, host).await;
        assert!(
            response.starts_with("HTTP/1.1 421") && !response.contains("informers\":"),
            "{host}: {response}"
        );
    }
    dashboard.stop().await;
    let named = Dashboard::new()
        .hosts(["dash.example"])
        .start()
        .await
        .expect("a port");
    assert!(
        request_over_socket(named.address(), "dash.example")
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert!(
        request_over_socket(named.address(), "localhost")
            .await
            .starts_with("HTTP/1.1 421")
    );
}

#[tokio::test]
async fn additional_routes_have_the_same_host_check() {
    let answers = axum::routing::get(async || "healthy");
    let dashboard = Dashboard::new()
        .beside("/healthz", answers)
        .start()
        .await
        .expect("a port");
    let ask = async |host: &str| {
        let mut stream = TcpStream::connect(dashboard.address())
            .await
            .expect("a connection");
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).await.expect("an answer");
        response
    };
    assert!(ask("localhost").await.ends_with("healthy"));
    assert!(!ask("evil.example").await.contains("healthy"));
}

#[tokio::test]
async fn a_stopped_dashboard_releases_everything() {
    let (_server, client) = server().await;
    let maps = SharedInformer::<ConfigMap>::builder(client).build();
    let dashboard = Dashboard::new().informer(&maps).start().await.expect("a port");
    let address = dashboard.address();
    // An idle connection does not delay the stop.
    let idle = TcpStream::connect(address).await.expect("a connection");
    assert!(
        request_over_socket(address, "localhost")
            .await
            .starts_with("HTTP/1.1 200")
    );
    tokio::time::timeout(TIMEOUT, dashboard.stop())
        .await
        .expect("a stop");
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(maps.registrations().len(), 0);
    drop(idle);
}
