//! What a server and its clients need to trust each other, as files in the server's folder.

use std::path::PathBuf;
use std::{fs, io};

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::json;

use crate::folder::Folder;

/// The administrator's token; the server listens on loopback and lives as long as its tests.
const TOKEN: &str = "administrator";

impl Folder {
    /// The path of a file in the folder, as an argument.
    pub(super) fn file(&self, name: &str) -> String {
        self.path().join(name).to_string_lossy().into_owned()
    }

    /// Writes what kube-apiserver needs before it starts: a certificate for loopback under an authority of its own, the
    /// key that signs service account tokens, and the administrator's token.
    pub(super) fn write_credentials(&self) -> io::Result<()> {
        let (authority, certificate, key) = certificates().map_err(io::Error::other)?;
        let signer = KeyPair::generate().map_err(io::Error::other)?;
        let tokens = format!("{TOKEN},admin,admin,system:masters\n");
        let files = [
            ("ca.crt", authority),
            ("server.crt", certificate),
            ("server.key", key),
            ("sa.key", signer.serialize_pem()),
            ("sa.pub", signer.public_key_pem()),
            ("tokens.csv", tokens),
        ];
        files
            .into_iter()
            .try_for_each(|(name, text)| fs::write(self.path().join(name), text))
    }

    /// Writes the administrator's kubeconfig, which is JSON as all YAML readers accept it.
    pub(super) fn write_kubeconfig(&self, port: u16) -> io::Result<()> {
        let cluster = json!({
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": self.file("ca.crt"),
        });
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
            "current-context": "real",
        });
        fs::write(self.kubeconfig(), config.to_string())
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.path().join("kubeconfig")
    }
}

/// The authority's certificate, the server's certificate and the server's key, as PEM.
fn certificates() -> Result<(String, String, String), rcgen::Error> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority
        .distinguished_name
        .push(DnType::CommonName, "kube-informer tests");
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);

    let mut server = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    server
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    server
        .extended_key_usages
        .push(ExtendedKeyUsagePurpose::ServerAuth);
    let server_key = KeyPair::generate()?;
    let server_certificate = server.signed_by(&server_key, &issuer)?;
    Ok((
        authority_certificate.pem(),
        server_certificate.pem(),
        server_key.serialize_pem(),
    ))
}
