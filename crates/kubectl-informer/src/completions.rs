//! `completions`: shell completions of the commands.

use std::io::Write as _;

use clap::{Args, Command, ValueEnum};
use clap_complete::aot::{Shell, generate};

use crate::failure::Outcome;

const EXAMPLES: &str = "\
Examples:
  # bash, for this session; put it into ~/.bashrc for all
  source <(kubectl-informer completions bash)

  # zsh, in a folder of $fpath
  kubectl-informer completions zsh > ~/.zfunc/_kubectl-informer

  # fish
  kubectl-informer completions fish > ~/.config/fish/completions/kubectl-informer.fish

  # `kubectl informer <TAB>`: kubectl asks a program of this name on the PATH
  kubectl-informer completions kubectl > ~/bin/kubectl_complete-informer
  chmod +x ~/bin/kubectl_complete-informer
";

/// Print a completion script for a shell or for kubectl.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsOptions {
    /// Shell to generate completions for.
    #[arg(value_enum)]
    target: Target,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Target {
    Bash,
    Zsh,
    Fish,
    /// For completing `kubectl informer`.
    Kubectl,
}

/// The first argument of a completion request, before the words of the command line.
pub(crate) const COMPLETE: &str = "__complete";

/// The script that kubectl runs for `kubectl informer <TAB>`.
const KUBECTL: &str = "\
#!/bin/sh
# Completions of `kubectl informer`; kubectl runs this when it stands on the PATH as kubectl_complete-informer.
exec kubectl-informer __complete \"$@\"
";

/// Commonly watched resources. The server is not asked for others, because completion must be fast.
const RESOURCES: [&str; 20] = [
    "configmaps",
    "cronjobs",
    "customresourcedefinitions",
    "daemonsets",
    "deployments",
    "endpointslices",
    "events",
    "horizontalpodautoscalers",
    "ingresses",
    "jobs",
    "leases",
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "replicasets",
    "secrets",
    "services",
    "statefulsets",
];

/// Directive for kubectl: do not offer file names.
const NO_FILES: &str = ":4";

/// Prints the script.
pub(crate) fn run(options: &CompletionsOptions, mut command: Command) -> Outcome {
    let shell = match options.target {
        Target::Bash => Shell::Bash,
        Target::Zsh => Shell::Zsh,
        Target::Fish => Shell::Fish,
        Target::Kubectl => return printed(KUBECTL),
    };
    let mut script = Vec::new();
    generate(shell, &mut command, "kubectl-informer", &mut script);
    printed(&String::from_utf8_lossy(&script))
}

/// Prints the completions of the final word, one per line, in the format that kubectl expects.
pub(crate) fn complete(words: &[String], command: &Command) -> Outcome {
    let mut text = String::new();
    for (word, about) in candidates(words, command) {
        text.push_str(&word);
        if !about.is_empty() {
            text.push('\t');
            text.push_str(&about);
        }
        text.push('\n');
    }
    printed(&format!("{text}{NO_FILES}\n"))
}

fn candidates(words: &[String], command: &Command) -> Vec<(String, String)> {
    let (last, before) = match words.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", words),
    };
    let Some(chosen) = before.first().and_then(|name| command.find_subcommand(name)) else {
        let offered = command.get_subcommands();
        let offered = offered.map(|known| (known.get_name().to_owned(), about(known.get_about())));
        return fitting(offered, last);
    };
    if last.starts_with('-') {
        let flags = chosen.get_arguments().filter(|argument| !argument.is_hide_set());
        let flags = flags.filter_map(|argument| {
            let name = format!("--{}", argument.get_long()?);
            Some((name, about(argument.get_help())))
        });
        return fitting(flags, last);
    }
    let option = before.last().and_then(|word| word.strip_prefix("--"));
    let argument = option.and_then(|long| {
        let mut arguments = chosen.get_arguments();
        arguments.find(|argument| argument.get_long() == Some(long) && argument.get_action().takes_values())
    });
    let argument = argument.or_else(|| chosen.get_positionals().next().filter(|_| option.is_none()));
    match argument {
        Some(argument) if argument.get_id() == "resources" || argument.get_id() == "resource" => {
            // In `pods,de`, only `de` is completed.
            let (done, last) = last
                .rsplit_once(',')
                .map_or(("", last), |(done, last)| (done, last));
            let comma = if done.is_empty() { "" } else { "," };
            let fit = RESOURCES.iter().filter(|resource| resource.starts_with(last));
            fit.map(|resource| (format!("{done}{comma}{resource}"), String::new()))
                .collect()
        }
        Some(argument) => {
            let values = argument.get_possible_values().into_iter();
            fitting(
                values.map(|value| (value.get_name().to_owned(), about(value.get_help()))),
                last,
            )
        }
        None => Vec::new(),
    }
}

fn fitting(offered: impl Iterator<Item = (String, String)>, begun: &str) -> Vec<(String, String)> {
    offered.filter(|(word, _)| word.starts_with(begun)).collect()
}

/// Returns the first line of a help text.
fn about(help: Option<&clap::builder::StyledStr>) -> String {
    let text = help.map(ToString::to_string).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn printed(text: &str) -> Outcome {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}
