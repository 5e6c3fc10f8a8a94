//! Users of requests: clients, credentials, impersonation.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kube_embedded::{Server, User};
use serde_json::{Value, json};

use crate::common::{binding, core, forbidden, refusal, role, send, send_with, server};

const SELF_SUBJECT_REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async fn user_info(client: &Client, headers: &[(&str, &str)]) -> Value {
    let review = send_with(client, "POST", SELF_SUBJECT_REVIEWS, &json!({}), headers)
        .await
        .expect("a review");
    review["status"]["userInfo"].clone()
}

fn with_token(server: &Server, token: Option<&str>) -> Client {
    let mut config: Config = server.client_config();
    config.auth_info.token = token.map(|token| token.to_owned().into());
    Client::try_from(config).expect("a client")
}

#[tokio::test]
async fn default_clients_are_the_administrator() {
    let server = server([]).await;
    let admin =
        json!({ "username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"] });
    for client in [server.client().expect("a client"), server.direct_client()] {
        assert_eq!(user_info(&client, &[]).await, admin);
        assert!(Api::<Pod>::all(client).list(&ListParams::default()).await.is_ok());
    }
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a config");
    assert_eq!(
        user_info(&Client::try_from(config).expect("a client"), &[]).await,
        admin
    );
    server.stop().await;
}

#[tokio::test]
async fn clients_of_users_have_their_names_and_groups() {
    let server = server([]).await;
    let jane = User::named("jane")
        .group("dev")
        .uid("u1")
        .extra("scopes", "a")
        .extra("scopes", "b");
    let expected = json!({
        "username": "jane", "uid": "u1", "groups": ["dev", "system:authenticated"], "extra": { "scopes": ["a", "b"] },
    });
    for client in [
        server.client_as(&jane).expect("a client"),
        server.direct_client_as(&jane),
    ] {
        assert_eq!(user_info(&client, &[]).await, expected);
    }
    let account = server.direct_client_as(&User::service_account("shop", "op"));
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated"
    ]);
    let expected = json!({ "username": "system:serviceaccount:shop:op", "groups": groups });
    assert_eq!(user_info(&account, &[]).await, expected);
    server.stop().await;
}

#[tokio::test]
async fn request_without_credentials_is_anonymous() {
    let server = server([]).await;
    let anonymous = with_token(&server, None);
    assert_eq!(
        forbidden(
            Api::<Pod>::all(anonymous.clone())
                .list(&ListParams::default())
                .await
        ),
        "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" at the cluster scope"
    );
    assert!(
        anonymous.apiserver_version().await.is_ok(),
        "granted by system:public-info-viewer"
    );
    assert_eq!(
        forbidden(anonymous.list_api_groups().await),
        "forbidden: User \"system:anonymous\" cannot get path \"/apis\""
    );
    server.stop().await;
}

#[tokio::test]
async fn invalid_token_is_unauthorized() {
    let server = server([]).await;
    let other = self::server([]).await;
    let foreign = other.token_for(&User::named("jane").group("system:masters"));
    let own = server.token_for(&User::named("jane"));
    let (head, signature) = own.rsplit_once('.').expect("a signature");
    let unsigned = format!("{head}.");
    let (header, _) = head.split_once('.').expect("a header");
    let forged = format!("{header}.e30.{signature}");
    for token in ["nonsense", "a.b.c", &foreign, &unsigned, &forged] {
        let client = with_token(&server, Some(token));
        let refused = refusal(client.apiserver_version().await);
        assert_eq!(refused, (401, "Unauthorized".to_owned()), "{token}");
    }
    assert!(with_token(&server, Some(&own)).apiserver_version().await.is_ok());
    other.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn headers_impersonate_users_groups_and_accounts() {
    let server = server([]).await;
    let admin = server.client().expect("a client");
    let headers = [
        ("Impersonate-User", "bob"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Uid", "u1"),
        ("Impersonate-Extra-Scopes", "x"),
        ("Impersonate-Extra-acme.com%2Fproject", "y"),
    ];
    let expected = json!({
        "username": "bob", "uid": "u1", "groups": ["a", "b", "system:authenticated"],
        "extra": { "acme.com/project": ["y"], "scopes": ["x"] },
    });
    assert_eq!(user_info(&admin, &headers).await, expected);
    let account = user_info(&admin, &[("Impersonate-User", "system:serviceaccount:shop:op")]).await;
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated"
    ]);
    assert_eq!(account["groups"], groups);
    let nameless = send_with(
        &admin,
        "POST",
        SELF_SUBJECT_REVIEWS,
        &json!({}),
        &[("Impersonate-Group", "a")],
    )
    .await;
    let why = "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"a\"}, Extra:map[string][]string(nil)} \
               without impersonating a user name";
    assert_eq!(refusal(nameless), (400, why.to_owned()));
    let as_jane = [("Impersonate-User", "jane")];
    let denied = send_with(&admin, "GET", "/api/v1/pods", &Value::Null, &as_jane).await;
    assert!(forbidden(denied).contains("User \"jane\" cannot list"));
    server.stop().await;
}

