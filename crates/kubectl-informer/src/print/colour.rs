//! Colours of the output.

use std::io::IsTerminal as _;

use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};

/// ColourMode to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ColourMode {
    /// In a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// The flag for colours.
#[derive(Debug, Clone, Args)]
pub(crate) struct ColourOptions {
    /// ColourMode to use colours; auto means in a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false
    )]
    color: ColourMode,
}

impl ColourOptions {
    pub(crate) fn painter(&self) -> Painter {
        match self.color {
            ColourMode::Always => Painter { coloured: true },
            ColourMode::Never => Painter::plain(),
            ColourMode::Auto => Painter::auto(),
        }
    }
}

/// A colour by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Added,
    Changed,
    Deleted,
    /// Text of minor importance.
    Faint,
    Heading,
}

impl Colour {
    fn style(self) -> Style {
        match self {
            Colour::Added => AnsiColor::Green.on_default(),
            Colour::Changed => AnsiColor::Yellow.on_default(),
            Colour::Deleted => AnsiColor::Red.on_default(),
            Colour::Faint => Style::new().dimmed(),
            Colour::Heading => Style::new().bold(),
        }
    }
}

/// Colours text, if colours are enabled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    coloured: bool,
}

impl Painter {
    /// Disables colours.
    pub(crate) fn plain() -> Painter {
        Painter { coloured: false }
    }

    /// Enables colours if standard output is a terminal, unless NO_COLOR is set.
    pub(crate) fn auto() -> Painter {
        let disabled = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Painter {
            coloured: std::io::stdout().is_terminal() && !disabled,
        }
    }

    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        if !self.coloured || text.is_empty() {
            return text.to_owned();
        }
        let style = colour.style();
        format!("{style}{text}{style:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Colour, Painter};

    #[test]
    fn styles_are_reset_after_the_text() {
        let painter = Painter { coloured: true };
        for (colour, expected) in [
            (Colour::Added, "\x1b[32mtext\x1b[0m"),
            (Colour::Changed, "\x1b[33mtext\x1b[0m"),
            (Colour::Deleted, "\x1b[31mtext\x1b[0m"),
            (Colour::Faint, "\x1b[2mtext\x1b[0m"),
            (Colour::Heading, "\x1b[1mtext\x1b[0m"),
        ] {
            assert_eq!(painter.paint(colour, "text"), expected);
            assert_eq!(painter.paint(colour, ""), "");
            assert_eq!(Painter::plain().paint(colour, "text"), "text");
        }
    }
}
