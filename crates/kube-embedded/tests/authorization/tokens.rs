//! Tokens of service accounts.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, Error};
use kube_embedded::{Authorization, Server, User};
use serde_json::{Value, json};

use crate::common::{forbidden, refusal, role, send, send_with, server};

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

fn account(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": "shop" } })
}

fn request(spec: TokenRequestSpec) -> TokenRequest {
    TokenRequest {
        spec: Some(spec),
        ..TokenRequest::default()
    }
}

async fn token(server: &Server, name: &str, spec: TokenRequestSpec) -> Result<TokenRequest, Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(server.direct_client(), "shop");
    accounts
        .create_token_request(name, &PostParams::default(), &request(spec))
        .await
}

fn text(request: &TokenRequest) -> &str {
    let token = request.status.as_ref().and_then(|status| status.token.as_deref());
    token.expect("a token")
}

fn with_token(server: &Server, token: &str) -> Client {
    let mut config = server.client_config();
    config.auth_info.token = Some(token.to_owned().into());
    Client::try_from(config).expect("a client")
}

/// Decodes the claims of a token, like clients that parse it.
fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let part = token.split('.').nth(1).expect("claims");
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(part)
        .expect("base64");
    serde_json::from_slice(&bytes).expect("JSON")
}

async fn review(server: &Server, spec: &Value) -> Value {
    let review = send(&server.direct_client(), "POST", REVIEWS, &json!({ "spec": spec })).await;
    review.expect("a review")["status"].clone()
}

#[tokio::test]
async fn token_of_an_account_has_the_permissions_of_the_account() {
    let server = server([
        account("operator"),
        role(
            "Role",
            "reader",
            &json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]),
        ),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": "reader", "namespace": "shop" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
            "subjects": [{ "kind": "ServiceAccount", "name": "operator", "namespace": "shop" }],
        }),
    ])
    .await;
    let issued = token(&server, "operator", TokenRequestSpec::default())
        .await
        .expect("a token");
    let spec = issued.spec.as_ref().expect("a spec");
    assert_eq!(
        spec.audiences,
        Some(vec!["https://kubernetes.default.svc".to_owned()])
    );
    assert_eq!(spec.expiration_seconds, Some(3600));
    let claims = claims(text(&issued));
    assert_eq!(claims["sub"], "system:serviceaccount:shop:operator");
    assert_eq!(claims["aud"], json!(["https://kubernetes.default.svc"]));
    assert_eq!(claims["kubernetes.io"]["namespace"], "shop");
    assert_eq!(claims["kubernetes.io"]["serviceaccount"]["name"], "operator");
    let lifetime = claims["exp"].as_i64().expect("a time") - claims["iat"].as_i64().expect("a time");
    assert_eq!(lifetime, 3600);
    let status = issued.status.as_ref().expect("a status");
    let expires = status.expiration_timestamp.as_ref().expect("a time");
    assert_eq!(expires.0.as_second(), claims["exp"].as_i64().expect("a time"));

    let client = with_token(&server, text(&issued));
    assert!(
        Api::<Pod>::namespaced(client.clone(), "shop")
            .list(&ListParams::default())
            .await
            .is_ok()
    );
    assert_eq!(
        forbidden(
            Api::<Pod>::namespaced(client.clone(), "other")
                .list(&ListParams::default())
                .await
        ),
        "pods is forbidden: User \"system:serviceaccount:shop:operator\" cannot list resource \"pods\" in API group \"\" in the \
         namespace \"other\""
    );
    // The token becomes invalid with the deletion of its account, even if a new one has the same name.
    assert!(server.delete("serviceaccounts", Some("shop"), "operator"));
    assert_eq!(refusal(client.apiserver_version().await).0, 401);
    server.load([account("operator")]).expect("an account");
    assert_eq!(refusal(client.apiserver_version().await).0, 401);
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn token_expires_on_the_clock_of_the_runtime() {
    let builder = Server::builder()
        .authorization(Authorization::Rbac)
        .without_port();
    let server = builder.start().await.expect("a server");
    server
        .load([
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } }),
            account("op"),
        ])
        .expect("loaded");
    let spec = TokenRequestSpec {
        expiration_seconds: Some(600),
        ..TokenRequestSpec::default()
    };
    let issued = token(&server, "op", spec).await.expect("a token");
    let bearer = format!("Bearer {}", text(&issued));
    let version = async || {
        let headers = [("Authorization", bearer.as_str())];
        send_with(&server.direct_client(), "GET", "/version", &Value::Null, &headers).await
    };
    assert!(version().await.is_ok());
    tokio::time::advance(Duration::from_secs(599)).await;
    assert!(version().await.is_ok());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(refusal(version().await), (401, "Unauthorized".to_owned()));
    let expired = review(&server, &json!({ "token": text(&issued) })).await;
    let why = "[invalid bearer token, service account token has expired]";
    assert_eq!(expired, json!({ "user": {}, "error": why }));
    // Tokens of the server's own clients do not expire.
    assert!(
        server
            .direct_client_as(&User::named("jane"))
            .apiserver_version()
            .await
            .is_ok()
    );
    server.stop().await;
}

