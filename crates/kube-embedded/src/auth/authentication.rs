//! Authenticates requests by bearer tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::token::{AccountClaims, Claims, ISSUER, ObjectClaims};
use super::user::service_account_name;
use super::{Access, User};
use crate::status::{Result, Status};
use crate::store::{Key, Store};

/// Extra field of service accounts with the id of the token.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// The content of a token that a TokenRequest creates.
#[derive(Debug)]
pub(crate) struct TokenSpec<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) account: &'a str,
    pub(crate) account_uid: &'a str,
    pub(crate) bound: Option<BoundObject<'a>>,
    pub(crate) audiences: Vec<String>,
    pub(crate) seconds: i64,
    /// Id of the token.
    pub(crate) id: String,
}

/// The object without which a token is not valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundObject<'a> {
    /// `Pod`, `Secret` or `Node`.
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
}

/// The result of a TokenReview.
#[derive(Debug)]
pub(crate) struct Authentication {
    pub(crate) user: User,
    /// The expected audiences that the token contains.
    pub(crate) audiences: Vec<String>,
}

impl Access {
    /// Returns the user of a request with these headers, before impersonation.
    pub(super) fn authenticate(&self, store: &Store, headers: &HeaderMap) -> Result<Arc<User>> {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| {
            let (scheme, token) = value.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        match token {
            None | Some("") => Ok(self.anonymous.clone()),
            Some(token) if token == self.admin_token => Ok(self.admin.clone()),
            Some(token) => match self.token_user(store, token, &[ISSUER]) {
                Ok(found) => Ok(Arc::new(found.user)),
                Err(_) => Err(Status::new(401, "Unauthorized", "Unauthorized")),
            },
        }
    }

    /// Returns the user of a token.
    ///
    /// # Errors
    /// If the token is not valid now for one of the audiences. The error is the text of a TokenReview.
    pub(crate) fn token_user(
        &self,
        store: &Store,
        token: &str,
        audiences: &[&str],
    ) -> Result<Authentication, String> {
        const INVALID: &str = "invalid bearer token";
        let refused = |why: String| format!("[{INVALID}, {why}]");
        let claims = self.signer.read(token).ok_or(INVALID)?;
        if claims.exp.is_some_and(|at| at <= self.signer.clock.now()) {
            return Err(refused("service account token has expired".into()));
        }
        let fitting: Vec<String> = audiences
            .iter()
            .filter(|wanted| claims.aud.iter().any(|a| a == *wanted))
            .map(|wanted| (*wanted).to_owned())
            .collect();
        if fitting.is_empty() {
            let why = format!(
                "token audiences {} is invalid for the target audiences {}",
                list(&claims.aud),
                list(audiences)
            );
            return Err(refused(why));
        }
        let user = match &claims.account {
            Some(account) => account_user(store, account, &claims.jti).map_err(refused)?,
            None => claims.plain_user().ok_or(INVALID)?,
        };
        Ok(Authentication {
            user: user.with_implied_groups(),
            audiences: fitting,
        })
    }

    /// Returns a new token for a service account, and its expiration in seconds since 1970.
    pub(crate) fn account_token(&self, spec: &TokenSpec<'_>) -> (String, i64) {
        let now = self.signer.clock.now();
        let expires = now.saturating_add(spec.seconds);
        let claims = |name: &str, uid: &str| ObjectClaims {
            name: name.to_owned(),
            uid: uid.to_owned(),
        };
        let bound = spec.bound.map(|object| {
            let label = object.kind.to_ascii_lowercase();
            (label, claims(object.name, object.uid))
        });
        let token = self.signer.sign(&Claims {
            aud: spec.audiences.clone(),
            exp: Some(expires),
            iat: now,
            iss: ISSUER.into(),
            jti: spec.id.clone(),
            account: Some(AccountClaims {
                namespace: spec.namespace.to_owned(),
                serviceaccount: claims(spec.account, spec.account_uid),
                bound: bound.into_iter().collect::<BTreeMap<_, _>>(),
            }),
            nbf: now,
            sub: service_account_name(spec.namespace, spec.account),
            ..Claims::default()
        });
        (token, expires)
    }
}

/// Returns the user of a service account's token, if the account and the object that the token is bound to exist.
fn account_user(store: &Store, claims: &AccountClaims, id: &str) -> Result<User, String> {
    let account = &claims.serviceaccount;
    check_exists(store, "serviceaccounts", Some(&claims.namespace), account)?;
    for (kind, bound) in &claims.bound {
        let namespace = (kind != "node").then_some(claims.namespace.as_str());
        check_exists(store, &format!("{kind}s"), namespace, bound)?;
    }
    Ok(User::service_account(&claims.namespace, &account.name)
        .uid(account.uid.as_str())
        .extra(CREDENTIAL, format!("JTI={id}")))
}

fn check_exists(
    store: &Store,
    resource: &str,
    namespace: Option<&str>,
    wanted: &ObjectClaims,
) -> Result<(), String> {
    let found = store.get(&format!("/{resource}"), &Key::new(namespace, &wanted.name));
    match found {
        None => Err(format!("{resource} {:?} not found", wanted.name)),
        Some(object) if *object.uid != *wanted.uid => {
            let known = &object.uid;
            Err(format!(
                "{} UID ({known}) does not match claim ({})",
                resource.trim_end_matches('s'),
                wanted.uid
            ))
        }
        Some(_) => Ok(()),
    }
}

/// Formats a list like Go's `%q`.
fn list(values: &[impl AsRef<str>]) -> String {
    let values: Vec<String> = values
        .iter()
        .map(|value| format!("{:?}", value.as_ref()))
        .collect();
    format!("[{}]", values.join(" "))
}
