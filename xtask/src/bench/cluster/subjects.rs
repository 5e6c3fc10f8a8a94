//! The subjects of the benchmark on a cluster.

/// A subject, and the arguments of its program.
#[derive(Debug)]
pub(super) struct ClusterSubject {
    pub(super) name: &'static str,
    pub(super) program: Language,
    words: &'static str,
    /// Whether it watches after its first list.
    pub(super) watches: bool,
    /// Whether it is part of the quick benchmark.
    pub(super) quick: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Go,
    Rust,
}

use Language::{Go, Rust};

/// All subjects, in the order of the measurements.
pub(super) const SUBJECTS: &[ClusterSubject] = &[
    ClusterSubject::of("client-go, protobuf", Go, "-wire=protobuf sync").in_quick(),
    ClusterSubject::of("client-go, JSON", Go, "-wire=json sync"),
    ClusterSubject::of("kube-runtime, list", Rust, "kube-runtime list"),
    ClusterSubject::of("kube-runtime, streaming", Rust, "kube-runtime streaming").in_quick(),
    ClusterSubject::of(
        "kube-informer, typed, protobuf",
        Rust,
        "kube-informer typed protobuf",
    )
    .in_quick(),
    ClusterSubject::of("kube-informer, typed, JSON", Rust, "kube-informer typed json"),
    ClusterSubject::of(
        "kube-informer, packed, protobuf",
        Rust,
        "kube-informer packed protobuf",
    )
    .in_quick(),
    ClusterSubject::of("kube-informer, packed, JSON", Rust, "kube-informer packed json"),
    ClusterSubject::of(
        "kube-informer, projection, protobuf",
        Rust,
        "kube-informer projection protobuf",
    )
    .in_quick(),
    ClusterSubject::of(
        "kube-informer, projection, JSON",
        Rust,
        "kube-informer projection json",
    ),
    ClusterSubject::of(
        "kube-informer, packed projection, protobuf",
        Rust,
        "kube-informer packed-projection protobuf",
    ),
    ClusterSubject::of("floor, protobuf", Rust, "floor protobuf").without_watch(),
    ClusterSubject::of("floor, JSON", Rust, "floor json").without_watch(),
];

impl ClusterSubject {
    const fn of(name: &'static str, program: Language, words: &'static str) -> ClusterSubject {
        ClusterSubject {
            name,
            program,
            words,
            watches: true,
            quick: false,
        }
    }

    /// Returns whether reads can be measured.
    pub(super) fn reads(&self) -> bool {
        self.program == Rust
    }

    const fn in_quick(mut self) -> ClusterSubject {
        self.quick = true;
        self
    }

    const fn without_watch(mut self) -> ClusterSubject {
        self.watches = false;
        self
    }

    pub(super) fn arguments(&self) -> impl Iterator<Item = &'static str> {
        self.words.split(' ')
    }
}
