//! The files that all servers of a cluster share.

use crate::folder::Folder;

use super::StartError;
use super::assets::Assets;
use super::authority::Authority;

/// The programs, the folder with their files, and the authority that signs the servers' certificates.
#[derive(Debug)]
pub(super) struct ClusterFiles {
    pub(super) assets: Assets,
    pub(super) folder: Folder,
    pub(super) authority: Authority,
}

impl ClusterFiles {
    pub(super) fn make() -> Result<Self, StartError> {
        let assets = Assets::given()?;
        let folder = Folder::create()?;
        let authority = folder.write_credentials()?;
        Ok(Self {
            assets,
            folder,
            authority,
        })
    }
}
