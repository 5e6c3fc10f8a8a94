//! The server's keys: a temporary certificate authority, a certificate for loopback, and the key of tokens.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use ring::hmac;
use ring::rand::SystemRandom;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use super::Error;
use super::listener::Protocols;

/// The server's keys and certificates.
pub(super) struct TlsIdentity {
    ca_pem: String,
    #[cfg_attr(
        not(feature = "client"),
        expect(dead_code, reason = "only a client in this process uses it")
    )]
    ca_der: Vec<u8>,
    acceptor: TlsAcceptor,
    token_key: hmac::Key,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsIdentity")
    }
}

impl TlsIdentity {
    /// Creates a new authority, and a certificate for `localhost` and the loopback addresses.
    pub(super) fn new(protocols: Protocols) -> Result<TlsIdentity, Error> {
        TlsIdentity::make(protocols).map_err(Error::Certificate)
    }

    fn make(protocols: Protocols) -> Result<TlsIdentity, Box<dyn std::error::Error + Send + Sync>> {
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
            .map_err(|_| "the system provides no random numbers")?;
        Ok(TlsIdentity {
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

    /// Returns the key that signs bearer tokens.
    pub(super) fn token_key(&self) -> hmac::Key {
        self.token_key.clone()
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }
}
