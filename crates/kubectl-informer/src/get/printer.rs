//! Prints the results of queries as kubectl does.

use kube_informer::{Object, discovery::DiscoveredResource};
use kube_table::Columns;
use serde_json::Value;

use crate::cache::{AllFields, JsonObject};
use crate::failure::Outcome;
use crate::print::colour::Painter;
use crate::print::stdout::BufferedStdout;
use crate::print::table::Table;
use crate::print::{Output, objects};

/// Prints the objects of a resource.
pub(super) struct ObjectPrinter {
    resource: DiscoveredResource,
    columns: Columns,
    with_namespace: bool,
    output: Output,
}

impl ObjectPrinter {
    pub(super) fn new(
        resource: DiscoveredResource,
        columns: Columns,
        with_namespace: bool,
        output: Output,
    ) -> ObjectPrinter {
        ObjectPrinter {
            resource,
            columns,
            with_namespace,
            output,
        }
    }

    /// Returns the default output format.
    pub(super) fn default_output(&self) -> Output {
        self.output
    }

    pub(super) fn resource(&self) -> &DiscoveredResource {
        &self.resource
    }

    /// Prints objects, decoding one at a time to save memory.
    pub(super) fn print(
        &self,
        output: Output,
        is_one: bool,
        found: Vec<Object<JsonObject<AllFields>>>,
    ) -> Outcome {
        let mut out = BufferedStdout::new();
        let kind = self.resource.api_resource();
        if let Output::Table | Output::Wide = output {
            let wide = output == Output::Wide;
            let mut table = Table::new(self.columns.clone(), wide, String::new(), self.with_namespace);
            return Ok(table.write(&mut out, Painter::plain(), "", found)?);
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

/// Prints one object, or a list as kubectl does. Items are written one at a time to save memory.
fn json(out: &mut BufferedStdout, is_one: bool, values: &mut dyn Iterator<Item = Value>) -> Outcome {
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

fn yaml(out: &mut BufferedStdout, is_one: bool, values: &mut dyn Iterator<Item = Value>) -> Outcome {
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
