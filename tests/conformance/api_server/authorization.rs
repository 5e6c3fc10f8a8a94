//! Users, permissions and refusals. On both servers, requests are authorized by RBAC.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use conformance::{Kind, Raw, Response, TestServer};
use http::Method;
use kube::Client;
use kube_embedded::{Authorization, Server};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
const IDENTITY: &str = "/apis/authentication.k8s.io/v1";

/// A server and a user that no other test has.
struct Fixture {
    server: TestServer,
    admin: Raw,
    user: String,
}

impl Fixture {
    async fn new() -> Fixture {
        let server = TestServer::with_rbac().await;
        let user = format!("jane-{}", server.namespace);
        Fixture {
            admin: server.raw(),
            user,
            server,
        }
    }

    /// Sends a request as the user, in the group `dev`.
    async fn ask(&self, method: &str, path: &str, body: &Value) -> Response {
        let headers = [
            ("impersonate-user", self.user.as_str()),
            ("impersonate-group", "dev"),
        ];
        self.ask_with(method, path, body, &headers).await
    }

    async fn ask_with(&self, method: &str, path: &str, body: &Value, headers: &[(&str, &str)]) -> Response {
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut headers = headers.to_vec();
        headers.push(("content-type", content_type));
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.admin.ask(method, path, &headers, body).await
    }

    /// Grants rules to the user in the namespace of the test, and waits until they apply.
    async fn grant(&self, rules: &Value) {
        let role = json!({ "metadata": { "name": "granted" }, "rules": rules });
        let roles = format!("{RBAC}/namespaces/{{ns}}/roles");
        assert_eq!(self.admin.post(&roles, &role).await.code, 201);
        self.bind("granted", "Role", "granted").await;
        let rule = &rules[0];
        let attributes = json!({
            "verb": rule["verbs"][0], "group": rule["apiGroups"][0], "resource": rule["resources"][0],
            "name": rule["resourceNames"][0], "namespace": self.server.namespace,
        });
        self.wait_until_allowed(&attributes).await;
    }

    async fn bind(&self, name: &str, kind: &str, role: &str) {
        let binding = json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": self.user }],
        });
        let bindings = format!("{RBAC}/namespaces/{{ns}}/rolebindings");
        assert_eq!(self.admin.post(&bindings, &binding).await.code, 201);
    }

    /// The real server sees new roles a moment later.
    async fn wait_until_allowed(&self, attributes: &Value) {
        let question = json!({ "spec": { "user": self.user, "resourceAttributes": attributes } });
        let reviews = format!("{REVIEWS}/subjectaccessreviews");
        for _ in 0..200 {
            if self.admin.post(&reviews, &question).await.body["status"]["allowed"] == true {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("never allowed: {attributes}");
    }

    /// Replaces the names of this test by those in the tables.
    fn tidy(&self, response: &Response) -> Value {
        let text = response.body.to_string();
        let text = text
            .replace(&self.user, "jane")
            .replace(&self.server.namespace, "shop");
        serde_json::from_str(&text).expect("JSON")
    }
}

#[tokio::test]
async fn request_without_permission_is_forbidden_before_anything_is_looked_up() {
    let test = Fixture::new().await;
    for (method, path, message, details) in [
        (
            "GET",
            "/api/v1/pods",
            "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
            json!({ "kind": "pods" }),
        ),
        (
            "GET",
            "/api/v1/namespaces/{ns}/pods/a/log",
            "pods \"a\" is forbidden: User \"jane\" cannot get resource \"pods/log\" in API group \"\" in the namespace \
             \"shop\"",
            json!({ "name": "a", "kind": "pods" }),
        ),
        (
            "GET",
            "/apis/apps/v1/deployments?watch=1",
            "deployments.apps is forbidden: User \"jane\" cannot watch resource \"deployments\" in API group \"apps\" at the \
             cluster scope",
            json!({ "group": "apps", "kind": "deployments" }),
        ),
        (
            "DELETE",
            "/api/v1/namespaces/{ns}/pods?fieldSelector=metadata.name%3Da",
            "pods is forbidden: User \"jane\" cannot deletecollection resource \"pods\" in API group \"\" in the namespace \
             \"shop\"",
            json!({ "kind": "pods" }),
        ),
        (
            "GET",
            "/api/v1/namespaces/{ns}/pods?fieldSelector=metadata.name%3Da",
            "pods \"a\" is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the namespace \"shop\"",
            json!({ "name": "a", "kind": "pods" }),
        ),
        (
            "PUT",
            "/api/v1/namespaces/{ns}/finalize",
            "namespaces \"shop\" is forbidden: User \"jane\" cannot update resource \"namespaces/finalize\" in API group \"\" \
             in the namespace \"shop\"",
            json!({ "name": "shop", "kind": "namespaces" }),
        ),
        (
            "GET",
            "/api/v1/nosuch",
            "nosuch is forbidden: User \"jane\" cannot list resource \"nosuch\" in API group \"\" at the cluster scope",
            json!({ "kind": "nosuch" }),
        ),
        (
            "GET",
            "/api/v1/namespaces/{ns}//pods",
            "forbidden: User \"jane\" cannot get resource \"\" in API group \"\" in the namespace \"shop\"",
            json!({ "name": "pods" }),
        ),
        (
            "GET",
            "/nosuch",
            "forbidden: User \"jane\" cannot get path \"/nosuch\"",
            json!({}),
        ),
        (
            "POST",
            "/version",
            "forbidden: User \"jane\" cannot post path \"/version\"",
            json!({}),
        ),
    ] {
        let refused = test.ask(method, path, &Value::Null).await;
        let expected = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": "Forbidden", "details": details, "code": 403,
        });
        assert_eq!(test.tidy(&refused), expected, "{method} {path}");
    }
    for path in [
        "/api",
        "/apis",
        "/apis/apps/v1",
        "/version",
        "/healthz",
        "/openapi/v3",
    ] {
        assert_eq!(test.ask("GET", path, &Value::Null).await.code, 200, "{path}");
    }
}

