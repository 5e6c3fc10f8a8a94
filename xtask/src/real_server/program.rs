//! The programs of the real server, and the modules they are built from.

use std::path::Path;

use clap::ValueEnum;

use crate::pins;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerProgram {
    KubeApiserver,
    Etcd,
    Kubectl,
    KubeControllerManager,
}

impl ServerProgram {
    pub(crate) const ALL: &'static [Self] = &[
        Self::KubeApiserver,
        Self::Etcd,
        Self::Kubectl,
        Self::KubeControllerManager,
    ];

    /// Programs that a user's folder must contain. envtest's own has no kube-controller-manager.
    pub(crate) const REQUIRED: &'static [Self] = &[Self::KubeApiserver, Self::Etcd];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::Etcd => "etcd",
            Self::Kubectl => "kubectl",
            Self::KubeControllerManager => "kube-controller-manager",
        }
    }

    pub(crate) fn is_in(self, folder: &Path) -> bool {
        folder.join(self.name()).is_file()
    }

    pub(super) fn source(self) -> Source {
        match self {
            Self::Etcd => Source::Etcd,
            Self::KubeApiserver | Self::Kubectl | Self::KubeControllerManager => Source::Kubernetes,
        }
    }

    pub(super) fn package(self) -> String {
        match self.source() {
            Source::Kubernetes => format!("{}/cmd/{}", Source::Kubernetes.module(), self.name()),
            Source::Etcd => Source::Etcd.module().into(),
        }
    }
}

/// A Go module with programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Kubernetes,
    Etcd,
}

impl Source {
    pub(super) const ALL: [Self; 2] = [Self::Kubernetes, Self::Etcd];

    pub(super) fn module(self) -> &'static str {
        match self {
            Self::Kubernetes => "k8s.io/kubernetes",
            Self::Etcd => "go.etcd.io/etcd/server/v3",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Kubernetes => pins::KUBERNETES,
            Self::Etcd => pins::ETCD,
        }
    }

    /// Returns the version of modules in the module's own tree that it does not require: Kubernetes 1.x.y
    /// publishes its staging modules as 0.x.y.
    pub(super) fn staging_version(self) -> Option<String> {
        match self {
            Self::Kubernetes => Some(self.version().replacen("v1.", "v0.", 1)),
            Self::Etcd => None,
        }
    }

    /// Returns the linker flags that set the version of Kubernetes.
    pub(super) fn linker_flags(self) -> String {
        let stripped = "-s -w".to_owned();
        match self {
            Self::Etcd => stripped,
            Self::Kubernetes => {
                let version = self.version();
                let minor = version.split('.').nth(1).unwrap_or_default();
                let set = [
                    ("k8s.io/component-base/version.gitVersion", version),
                    ("k8s.io/component-base/version.gitMajor", "1"),
                    ("k8s.io/component-base/version.gitMinor", minor),
                    ("k8s.io/component-base/version.gitTreeState", "clean"),
                    ("k8s.io/client-go/pkg/version.gitVersion", version),
                ];
                set.iter().fold(stripped, |flags, (name, value)| {
                    format!("{flags} -X {name}={value}")
                })
            }
        }
    }
}
