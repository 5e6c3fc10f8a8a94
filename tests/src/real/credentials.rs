//! Certificates, keys and tokens, as files in the server's folder.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::{fs, io};

use serde_json::{Value, json};

use super::authority::Authority;
use crate::folder::Folder;

/// The administrator's token. It can be a constant, because the server listens on loopback and exists only
/// during the tests.
const TOKEN: &str = "administrator";
/// The token of an account without permissions, except those that a test grants.
const GUEST_TOKEN: &str = "guest";
/// The name of that account.
pub(super) const GUEST: &str = "guest";

impl Folder {
    /// Returns the path of a file in the folder, as an argument.
    pub(super) fn file(&self, name: &str) -> String {
        self.path().join(name).to_string_lossy().into_owned()
    }

    /// Writes the files that kube-apiserver needs: a certificate for loopback with its own authority, the key
    /// that signs service account tokens, and the tokens of users.
    pub(super) fn write_credentials(&self) -> io::Result<Authority> {
        let authority = Authority::new().map_err(io::Error::other)?;
        let signer = rcgen::KeyPair::generate().map_err(io::Error::other)?;
        let tokens = format!("{TOKEN},admin,admin,system:masters\n{GUEST_TOKEN},{GUEST},{GUEST}\n");
        let files = [
            ("ca.crt", authority.pem().to_owned()),
            ("sa.key", signer.serialize_pem()),
            ("sa.pub", signer.public_key_pem()),
            ("tokens.csv", tokens),
        ];
        for (name, text) in files {
            fs::write(self.path().join(name), text)?;
        }
        self.write_certificate(&authority)?;
        Ok(authority)
    }

    /// Writes a new certificate with a new key for the server.
    pub(super) fn write_certificate(&self, authority: &Authority) -> io::Result<()> {
        let (certificate, key) = authority.certify().map_err(io::Error::other)?;
        fs::write(self.path().join("server.key"), key)?;
        fs::write(self.path().join("server.crt"), certificate)
    }

    /// Writes the administrator's kubeconfig for a server.
    pub(super) fn write_kubeconfig(&self, server: &str, port: u16) -> io::Result<()> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        fs::write(
            self.kubeconfig(server),
            self.kubeconfig_for(TOKEN, address).to_string(),
        )
    }

    pub(super) fn kubeconfig(&self, server: &str) -> PathBuf {
        self.path().join(server).with_extension("kubeconfig")
    }

    /// Returns a guest's kubeconfig for an address, for example of a proxy.
    pub(super) fn guest_kubeconfig(&self, address: SocketAddr) -> Value {
        self.kubeconfig_for(GUEST_TOKEN, address)
    }

    /// JSON, which is valid YAML.
    fn kubeconfig_for(&self, token: &str, address: SocketAddr) -> Value {
        let cluster = json!({
            "server": format!("https://{address}"),
            "certificate-authority": self.file("ca.crt"),
        });
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "user"}}],
            "current-context": "real",
        })
    }
}
