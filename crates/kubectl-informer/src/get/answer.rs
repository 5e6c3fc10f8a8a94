//! What was found, printed as kubectl prints it.

use kube_informer::{DiscoveredResource, Object};
use kube_table::Columns;
use serde_json::Value;

use crate::cache::{Any, Whole};
use crate::failure::Outcome;
use crate::print::colour::Paint;
use crate::print::out::Out;
use crate::print::table::Table;
use crate::print::{Output, objects};

/// How the objects of a resource are printed.
pub(super) struct Answers {
    resource: DiscoveredResource,
    columns: Columns,
    with_namespace: bool,
    output: Output,
}

impl Answers {
    pub(super) fn new(
        resource: DiscoveredResource,
        columns: Columns,
        with_namespace: bool,
        output: Output,
    ) -> Answers {
        Answers {
            resource,
            columns,
            with_namespace,
            output,
        }
    }

    /// How objects are printed where nothing else is asked for.
    pub(super) fn usual(&self) -> Output {
        self.output
    }

    pub(super) fn resource(&self) -> &DiscoveredResource {
        &self.resource
    }

    /// Prints objects. Each is decoded when its turn comes and forgotten again.
    pub(super) fn print(&self, output: Output, is_one: bool, found: Vec<Object<Whole<Any>>>) -> Outcome {
        let mut out = Out::new();
        let kind = self.resource.api_resource();
        if let Output::Table | Output::Wide = output {
            let wide = output == Output::Wide;
            let mut table = Table::new(self.columns.clone(), wide, String::new(), self.with_namespace);
            return Ok(table.write(&mut out, Paint::plain(), "", found)?);
        }
        let mut values = found.into_iter().map(|object| object.typed(kind));
        match output {
            Output::Name | Output::Table | Output::Wide => {
                for value in values {
                    out.line(&objects::name(&self.resource, &value))?;
                }
            }
            Output::Json => json(&mut out, is_one, &mut values)?,
            Output::Yaml => yaml(&mut out, is_one, &mut values)?,
        }
        Ok(out.flush()?)
    }
}

/// One object, or a list of them, in the words of kubectl. The list is written as it comes: all of it would be large.
fn json(out: &mut Out, is_one: bool, values: &mut dyn Iterator<Item = Value>) -> Outcome {
    if is_one {
        for value in values {
            out.line(&objects::json_pretty(&value)?)?;
        }
        return Ok(());
    }
    out.write("{\n    \"apiVersion\": \"v1\",\n    \"items\": [")?;
    let mut between = "";
    for value in values {
        let text = objects::json_pretty(&value)?.replace('\n', "\n        ");
        out.write(&format!("{between}\n        {text}"))?;
        between = ",";
    }
    let end = if between.is_empty() { "" } else { "\n    " };
    out.write(&format!(
        "{end}],\n    \"kind\": \"List\",\n    \"metadata\": {{\n        \"resourceVersion\": \"\"\n    }}\n}}\n"
    ))?;
    Ok(())
}

fn yaml(out: &mut Out, is_one: bool, values: &mut dyn Iterator<Item = Value>) -> Outcome {
    if is_one {
        for value in values {
            out.write(&objects::yaml(&value)?)?;
        }
        return Ok(());
    }
    out.write("apiVersion: v1\nitems:")?;
    let mut is_empty = true;
    for value in values {
        let text = objects::yaml(&value)?;
        let text = text.trim_end().replace('\n', "\n  ");
        out.write(&format!("\n- {text}"))?;
        is_empty = false;
    }
    let end = if is_empty { " []" } else { "" };
    out.write(&format!(
        "{end}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"
    ))?;
    Ok(())
}
