//! The authority that signs the certificates of one cluster's servers.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Signs certificates, and stores the last one.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
    pem: String,
    newest: Mutex<Vec<u8>>,
}

impl Authority {
    pub(super) fn new() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "kube-informer tests");
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            pem: certificate.pem(),
            certificate,
            newest: Mutex::default(),
        })
    }

    /// Returns its own certificate.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// Signs a new certificate for a server on loopback. Returns it with its key, as PEM.
    pub(super) fn certify(&self) -> Result<(String, String), rcgen::Error> {
        let mut server = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        server
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        server
            .extended_key_usages
            .push(ExtendedKeyUsagePurpose::ServerAuth);
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &self.issuer)?;
        *self.newest.lock() = certificate.der().to_vec();
        Ok((certificate.pem(), key.serialize_pem()))
    }

    /// Returns the last certificate that it signed.
    pub(super) fn newest(&self) -> Vec<u8> {
        self.newest.lock().clone()
    }

    /// Returns the certificate that a server uses, if this authority has signed it.
    pub(super) async fn shown_by(&self, server: SocketAddr) -> io::Result<Vec<u8>> {
        let mut trusted = RootCertStore::empty();
        trusted
            .add(self.certificate.der().clone())
            .map_err(io::Error::other)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let name = ServerName::from(server.ip());
        let stream = connector.connect(name, TcpStream::connect(server).await?).await?;
        let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        shown
            .map(|certificate| certificate.to_vec())
            .ok_or_else(|| io::Error::other("no certificate was shown"))
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}
