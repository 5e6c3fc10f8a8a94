//! Allowed and forbidden requests.

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams, ListParams, WatchParams};
use kube_embedded::{Server, User};
use serde_json::{Value, json};

use crate::common::{RBAC, binding, core, forbidden, refusal, role, send, server};

#[tokio::test]
async fn role_bindings_allow_the_rules_of_the_role_in_their_namespace() {
    let server = server([
        role("Role", "reader", &core(&["pods"], &["list", "watch"])),
        binding("RoleBinding", "Role/reader", "jane"),
    ])
    .await;
    let jane = server.client_as(&User::named("jane")).expect("a client");
    let pods: Api<Pod> = Api::namespaced(jane.clone(), "shop");
    assert!(
        pods.list(&ListParams::default())
            .await
            .expect("a list")
            .items
            .is_empty()
    );
    let cannot = |verb: &str| format!("User \"jane\" cannot {verb} resource \"pods\" in API group \"\"");
    assert_eq!(
        forbidden(pods.get("a").await),
        format!(
            "pods \"a\" is forbidden: {} in the namespace \"shop\"",
            cannot("get")
        )
    );
    assert_eq!(
        forbidden(
            pods.delete_collection(&DeleteParams::default(), &ListParams::default())
                .await
        ),
        format!(
            "pods is forbidden: {} in the namespace \"shop\"",
            cannot("deletecollection")
        )
    );
    let elsewhere: Api<Pod> = Api::namespaced(jane.clone(), "other");
    assert_eq!(
        forbidden(elsewhere.list(&ListParams::default()).await),
        format!("pods is forbidden: {} in the namespace \"other\"", cannot("list"))
    );
    let everywhere: Api<Pod> = Api::all(jane);
    assert_eq!(
        forbidden(everywhere.list(&ListParams::default()).await),
        format!("pods is forbidden: {} at the cluster scope", cannot("list"))
    );
    server.stop().await;
}

#[tokio::test]
async fn forbidden_requests_get_the_status_of_the_real_server() {
    let server = server([]).await;
    let jane = server.client_as(&User::named("jane")).expect("a client");
    for (method, path, message, details) in [
        (
            "GET",
            "/apis/apps/v1/namespaces/shop/deployments/a/scale",
            "deployments.apps \"a\" is forbidden: User \"jane\" cannot get resource \"deployments/scale\" in API group \
             \"apps\" in the namespace \"shop\"",
            json!({ "name": "a", "group": "apps", "kind": "deployments" }),
        ),
        (
            "GET",
            "/apis/no.such/v1/things/x",
            "things.no.such \"x\" is forbidden: User \"jane\" cannot get resource \"things\" in API group \"no.such\" at the \
             cluster scope",
            json!({ "name": "x", "group": "no.such", "kind": "things" }),
        ),
        (
            "GET",
            "/metrics",
            "forbidden: User \"jane\" cannot get path \"/metrics\"",
            json!({}),
        ),
        (
            "POST",
            "/version",
            "forbidden: User \"jane\" cannot post path \"/version\"",
            json!({}),
        ),
    ] {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .body(Vec::new())
            .expect("a request");
        let response = jane
            .send(request.map(kube::client::Body::from))
            .await
            .expect("a response");
        assert_eq!(response.status(), 403, "{path}");
        let body = response.into_body().collect_bytes().await.expect("a body");
        let status: Value = serde_json::from_slice(&body).expect("a status");
        let expected = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": "Forbidden", "details": details, "code": 403,
        });
        assert_eq!(status, expected, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn named_objects_may_be_listed_and_watched_by_a_field_selector() {
    let named = json!([{
        "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"], "resourceNames": ["mine"],
    }]);
    let server = server([
        role("Role", "mine", &named),
        binding("RoleBinding", "Role/mine", "jane"),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "mine", "namespace": "shop" } }),
    ])
    .await;
    let jane = server.client_as(&User::named("jane")).expect("a client");
    let maps: Api<ConfigMap> = Api::namespaced(jane, "shop");
    assert!(maps.get("mine").await.is_ok());
    forbidden(maps.get("other").await);
    forbidden(maps.list(&ListParams::default()).await);
    let only = ListParams::default().fields("metadata.name=mine");
    assert_eq!(maps.list(&only).await.expect("a list").items.len(), 1);
    let only = WatchParams::default().fields("metadata.name=mine");
    let mut events = maps.watch(&only, "0").await.expect("a watch").boxed();
    assert!(matches!(events.next().await, Some(Ok(_))));
    server.stop().await;
}

