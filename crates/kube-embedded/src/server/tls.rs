//! The server's identity: a throw-away authority and a certificate for loopback.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use ring::hmac;
use ring::rand::SystemRandom;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use super::Error;
use super::listener::Protocols;

/// The server's identity.
pub(super) struct Identity {
    ca_pem: String,
    #[cfg_attr(
        not(feature = "client"),
        expect(dead_code, reason = "only a client in this process asks for it")
    )]
    ca_der: Vec<u8>,
    acceptor: TlsAcceptor,
    token_key: hmac::Key,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

impl Identity {
    /// Makes a new authority, and a certificate for `localhost` and the loopback addresses.
    pub(super) fn new(protocols: Protocols) -> Result<Identity, Error> {
        Identity::make(protocols).map_err(Error::Certificate)
    }

    fn make(protocols: Protocols) -> Result<Identity, Box<dyn std::error::Error + Send + Sync>> {
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        ca.distinguished_name.push(DnType::CommonName, "kube-embedded");
        let ca_key = KeyPair::generate()?;
        let ca_certificate = ca.self_signed(&ca_key)?;
        let names = [
            "localhost",
            "127.0.0.1",
            "::1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        let mut server = CertificateParams::new(names.map(String::from))?;
        server
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        let server_key = KeyPair::generate()?;
        let certificate = server.signed_by(&server_key, &Issuer::from_params(&ca, &ca_key))?;

        let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        if protocols.http2 {
            config.alpn_protocols.push(b"h2".to_vec());
        }
        config.alpn_protocols.push(b"http/1.1".to_vec());
        let token_key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| "the system has no random numbers")?;
        Ok(Identity {
            ca_pem: ca_certificate.pem(),
            ca_der: ca_certificate.der().to_vec(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            token_key,
        })
    }

    pub(super) fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    #[cfg(feature = "client")]
    pub(super) fn ca_der(&self) -> &[u8] {
        &self.ca_der
    }

    /// The key that bearer tokens are signed with.
    pub(super) fn token_key(&self) -> hmac::Key {
        self.token_key.clone()
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }
}