#[tokio::test]
async fn impersonation_needs_the_verb_impersonate() {
    let server = server([
        role("ClusterRole", "as-bob", &json!([
            { "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["bob"] },
        ])),
        binding("ClusterRoleBinding", "ClusterRole/as-bob", "jane"),
        role("ClusterRole", "lists-as", &json!([
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:user-info:list"] },
            { "apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"], "resourceNames": ["bob"] },
        ])),
        binding("ClusterRoleBinding", "ClusterRole/lists-as", "mint"),
        role("ClusterRole", "lists", &core(&["pods"], &["list", "get"])),
        binding("ClusterRoleBinding", "ClusterRole/lists", "bob"),
    ])
    .await;
    let pods = "/api/v1/pods";
    let bob = [("Impersonate-User", "bob")];
    let jane = server.client_as(&User::named("jane")).expect("a client");
    assert!(send_with(&jane, "GET", pods, &Value::Null, &bob).await.is_ok());
    forbidden(send(&jane, "GET", pods, &Value::Null).await);
    let in_group = [
        ("Impersonate-User", "bob"),
        ("Impersonate-Group", "system:masters"),
    ];
    assert_eq!(
        forbidden(send_with(&jane, "GET", pods, &Value::Null, &in_group).await),
        "groups \"system:masters\" is forbidden: User \"jane\" cannot impersonate resource \"groups\" in API group \"\" at the \
         cluster scope"
    );
    let account = [("Impersonate-User", "system:serviceaccount:shop:op")];
    assert_eq!(
        forbidden(send_with(&jane, "GET", pods, &Value::Null, &account).await),
        "pods is forbidden: User \"jane\" cannot impersonate-on:serviceaccount:list resource \"pods\" in API group \"\" at the \
         cluster scope"
    );
    // Permissions for single actions.
    let mint = server.client_as(&User::named("mint")).expect("a client");
    assert!(send_with(&mint, "GET", pods, &Value::Null, &bob).await.is_ok());
    let alice = [("Impersonate-User", "alice")];
    assert_eq!(
        forbidden(send_with(&mint, "GET", pods, &Value::Null, &alice).await),
        "users.authentication.k8s.io \"alice\" is forbidden: User \"mint\" cannot impersonate:user-info resource \"users\" in API \
         group \"authentication.k8s.io\" at the cluster scope"
    );
    assert_eq!(
        forbidden(send_with(&mint, "GET", "/api/v1/namespaces/shop/pods/x", &Value::Null, &bob).await),
        "pods \"x\" is forbidden: User \"mint\" cannot impersonate-on:user-info:get resource \"pods\" in API group \"\" in the \
         namespace \"shop\""
    );
    server.stop().await;
}

#[tokio::test]
async fn record_contains_the_user() {
    let server = server([]).await;
    let jane = server.direct_client_as(&User::named("jane"));
    let _ = send(&jane, "GET", "/api/v1/pods", &Value::Null).await;
    let admin = server.direct_client();
    let _ = send_with(
        &admin,
        "GET",
        "/api/v1/nodes",
        &Value::Null,
        &[("Impersonate-User", "bob")],
    )
    .await;
    let _ = send(
        &with_token(&server, Some("nonsense")),
        "GET",
        "/api/v1/secrets",
        &Value::Null,
    )
    .await;
    let requests = server.requests();
    let seen: Vec<_> = requests
        .iter()
        .map(|request| (request.resource.as_str(), request.user.as_deref(), request.status))
        .collect();
    let expected = [
        ("pods", Some("jane"), Some(403)),
        ("nodes", Some("bob"), Some(403)),
        ("secrets", None, Some(401)),
    ];
    assert_eq!(seen, expected);
    server.stop().await;
}
