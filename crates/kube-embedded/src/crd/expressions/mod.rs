//! CEL rules of custom resources: `x-kubernetes-validations`.
//!
//! [`check`] refuses rules of a definition that cannot be evaluated; [`Rules`] are the compiled rules of a schema, which
//! [`Rules::validate`] holds an object against.

mod declared;
mod definition;
mod evaluate;
mod field_path;
#[cfg(test)]
mod tests;
mod values;

use serde_json::Value;

use self::declared::declared;
pub(super) use self::definition::check;
pub(super) use self::field_path::is_field_path;
use self::field_path::parse as field_path;
use super::structure::{Additional, Schema};
use crate::cel::{Program, Type};
use crate::status::FieldErrorKind;

/// The key of rules in a schema.
const KEY: &str = "x-kubernetes-validations";

/// The compiled rules of a schema and of all schemas within it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    own: Vec<Rule>,
    items: Option<Box<Rules>>,
    additional: Option<Box<Rules>>,
    properties: Vec<(String, Rules)>,
}

/// A compiled rule.
#[derive(Debug)]
struct Rule {
    text: String,
    message: String,
    program: Program,
    /// The rule is about a change.
    uses_old: bool,
    /// The old value is optional, so that the rule is also evaluated where there is none.
    optional_old: bool,
    message_text: String,
    message_program: Option<Program>,
    reason: FieldErrorKind,
    /// Path of the field to report, without a dot at the beginning.
    field_path: Option<String>,
}

impl Rules {
    /// Compiles the rules of the schema of a kind, if it has any.
    pub(super) fn of(schema: Schema<'_>) -> Option<Rules> {
        let has_rules = schema.any(&|s| !s.list(KEY).is_empty());
        has_rules
            .then(|| Rules::compile(schema, true))
            .filter(|rules| !rules.is_empty())
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.items.is_none() && self.additional.is_none() && self.properties.is_empty()
    }

    fn compile(schema: Schema<'_>, is_resource: bool) -> Rules {
        let rules = schema.schemas(KEY);
        let own = match self_type(schema, is_resource) {
            Some(ty) => rules
                .filter_map(|rule| Rule::compile(schema, rule, &ty).ok())
                .collect(),
            None => Vec::new(),
        };
        let below = |inner: Schema<'_>| {
            let rules = Rules::compile(inner, inner.embedded());
            (!rules.is_empty()).then_some(rules)
        };
        let additional = match schema.additional() {
            Additional::Schema(inner) => below(inner),
            _ => None,
        };
        Rules {
            own,
            items: schema.items().and_then(below).map(Box::new),
            additional: additional.map(Box::new),
            properties: schema
                .properties()
                .filter_map(|(name, inner)| Some((name.to_owned(), below(inner)?)))
                .collect(),
        }
    }
}

/// Returns the type of `self` in the rules of a schema, if it has any.
fn self_type(schema: Schema<'_>, is_resource: bool) -> Option<Type> {
    let has_rules = !schema.list(KEY).is_empty();
    has_rules
        .then(|| declared(schema, is_resource, "selfType"))
        .flatten()
}

/// What is wrong with a rule: in its expression or in that of its message.
#[derive(Debug)]
struct RuleErrors {
    rule: Option<String>,
    message: Option<String>,
}

impl Rule {
    fn compile(schema: Schema<'_>, rule: Schema<'_>, ty: &Type) -> Result<Rule, RuleErrors> {
        let optional_old = rule.flag("optionalOldSelf");
        let old = if optional_old {
            Type::optional(ty.clone())
        } else {
            ty.clone()
        };
        let variables = [("self", ty.clone()), ("oldSelf", old)];
        let of_rule = |why: String| RuleErrors {
            rule: Some(why),
            message: None,
        };
        let of_message = |why: String| RuleErrors {
            rule: None,
            message: Some(why),
        };
        let program = Program::compile(rule.text("rule"), &variables)
            .map_err(|why| of_rule(format!("compilation failed: {why}")))?;
        if program.ty != Type::Bool {
            return Err(of_rule("cel expression must evaluate to a bool".into()));
        }
        program
            .fold()
            .map_err(|why| of_rule(format!("program instantiation failed: {why}")))?;
        let message_program = match rule.text("messageExpression") {
            "" => None,
            text => {
                let program = Program::compile(text, &variables)
                    .map_err(|why| of_message(format!("messageExpression compilation failed: {why}")))?;
                if program.ty != Type::String {
                    return Err(of_message("messageExpression must evaluate to a string".into()));
                }
                program
                    .fold()
                    .map_err(|why| of_message(format!("messageExpression instantiation failed: {why}")))?;
                Some(program)
            }
        };
        Ok(Rule {
            text: rule.text("rule").to_owned(),
            message: rule.text("message").to_owned(),
            uses_old: program.mentions("oldSelf"),
            program,
            optional_old,
            message_text: rule.text("messageExpression").to_owned(),
            message_program,
            reason: match rule.text("reason") {
                "FieldValueForbidden" => FieldErrorKind::Forbidden,
                "FieldValueRequired" => FieldErrorKind::Required,
                "FieldValueDuplicate" => FieldErrorKind::Duplicate,
                _ => FieldErrorKind::Invalid,
            },
            field_path: field_path(schema, rule.text("fieldPath")),
        })
    }

    /// Returns the message of the rule or, without one, the rule.
    fn shown(&self) -> &str {
        if self.message.is_empty() {
            self.text.trim()
        } else {
            self.message.trim()
        }
    }

    fn default_message(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.text.trim())
        } else {
            self.message.trim().to_owned()
        }
    }
}

/// Returns whether a value is what type and schema of a rule expect to be there.
fn is_there(value: Option<&Value>) -> Option<&Value> {
    value.filter(|v| !v.is_null())
}