#[tokio::test]
async fn permissions_of_a_role_apply_in_its_namespace() {
    let test = Fixture::new().await;
    test.grant(&json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "get"] },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["list"], "resourceNames": ["mine"] },
        { "apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["*"] },
    ]))
    .await;
    for (method, path, code) in [
        ("GET", "/api/v1/namespaces/{ns}/configmaps", 200),
        ("GET", "/api/v1/namespaces/{ns}/configmaps?watch=1", 403),
        ("GET", "/api/v1/namespaces/{ns}/configmaps/none", 404),
        (
            "GET",
            "/api/v1/namespaces/{ns}/configmaps/none?watch=1&timeoutSeconds=1",
            404,
        ),
        ("DELETE", "/api/v1/namespaces/{ns}/configmaps/none", 403),
        ("GET", "/api/v1/namespaces/default/configmaps", 403),
        ("GET", "/api/v1/configmaps", 403),
        ("GET", "/api/v1/namespaces/{ns}/secrets", 403),
        (
            "GET",
            "/api/v1/namespaces/{ns}/secrets?fieldSelector=metadata.name%3Dmine",
            200,
        ),
        (
            "GET",
            "/api/v1/namespaces/{ns}/secrets?fieldSelector=metadata.name%3Dother",
            403,
        ),
        ("GET", "/apis/apps/v1/namespaces/{ns}/deployments/none/scale", 404),
        (
            "GET",
            "/apis/apps/v1/namespaces/{ns}/deployments/none/status",
            403,
        ),
        ("GET", "/apis/apps/v1/namespaces/{ns}/deployments/none", 403),
    ] {
        let response = test.ask(method, path, &Value::Null).await;
        assert_eq!(response.code, code, "{method} {path}: {}", response.body);
    }
}