#[tokio::test]
async fn token_is_bound_to_an_object_and_to_audiences() {
    let server = server([
        account("op"),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "shop" } }),
    ])
    .await;
    let bound = |kind: &str, name: &str, uid: Option<&str>| TokenRequestSpec {
        bound_object_ref: Some(BoundObjectReference {
            api_version: Some("v1".into()),
            kind: Some(kind.into()),
            name: Some(name.into()),
            uid: uid.map(str::to_owned),
        }),
        ..TokenRequestSpec::default()
    };
    let issued = token(&server, "op", bound("Secret", "s", None))
        .await
        .expect("a token");
    assert_eq!(claims(text(&issued))["kubernetes.io"]["secret"]["name"], "s");
    let client = with_token(&server, text(&issued));
    assert!(client.apiserver_version().await.is_ok());
    assert!(server.delete("secrets", Some("shop"), "s"));
    assert_eq!(refusal(client.apiserver_version().await).0, 401);

    let missing = token(&server, "op", bound("Pod", "nope", None)).await;
    assert_eq!(refusal(missing), (404, "pods \"nope\" not found".to_owned()));
    let wrong = token(&server, "op", bound("ConfigMap", "s", None)).await;
    assert_eq!(
        refusal(wrong),
        (
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap".to_owned()
        )
    );

    let audiences = TokenRequestSpec {
        audiences: Some(vec!["x".into()]),
        ..TokenRequestSpec::default()
    };
    let issued = token(&server, "op", audiences).await.expect("a token");
    let token = text(&issued);
    assert_eq!(
        refusal(with_token(&server, token).apiserver_version().await).0,
        401
    );
    let found = review(&server, &json!({ "token": token, "audiences": ["x", "y"] })).await;
    assert_eq!(found["authenticated"], true);
    assert_eq!(found["audiences"], json!(["x"]));
    assert_eq!(found["user"]["username"], "system:serviceaccount:shop:op");
    let why = "[invalid bearer token, token audiences [\"x\"] is invalid for the target audiences \
               [\"https://kubernetes.default.svc\"]]";
    assert_eq!(
        review(&server, &json!({ "token": token })).await,
        json!({ "user": {}, "error": why })
    );
    server.stop().await;
}

#[tokio::test]
async fn invalid_token_requests_are_rejected() {
    let server = server([account("op")]).await;
    let seconds = |seconds: i64| TokenRequestSpec {
        expiration_seconds: Some(seconds),
        ..TokenRequestSpec::default()
    };
    for (name, spec, code, message) in [
        (
            "op",
            seconds(5),
            422,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a \
             duration less than 10 minutes",
        ),
        (
            "op",
            seconds((1 << 32) + 1),
            422,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not \
             specify a duration larger than 2^32 seconds",
        ),
        (
            "nope",
            TokenRequestSpec::default(),
            404,
            "serviceaccounts \"nope\" not found",
        ),
    ] {
        assert_eq!(
            refusal(token(&server, name, spec).await),
            (code, message.to_owned())
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn token_reviews_return_the_user() {
    let server = server([account("op")]).await;
    let issued = token(&server, "op", TokenRequestSpec::default())
        .await
        .expect("a token");
    let found = review(&server, &json!({ "token": text(&issued) })).await;
    let uid = server
        .object("serviceaccounts", Some("shop"), "op")
        .expect("an account")["metadata"]["uid"]
        .clone();
    let id = claims(text(&issued))["jti"].as_str().expect("an id").to_owned();
    assert_eq!(
        found,
        json!({
            "authenticated": true,
            "user": {
                "username": "system:serviceaccount:shop:op",
                "uid": uid,
                "groups": ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
                "extra": { "authentication.kubernetes.io/credential-id": [format!("JTI={id}")] },
            },
            "audiences": ["https://kubernetes.default.svc"],
        })
    );
    let unknown = review(&server, &json!({ "token": "bad" })).await;
    assert_eq!(unknown, json!({ "user": {}, "error": "invalid bearer token" }));
    let none = send(&server.direct_client(), "POST", REVIEWS, &json!({ "spec": {} })).await;
    assert_eq!(
        refusal(none),
        (
            400,
            "token is required for TokenReview in authentication".to_owned()
        )
    );
    assert!(server.delete("serviceaccounts", Some("shop"), "op"));
    let gone = review(&server, &json!({ "token": text(&issued) })).await;
    assert_eq!(
        gone,
        json!({ "user": {}, "error": "[invalid bearer token, serviceaccounts \"op\" not found]" })
    );
    server.stop().await;
}
