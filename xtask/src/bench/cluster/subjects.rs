//! Who is measured on a cluster.

/// A subject, as its program is called.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) program: Program,
    words: &'static str,
    /// Whether it does more than to list once.
    pub(super) watches: bool,
    /// Whether it is in the quick form.
    pub(super) quick: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Go,
    Rust,
}

use Program::{Go, Rust};

/// All of them, in the order in which they take their turns.
pub(super) const SUBJECTS: &[Subject] = &[
    Subject::of("client-go, protobuf", Go, "-wire=protobuf sync").in_quick(),
    Subject::of("client-go, JSON", Go, "-wire=json sync"),
    Subject::of("kube-runtime, list", Rust, "kube-runtime list"),
    Subject::of("kube-runtime, streaming", Rust, "kube-runtime streaming").in_quick(),
    Subject::of(
        "kube-informer, typed, protobuf",
        Rust,
        "kube-informer typed protobuf",
    )
    .in_quick(),
    Subject::of("kube-informer, typed, JSON", Rust, "kube-informer typed json"),
    Subject::of(
        "kube-informer, packed, protobuf",
        Rust,
        "kube-informer packed protobuf",
    )
    .in_quick(),
    Subject::of("kube-informer, packed, JSON", Rust, "kube-informer packed json"),
    Subject::of(
        "kube-informer, projection, protobuf",
        Rust,
        "kube-informer projection protobuf",
    )
    .in_quick(),
    Subject::of(
        "kube-informer, projection, JSON",
        Rust,
        "kube-informer projection json",
    ),
    Subject::of(
        "kube-informer, packed projection, protobuf",
        Rust,
        "kube-informer packed-projection protobuf",
    ),
    Subject::of("floor, protobuf", Rust, "floor protobuf").without_watch(),
    Subject::of("floor, JSON", Rust, "floor json").without_watch(),
];

impl Subject {
    const fn of(name: &'static str, program: Program, words: &'static str) -> Subject {
        Subject {
            name,
            program,
            words,
            watches: true,
            quick: false,
        }
    }

    /// Whether it can be asked how long reading takes.
    pub(super) fn reads(&self) -> bool {
        self.program == Rust
    }

    const fn in_quick(mut self) -> Subject {
        self.quick = true;
        self
    }

    const fn without_watch(mut self) -> Subject {
        self.watches = false;
        self
    }

    pub(super) fn arguments(&self) -> impl Iterator<Item = &'static str> {
        self.words.split(' ')
    }
}