#[tokio::test]
async fn impersonated_user_is_shown_by_self_subject_review() {
    let test = Fixture::new().await;
    let who = format!("{IDENTITY}/selfsubjectreviews");
    let accounts = [
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated",
    ];
    for (headers, user) in [
        (
            vec![("impersonate-user", "bob")],
            json!({ "username": "bob", "groups": ["system:authenticated"] }),
        ),
        (
            vec![
                ("impersonate-user", "bob"),
                ("impersonate-group", "a"),
                ("impersonate-group", "b"),
                ("impersonate-uid", "u1"),
                ("impersonate-extra-scopes", "x"),
                ("impersonate-extra-acme.com%2fproject", "y"),
            ],
            json!({
                "username": "bob", "uid": "u1", "groups": ["a", "b", "system:authenticated"],
                "extra": { "acme.com/project": ["y"], "scopes": ["x"] },
            }),
        ),
        (
            vec![("impersonate-user", "system:serviceaccount:shop:op")],
            json!({ "username": "system:serviceaccount:shop:op", "groups": accounts }),
        ),
        (
            vec![
                ("impersonate-user", "system:anonymous"),
                ("impersonate-group", "system:authenticated"),
            ],
            json!({ "username": "system:anonymous", "groups": ["system:authenticated", "system:unauthenticated"] }),
        ),
    ] {
        let review = test.ask_with("POST", &who, &json!({}), &headers).await;
        assert_eq!(review.body["status"]["userInfo"], user, "{headers:?}");
    }
    for headers in [vec![("impersonate-group", "a")], vec![("impersonate-uid", "a")]] {
        let refused = test.ask_with("POST", &who, &json!({}), &headers).await;
        assert_eq!(refused.code, 400);
        assert!(
            refused.message().ends_with("without impersonating a user name"),
            "{}",
            refused.body
        );
    }
}

#[tokio::test]
async fn role_cannot_grant_more_than_its_writer_has() {
    let test = Fixture::new().await;
    test.grant(&json!([
        {
            "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"],
            "verbs": ["create", "update", "patch"],
        },
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
    ]))
    .await;
    let (roles, bindings) = (
        format!("{RBAC}/namespaces/{{ns}}/roles"),
        format!("{RBAC}/namespaces/{{ns}}/rolebindings"),
    );
    let role = |rules: Value| json!({ "metadata": { "name": "r1" }, "rules": rules });
    let binding = |kind: &str, name: &str| {
        json!({
            "metadata": { "name": "b1" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "x" }],
        })
    };
    let told = |what: &str, missing: &str| {
        format!(
            "{what} is forbidden: user \"jane\" (groups=[\"dev\" \"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n{missing}"
        )
    };
    let more = role(json!([
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": ["apps", ""], "resources": ["deployments"], "verbs": ["*"], "resourceNames": ["x"] },
    ]));
    let refused = test.ask("POST", &roles, &more).await;
    let missing = "{APIGroups:[\"\"], Resources:[\"deployments\"], ResourceNames:[\"x\"], Verbs:[\"*\"]}\n\
                   {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}\n\
                   {APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"x\"], Verbs:[\"*\"]}";
    let expected = told("roles.rbac.authorization.k8s.io \"r1\"", missing);
    assert_eq!(test.tidy(&refused)["message"], expected);

    let held = role(json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]));
    assert_eq!(test.ask("POST", &roles, &held).await.code, 201);
    let list = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }] });
    assert_eq!(test.ask("PATCH", &format!("{roles}/r1"), &list).await.code, 403);

    let refused = test
        .ask("POST", &bindings, &binding("ClusterRole", "cluster-admin"))
        .await;
    let missing =
        "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}";
    let expected = told("rolebindings.rbac.authorization.k8s.io \"b1\"", missing);
    assert_eq!(test.tidy(&refused)["message"], expected);
    let refused = test.ask("POST", &bindings, &binding("Role", "none")).await;
    assert_eq!(refused.code, 404);
    assert_eq!(
        refused.message(),
        "rolebindings.rbac.authorization.k8s.io \"none\" not found"
    );
}

