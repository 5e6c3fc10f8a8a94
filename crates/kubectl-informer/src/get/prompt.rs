//! The prompt: runs queries on a live cache, one per line.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use kube_informer::SharedInformer;
use tokio::sync::mpsc;

use super::printer::ObjectPrinter;
use super::query::{IndexDefinition, Query, unknown_index};
use crate::cache::{AllFields, JsonObject, grouped};
use crate::failure::{Failure, Outcome};
use crate::print::messages::Messages;
use crate::print::stdout::BufferedStdout;

const HELP: &str = "\
node=north                 objects with the value `north` in the index `node`
node=north app=web         both must match
-l tier=front,env!=test    objects with these labels; also after an index
web-1, shop/web-1          an object by name
all                        every object
count QUERY                number of objects
-n NS, -o FORMAT           namespace and output format (table, wide, json, yaml or name) of a query
indexes                    all indexes
values INDEX               values of an index, and the number of objects of each
index team=.metadata.labels.team
                           adds an index
help, exit
";

/// Reads and runs queries until the input ends. An invalid query is reported and does not end the prompt.
pub(super) async fn run(
    informer: &SharedInformer<JsonObject<AllFields>>,
    printer: ObjectPrinter,
    messages: Arc<Messages>,
) -> Outcome {
    let is_interactive = io::stdin().is_terminal();
    if is_interactive {
        messages.print(&format!(
            "{} {} in the cache. Enter `help` for the syntax of queries, `exit` or Ctrl-D to exit.",
            grouped(informer.snapshot().len() as u64),
            printer.resource()
        ));
    }
    let prompt = is_interactive.then(|| format!("{}> ", printer.resource()));
    let mut lines = lines();
    loop {
        if let Some(prompt) = &prompt {
            let mut stderr = io::stderr().lock();
            stderr.write_all(prompt.as_bytes())?;
            stderr.flush()?;
        }
        let Some(line) = lines.recv().await else {
            return Ok(());
        };
        let line = line?;
        match run_line(line.trim(), informer, &printer) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Exit) => return Ok(()),
            Err(failure) if failure.is_silent() => return Err(failure),
            Err(failure) => messages.print(&failure.to_string()),
        }
    }
}

enum Flow {
    Continue,
    Exit,
}

fn run_line(
    line: &str,
    informer: &SharedInformer<JsonObject<AllFields>>,
    printer: &ObjectPrinter,
) -> Outcome<Flow> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let mut out = BufferedStdout::new();
    match (word, rest) {
        ("", _) => return Ok(Flow::Continue),
        ("exit" | "quit", "") => return Ok(Flow::Exit),
        ("help" | "?", "") => out.write(HELP)?,
        ("indexes", "") => {
            let snapshot = informer.snapshot();
            for name in snapshot.index_names() {
                let values = snapshot.index_values(name)?.len();
                out.line(&format!("{name}   {} values", grouped(values as u64)))?;
            }
            if snapshot.index_names().next().is_none() {
                out.line("no indexes; add one, for example: index node=.spec.nodeName")?;
            }
        }
        ("values", name) => values(name, informer, &mut out)?,
        ("index", definition) => {
            let index: IndexDefinition = definition.parse().map_err(Failure::new)?;
            index.add_to(informer)?;
        }
        ("count", rest) => {
            let found = parse(rest)?.run(informer)?;
            out.line(&found.len().to_string())?;
        }
        _ => run_query(line, informer, printer)?,
    }
    out.flush()?;
    Ok(Flow::Continue)
}

fn run_query(
    line: &str,
    informer: &SharedInformer<JsonObject<AllFields>>,
    printer: &ObjectPrinter,
) -> Outcome {
    let query = parse(line)?;
    let found = query.run(informer)?;
    let output = query.output.unwrap_or(printer.default_output());
    if found.is_empty() {
        let mut out = BufferedStdout::new();
        out.line("No resources found.")?;
        return Ok(out.flush()?);
    }
    printer.print(output, query.name.is_some() && found.len() == 1, found)
}

fn parse(line: &str) -> Outcome<Query> {
    let line = match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
        ("all", rest) => rest,
        _ => line,
    };
    Query::parse(line).map_err(Failure::new)
}

fn values(name: &str, informer: &SharedInformer<JsonObject<AllFields>>, out: &mut BufferedStdout) -> Outcome {
    let Ok(index) = informer.find_index::<String>(name) else {
        return Err(unknown_index(name, informer));
    };
    let snapshot = informer.snapshot();
    for value in snapshot.index_values(name)? {
        let objects = snapshot.by(&index, value.as_str()).len();
        out.line(&format!("{value}   {}", grouped(objects as u64)))?;
    }
    Ok(())
}

/// Reads the lines of standard input.
fn lines() -> mpsc::Receiver<io::Result<String>> {
    let (send, receive) = mpsc::channel(1);
    // A separate thread, because reading standard input cannot be cancelled. The end of the process ends it.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receive
}
