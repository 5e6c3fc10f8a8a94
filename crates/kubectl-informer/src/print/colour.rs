//! Colours, where someone can see them.

use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    /// In a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// The flag for colours.
#[derive(Debug, Clone, Args)]
pub(crate) struct ColourOptions {
    /// When to use colours; auto means in a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false
    )]
    color: When,
}

impl ColourOptions {
    pub(crate) fn paint(&self) -> Paint {
        let coloured = match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                std::io::stdout().is_terminal() && !refused
            }
        };
        Paint { coloured }
    }
}

/// A colour by what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Added,
    Changed,
    Deleted,
    /// What only stands around what matters.
    Faint,
    Heading,
}

/// Paints text, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    coloured: bool,
}

impl Paint {
    pub(crate) fn plain() -> Paint {
        Paint { coloured: false }
    }

    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        if !self.coloured || text.is_empty() {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Added => "32",
            Colour::Changed => "33",
            Colour::Deleted => "31",
            Colour::Faint => "2",
            Colour::Heading => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
