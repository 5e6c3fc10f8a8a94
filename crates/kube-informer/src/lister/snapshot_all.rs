//! Consistent snapshots of several informers.

use super::Lister;
use crate::pipeline::store::Snapshot;

/// Takes snapshots of several informers at the same moment.
///
/// No informer publishes a change between the first and the last snapshot. The argument is a tuple of two to
/// six [`Lister`]s.
///
/// The moment is that of this process. Each cache follows the server independently, so the resource versions
/// may differ; each snapshot contains its own.
///
/// ```no_run
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
/// # fn example(deployments: kube_informer::Lister<Deployment>, pods: kube_informer::Lister<Pod>) {
/// use kube_informer::snapshot_all;
///
/// let (deployments, pods) = snapshot_all((&deployments, &pods));
/// println!("{} deployments, {} pods", deployments.len(), pods.len());
/// # }
/// ```
#[expect(
    clippy::needless_pass_by_value,
    reason = "a tuple of references reads best as it is"
)]
pub fn snapshot_all<T: SnapshotAll>(listers: T) -> T::Snapshots {
    loop {
        let snapshots = listers.take();
        // Taking snapshots takes some nanoseconds, less than publishing, so this rarely repeats.
        if listers.are_current(&snapshots) {
            return snapshots;
        }
    }
}

/// Listers whose snapshots can be taken together: tuples of two to six listers.
pub trait SnapshotAll: sealed::Sealed {
    /// The snapshots, in the order of the listers.
    type Snapshots;

    #[doc(hidden)]
    fn take(&self) -> Self::Snapshots;

    #[doc(hidden)]
    fn are_current(&self, snapshots: &Self::Snapshots) -> bool;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! tuples {
    ($($kind:ident $at:tt),+) => {
        impl<$($kind),+> sealed::Sealed for ($(&Lister<$kind>,)+) {}

        impl<$($kind),+> SnapshotAll for ($(&Lister<$kind>,)+) {
            type Snapshots = ($(Snapshot<$kind>,)+);

            fn take(&self) -> Self::Snapshots {
                ($(self.$at.store.snapshot(),)+)
            }

            fn are_current(&self, snapshots: &Self::Snapshots) -> bool {
                $(self.$at.store.is_current(&snapshots.$at))&&+
            }
        }
    };
}

tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