#[tokio::test]
async fn watch_is_authorized_when_it_opens() {
    let server = server([
        role("Role", "watcher", &core(&["configmaps"], &["watch"])),
        binding("RoleBinding", "Role/watcher", "jane"),
    ])
    .await;
    let jane = server.client_as(&User::named("jane")).expect("a client");
    let maps: Api<ConfigMap> = Api::namespaced(jane, "shop");
    let mut events = maps
        .watch(&WatchParams::default(), "0")
        .await
        .expect("a watch")
        .boxed();
    assert!(server.delete(
        "rolebindings.rbac.authorization.k8s.io",
        Some("shop"),
        "watcher-jane"
    ));
    // The open watch continues.
    server
        .load([json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "shop" } })])
        .expect("an object");
    assert!(matches!(events.next().await, Some(Ok(_))));
    forbidden(maps.watch(&WatchParams::default(), "0").await.map(drop));
    server.stop().await;
}

#[tokio::test]
async fn built_in_roles_grant_their_permissions() {
    let server = server([
        binding("RoleBinding", "ClusterRole/view", "viewer"),
        binding("RoleBinding", "ClusterRole/edit", "editor"),
        binding("RoleBinding", "ClusterRole/admin", "boss"),
        binding("ClusterRoleBinding", "ClusterRole/cluster-admin", "root"),
    ])
    .await;
    let map = json!({ "metadata": { "generateName": "a-" } });
    let role = json!({ "metadata": { "generateName": "a-" }, "rules": core(&["pods"], &["get"]) });
    let maps = "/api/v1/namespaces/shop/configmaps";
    let roles = format!("{RBAC}/namespaces/shop/roles");
    for (user, list, create, secrets, grant, nodes) in [
        ("viewer", true, false, false, false, false),
        ("editor", true, true, true, false, false),
        ("boss", true, true, true, true, false),
        ("root", true, true, true, true, true),
        ("joe", false, false, false, false, false),
    ] {
        let client = server.client_as(&User::named(user)).expect("a client");
        let outcomes = [
            (list, send(&client, "GET", maps, &Value::Null).await),
            (create, send(&client, "POST", maps, &map).await),
            (
                secrets,
                send(&client, "GET", "/api/v1/namespaces/shop/secrets", &Value::Null).await,
            ),
            (grant, send(&client, "POST", &roles, &role).await),
            (nodes, send(&client, "GET", "/api/v1/nodes", &Value::Null).await),
            (true, send(&client, "GET", "/api", &Value::Null).await),
            (true, send(&client, "GET", "/apis/apps/v1", &Value::Null).await),
        ];
        for (at, (allowed, outcome)) in outcomes.into_iter().enumerate() {
            assert_eq!(outcome.is_ok(), allowed, "{user}, request {at}: {outcome:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn aggregated_roles_follow_the_roles_that_they_select() {
    let server = server([binding("RoleBinding", "ClusterRole/view", "jane")]).await;
    let admin = server.client().expect("a client");
    let jane = server.client_as(&User::named("jane")).expect("a client");
    let widgets = "/apis/example.com/v1/namespaces/shop/widgets";
    forbidden(send(&jane, "GET", widgets, &Value::Null).await);
    let more = json!({
        "metadata": { "name": "widgets", "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
        "rules": [{ "apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["list"] }],
    });
    send(&admin, "POST", &format!("{RBAC}/clusterroles"), &more)
        .await
        .expect("created");
    // Allowed, but missing.
    assert_eq!(refusal(send(&jane, "GET", widgets, &Value::Null).await).0, 404);
    let admins = server
        .object("clusterroles.rbac.authorization.k8s.io", None, "admin")
        .expect("a role");
    assert!(
        admins["rules"].to_string().contains("widgets"),
        "admin collects edit, which collects view"
    );
    send(
        &admin,
        "DELETE",
        &format!("{RBAC}/clusterroles/widgets"),
        &Value::Null,
    )
    .await
    .expect("deleted");
    forbidden(send(&jane, "GET", widgets, &Value::Null).await);
    server.stop().await;
}

#[tokio::test]
async fn without_rbac_all_requests_are_allowed() {
    let server = Server::start().await.expect("a server");
    let jane = server.client_as(&User::named("jane")).expect("a client");
    assert!(Api::<Pod>::all(jane).list(&ListParams::default()).await.is_ok());
    let mut config = server.client_config();
    config.auth_info.token = Some("nonsense".to_owned().into());
    let stranger = kube::Client::try_from(config).expect("a client");
    assert!(
        Api::<Pod>::all(stranger)
            .list(&ListParams::default())
            .await
            .is_ok()
    );
    assert!(server.requests().iter().all(|request| request.user.is_none()));
    server.stop().await;
}