#[tokio::test]
async fn reviews_answer_for_the_user_with_a_reason() {
    let test = Fixture::new().await;
    test.grant(&json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]))
        .await;
    let pods = |verb: &str| {
        json!({ "spec": {
            "resourceAttributes": { "verb": verb, "resource": "pods", "namespace": test.server.namespace },
        } })
    };
    let own = format!("{REVIEWS}/selfsubjectaccessreviews");
    let allowed = test.ask("POST", &own, &pods("get")).await;
    let reason = "RBAC: allowed by RoleBinding \"granted/shop\" of Role \"granted\" to User \"jane\"";
    assert_eq!(
        test.tidy(&allowed)["status"],
        json!({ "allowed": true, "reason": reason })
    );
    let denied = test.ask("POST", &own, &pods("list")).await;
    assert_eq!(denied.body["status"], json!({ "allowed": false }));
    assert_eq!(
        test.ask("POST", &format!("{REVIEWS}/subjectaccessreviews"), &pods("get"))
            .await
            .code,
        403
    );

    let rules = json!({ "spec": { "namespace": test.server.namespace } });
    let rules = test
        .ask("POST", &format!("{REVIEWS}/selfsubjectrulesreviews"), &rules)
        .await;
    let granted = json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] });
    let found = rules.body["status"]["resourceRules"].as_array().expect("rules");
    assert!(found.contains(&granted), "{found:?}");
    assert_eq!(rules.body["status"]["incomplete"], false);

    let local = format!("{REVIEWS}/namespaces/{{ns}}/localsubjectaccessreviews");
    for (path, question, why) in [
        (
            &own,
            json!({ "spec": {} }),
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            &local,
            json!({ "spec": { "user": "x", "resourceAttributes": { "namespace": "other", "verb": "get", "resource": "pods" } } }),
            "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace",
        ),
        (
            &local,
            json!({ "spec": { "user": "x", "nonResourceAttributes": { "path": "/", "verb": "get" } } }),
            "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"get\"}: disallowed on this kind of request",
        ),
        (
            &local,
            json!({ "spec": { "resourceAttributes": { "verb": "get", "resource": "pods" } } }),
            "spec.user: Invalid value: \"\": at least one of user or group must be specified",
        ),
    ] {
        let refused = test.admin.post(path, &question).await;
        assert_eq!(refused.code, 422, "{}", refused.body);
        assert!(refused.message().contains(why), "{}", refused.body);
    }
}

