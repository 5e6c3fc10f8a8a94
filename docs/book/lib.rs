//! The programs of the book, as tests: `cargo test -p book`.
//!
//! Each chapter is documentation of this package, so that `cargo test --doc` compiles every program in it,
//! and runs those with an embedded cluster. Other checks of the chapters are in `tests`.

/// Declares the chapters: each is a test, and all are in [`CHAPTERS`].
macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {
        /// The files of the chapters, in `src`.
        pub const CHAPTERS: &[&str] = &[$($file),*];

        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("src/", $file))]
            pub struct $name;
        )*
    };
}

chapters! {
    Introduction: "introduction.md",
    FirstProgram: "first-program.md",
    Concepts: "concepts.md",
    Indexes: "indexes.md",
    Handlers: "handlers.md",
    WorkQueues: "work-queues.md",
    CustomResources: "custom-resources.md",
    Memory: "memory.md",
    Testing: "testing.md",
    FromClientGo: "from-client-go.md",
    FromKubeRs: "from-kube-rs.md",
    Operations: "operations.md",
    Architecture: "architecture.md",
    ClientGoParts: "client-go-parts.md",
    HowItIsTested: "how-it-is-tested.md",
}
