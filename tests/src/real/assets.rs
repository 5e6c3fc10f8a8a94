//! The programs in `KUBEBUILDER_ASSETS`.

use std::env;
use std::path::PathBuf;

use super::StartError;

const VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// A folder with kube-apiserver and etcd, and optionally kubectl and kube-controller-manager.
#[derive(Debug)]
pub(super) struct Assets(PathBuf);

impl Assets {
    pub(super) fn given() -> Result<Self, StartError> {
        match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(folder) => Ok(Self(folder.into())),
            None => Err(StartError::NoAssets),
        }
    }

    pub(super) fn find(&self, program: &'static str) -> Option<PathBuf> {
        Some(self.0.join(program)).filter(|path| path.is_file())
    }

    pub(super) fn require(&self, program: &'static str) -> Result<PathBuf, StartError> {
        self.find(program).ok_or_else(|| StartError::Missing {
            program,
            folder: self.0.clone(),
        })
    }
}
