//! Bearer tokens: JSON Web Tokens that this server signs.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::hmac;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::User;

/// Default issuer and audience of tokens.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

/// `{"alg":"HS256","typ":"JWT"}`
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

/// Time of the runtime's clock, so that tokens also expire in paused time.
#[derive(Debug)]
pub(super) struct Clock {
    started: Timestamp,
    instant: Instant,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock {
            started: Timestamp::now(),
            instant: Instant::now(),
        }
    }

    /// Returns the seconds since 1970.
    pub(super) fn now(&self) -> i64 {
        let elapsed = i64::try_from(self.instant.elapsed().as_secs()).unwrap_or(i64::MAX);
        self.started.as_second().saturating_add(elapsed)
    }
}

/// Signs tokens, and verifies those that it has signed.
#[derive(Debug)]
pub(super) struct Signer {
    key: hmac::Key,
    pub(super) clock: Clock,
}

/// The content of a token.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Claims {
    pub(super) aud: Vec<String>,
    /// Expiration; `None` if it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exp: Option<i64>,
    pub(super) iat: i64,
    pub(super) iss: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) jti: String,
    #[serde(rename = "kubernetes.io", skip_serializing_if = "Option::is_none")]
    pub(super) account: Option<AccountClaims>,
    #[serde(rename = "kube-embedded", skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<UserClaims>,
    pub(super) nbf: i64,
    pub(super) sub: String,
}

/// The service account of a token, and the object to which the token is bound.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AccountClaims {
    pub(super) namespace: String,
    pub(super) serviceaccount: ObjectClaims,
    #[serde(flatten)]
    pub(super) bound: BTreeMap<String, ObjectClaims>,
}

/// The object in a claim.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ObjectClaims {
    pub(super) name: String,
    pub(super) uid: String,
}

/// A user other than a service account.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UserClaims {
    groups: Vec<String>,
    uid: String,
    extra: BTreeMap<String, Vec<String>>,
}

impl Signer {
    pub(super) fn new(key: hmac::Key, clock: Clock) -> Signer {
        Signer { key, clock }
    }

    /// Returns a signed token with these claims.
    pub(super) fn sign(&self, claims: &Claims) -> String {
        // Cannot fail: the claims are text and numbers in maps with text as keys.
        let claims = serde_json::to_vec(claims).unwrap_or_default();
        let mut token = format!("{HEADER}.{}", URL_SAFE_NO_PAD.encode(claims));
        let signature = hmac::sign(&self.key, token.as_bytes());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        token
    }

    /// Returns the claims of a token, if this server has signed it.
    pub(super) fn read(&self, token: &str) -> Option<Claims> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        let (_, claims) = signed.split_once('.')?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }

    /// Returns a token that does not expire, for any user.
    pub(super) fn user_token(&self, user: &User) -> String {
        let now = self.clock.now();
        self.sign(&Claims {
            aud: vec![ISSUER.into()],
            iat: now,
            iss: ISSUER.into(),
            nbf: now,
            sub: user.name().to_owned(),
            user: Some(UserClaims {
                groups: user.groups().to_vec(),
                uid: user.uid_text().to_owned(),
                extra: user.extras().clone(),
            }),
            ..Claims::default()
        })
    }
}

impl Claims {
    /// Returns the user of a token of [`Signer::user_token`].
    pub(super) fn plain_user(&self) -> Option<User> {
        let claims = self.user.as_ref()?;
        let mut user = User::named(self.sub.as_str()).uid(claims.uid.as_str());
        for group in &claims.groups {
            user = user.group(group.as_str());
        }
        for (key, values) in &claims.extra {
            for value in values {
                user = user.extra(key.as_str(), value.as_str());
            }
        }
        Some(user)
    }
}