#[tokio::test]
async fn requested_token_authenticates_its_service_account() {
    let test = Fixture::new().await;
    let accounts = "/api/v1/namespaces/{ns}/serviceaccounts";
    let created = test
        .admin
        .post(accounts, &json!({ "metadata": { "name": "robot" } }))
        .await;
    assert_eq!(created.code, 201);
    let tokens = format!("{accounts}/robot/token");
    let issued = test
        .admin
        .post(&tokens, &json!({ "spec": { "expirationSeconds": 700 } }))
        .await;
    assert_eq!(issued.code, 201);
    assert_eq!(issued.body["spec"]["expirationSeconds"], 700);
    assert_eq!(
        issued.body["spec"]["audiences"],
        json!(["https://kubernetes.default.svc"])
    );
    assert_eq!(issued.body["metadata"]["name"], "robot");
    let token = issued.body["status"]["token"]
        .as_str()
        .expect("a token")
        .to_owned();
    assert!(issued.body["status"]["expirationTimestamp"].is_string());

    let claims = token.split('.').nth(1).expect("claims");
    let claims = URL_SAFE_NO_PAD.decode(claims).expect("base64");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    let name = format!("system:serviceaccount:{}:robot", test.server.namespace);
    assert_eq!(claims["sub"], name);
    assert_eq!(claims["iss"], "https://kubernetes.default.svc");
    assert_eq!(
        claims["kubernetes.io"]["serviceaccount"]["uid"],
        created.body["metadata"]["uid"]
    );

    let review = json!({ "spec": { "token": token } });
    let review = test
        .admin
        .post(&format!("{IDENTITY}/tokenreviews"), &review)
        .await;
    let user = json!({
        "username": name,
        "uid": created.body["metadata"]["uid"],
        "groups": [
            "system:serviceaccounts", format!("system:serviceaccounts:{}", test.server.namespace), "system:authenticated",
        ],
        "extra": {
            "authentication.kubernetes.io/credential-id": [format!("JTI={}", claims["jti"].as_str().expect("an id"))],
        },
    });
    let expected =
        json!({ "authenticated": true, "user": user, "audiences": ["https://kubernetes.default.svc"] });
    assert_eq!(review.body["status"], expected);

    let mut config = test.server.config().await;
    config.auth_info = kube::config::AuthInfo::default();
    config.auth_info.token = Some(token.into());
    let robot = Client::try_from(config.clone()).expect("a client");
    let refused = robot.list_api_groups().await.map(drop);
    assert!(refused.is_ok(), "{refused:?}");
    let refused = robot.request::<Value>(get("/api/v1/nodes")).await;
    let message = match refused {
        Err(kube::Error::Api(status)) => status.message.clone(),
        other => panic!("not refused: {other:?}"),
    };
    let expected = format!(
        "nodes is forbidden: User \"{name}\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"
    );
    assert_eq!(message, expected);

    config.auth_info.token = Some("nonsense".to_owned().into());
    let stranger = Client::try_from(config).expect("a client");
    match stranger.request::<Value>(get("/version")).await {
        Err(kube::Error::Api(status)) => {
            assert_eq!((status.code, status.message.as_str()), (401, "Unauthorized"));
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn get(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).expect("a request")
}

#[tokio::test]
async fn invalid_token_requests_and_reviews_are_refused() {
    let test = Fixture::new().await;
    let accounts = "/api/v1/namespaces/{ns}/serviceaccounts";
    assert_eq!(
        test.admin
            .post(accounts, &json!({ "metadata": { "name": "robot" } }))
            .await
            .code,
        201
    );
    let tokens = format!("{accounts}/robot/token");
    let bound = |kind: &str| json!({ "spec": { "boundObjectRef": { "kind": kind, "apiVersion": "v1", "name": "none" } } });
    for (request, message) in [
        (
            json!({ "spec": { "expirationSeconds": 5 } }),
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a \
             duration less than 10 minutes",
        ),
        (
            json!({ "metadata": { "name": "other" } }),
            "TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: \"other\": must match the \
             service account name if specified",
        ),
        (bound("Pod"), "pods \"none\" not found"),
        (
            bound("ConfigMap"),
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
    ] {
        assert_eq!(test.admin.post(&tokens, &request).await.message(), message);
    }
    let reviews = format!("{IDENTITY}/tokenreviews");
    let unknown = test
        .admin
        .post(&reviews, &json!({ "spec": { "token": "bad" } }))
        .await;
    assert_eq!(
        unknown.body["status"],
        json!({ "user": {}, "error": "invalid bearer token" })
    );
    let empty = test.admin.post(&reviews, &json!({ "spec": {} })).await;
    assert_eq!(
        empty.message(),
        "token is required for TokenReview in authentication"
    );
}

#[tokio::test]
async fn bootstrap_roles_are_those_of_the_real_server() {
    let test = Fixture::new().await;
    let embedded = Server::builder()
        .authorization(Authorization::Rbac)
        .start()
        .await
        .expect("a server");
    let bootstrap = "labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults";
    for resource in ["clusterroles", "clusterrolebindings"] {
        let list: Value = embedded
            .client()
            .expect("a client")
            .request(get(&format!("{RBAC}/{resource}?{bootstrap}")))
            .await
            .expect("a list");
        let items = list["items"].as_array().expect("items");
        assert!(!items.is_empty());
        for item in items {
            let name = item["metadata"]["name"].as_str().expect("a name");
            let found = test.admin.get(&format!("{RBAC}/{resource}/{name}")).await;
            assert_eq!(found.code, 200, "{name}");
            for field in ["labels", "annotations"] {
                assert_eq!(
                    found.body["metadata"][field], item["metadata"][field],
                    "{field} of {name}"
                );
            }
            for field in ["aggregationRule", "roleRef", "subjects"] {
                assert_eq!(found.body[field], item[field], "{field} of {name}");
            }
            // A controller fills in the rules of these, which does not run beside the real server.
            if item["aggregationRule"].is_null() || test.server.kind == Kind::Embedded {
                assert_eq!(found.body["rules"], item["rules"], "rules of {name}");
            }
        }
    }
    embedded.stop().await;
}
