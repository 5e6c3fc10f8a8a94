//! Holds objects against rules.

use serde_json::{Map, Value as Json};

use super::super::structure::{Additional, Schema};
use super::super::validate::{counterpart, unchanged};
use super::values::value;
use super::{Rule, Rules, is_there};
use crate::cel::{Budget, EvalError, Program, Value};
use crate::status::{FieldError, FieldErrorKind};

/// The longest text that an expression may make for a message, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A value, and what it was before.
#[derive(Clone, Copy)]
struct Change<'a> {
    new: &'a Json,
    old: &'a Json,
    schema: Schema<'a>,
}

impl Change<'_> {
    fn is_none(self) -> bool {
        unchanged(Some(self.schema), self.new, self.old)
    }
}

/// Whether a value is what it was before, or the nearest one around it that can be told.
#[derive(Clone, Copy, Default)]
struct Correlation<'a> {
    current: Option<Change<'a>>,
    around: Option<Change<'a>>,
}

impl<'a> Correlation<'a> {
    fn is_unchanged(self) -> bool {
        self.current.or(self.around).is_some_and(Change::is_none)
    }

    fn key(self, name: &str, schema: Schema<'a>) -> Correlation<'a> {
        let Some(current) = self.current else {
            return self;
        };
        if self.around.is_none() && matches!(name, "apiVersion" | "kind") {
            return Correlation::default();
        }
        let change = match (current.new.get(name), current.old.get(name)) {
            (Some(new), Some(old)) => Some(Change { new, old, schema }),
            _ => None,
        };
        Correlation {
            current: change,
            around: Some(current),
        }
    }

    fn item(self, new: &'a Json, old: Option<&'a Json>, schema: Schema<'a>) -> Correlation<'a> {
        let Some(current) = self.current else {
            return self;
        };
        Correlation {
            current: old.map(|old| Change { new, old, schema }),
            around: Some(current),
        }
    }
}

/// The budget is used up.
struct Exhausted;

struct Walk<'e> {
    errors: &'e mut Vec<FieldError>,
    budget: Budget,
}

/// A value with its schema and its place in the object.
#[derive(Clone, Copy)]
struct Node<'a> {
    schema: Schema<'a>,
    value: &'a Json,
    old: Option<&'a Json>,
    path: &'a str,
    is_resource: bool,
    correlation: Correlation<'a>,
}

impl Rules {
    /// Validates an object. With `old`, unchanged values are only validated by rules about changes.
    pub(in super::super) fn validate(
        &self,
        schema: Schema<'_>,
        object: &Json,
        old: Option<&Json>,
        errors: &mut Vec<FieldError>,
    ) {
        let current = old.map(|old| Change {
            new: object,
            old,
            schema,
        });
        let mut walk = Walk {
            errors,
            budget: Budget::new(),
        };
        let node = Node {
            schema,
            value: object,
            old,
            path: "",
            is_resource: true,
            correlation: Correlation {
                current,
                around: None,
            },
        };
        // The rule that exceeded the budget has reported it.
        let _ = walk.node(self, node);
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

impl Walk<'_> {
    fn node(&mut self, rules: &Rules, node: Node<'_>) -> Result<(), Exhausted> {
        if node.value.is_null() {
            return Ok(());
        }
        self.own(rules, node)?;
        match node.value {
            Json::Array(items) => self.items(rules, node, items),
            Json::Object(fields) => self.fields(rules, node, fields),
            _ => Ok(()),
        }
    }

    fn items(&mut self, rules: &Rules, node: Node<'_>, items: &[Json]) -> Result<(), Exhausted> {
        let (Some(rules), Some(schema)) = (&rules.items, node.schema.items()) else {
            return Ok(());
        };
        let old_items = node
            .old
            .and_then(Json::as_array)
            .filter(|_| node.schema.list_type() == "map");
        for (at, item) in items.iter().enumerate() {
            let old = old_items.and_then(|old| counterpart(node.schema, item, old));
            let inner = Node {
                schema,
                value: item,
                old,
                path: &format!("{}[{at}]", node.path),
                is_resource: schema.embedded(),
                correlation: node.correlation.item(item, old, schema),
            };
            self.node(rules, inner)?;
        }
        Ok(())
    }

    fn fields(&mut self, rules: &Rules, node: Node<'_>, fields: &Map<String, Json>) -> Result<(), Exhausted> {
        for (name, field) in fields {
            let old = is_there(node.old.and_then(|old| old.get(name)));
            let own = rules.properties.iter().find(|(own, _)| own == name);
            let (rules, schema, path) = match (own, node.schema.property(name), node.schema.additional()) {
                (Some((_, rules)), Some(schema), _) => (rules, schema, joined(node.path, name)),
                (_, None, Additional::Schema(schema)) => match &rules.additional {
                    Some(rules) => (&**rules, schema, format!("{}[{name}]", node.path)),
                    None => continue,
                },
                _ => continue,
            };
            let inner = Node {
                schema,
                value: field,
                old,
                path: &path,
                is_resource: schema.embedded(),
                correlation: node.correlation.key(name, schema),
            };
            self.node(rules, inner)?;
        }
        Ok(())
    }

    /// Evaluates the rules of the value itself.
    fn own(&mut self, rules: &Rules, node: Node<'_>) -> Result<(), Exhausted> {
        if rules.own.is_empty() {
            return Ok(());
        }
        let (schema, is_resource) = (node.schema, node.is_resource);
        let new = value(node.value, schema, is_resource);
        let old = match node.old {
            Some(old) if rules.own.iter().any(|rule| rule.uses_old) => Some(value(old, schema, is_resource)),
            _ => None,
        };
        for rule in &rules.own {
            if self.budget.is_empty() {
                return self.exhausted(node);
            }
            if rule.uses_old && node.old.is_none() && !rule.optional_old {
                continue;
            }
            let mut variables = vec![("self", new.clone())];
            match &old {
                _ if !rule.uses_old => {}
                Some(old) if rule.optional_old => variables.push(("oldSelf", Value::some(old.clone()))),
                None if rule.optional_old => variables.push(("oldSelf", Value::Optional(None))),
                Some(old) => variables.push(("oldSelf", old.clone())),
                None => {}
            }
            self.rule(rule, node, &variables)?;
        }
        Ok(())
    }

    fn rule(&mut self, rule: &Rule, node: Node<'_>, variables: &[(&str, Value)]) -> Result<(), Exhausted> {
        let result = rule.program.evaluate(variables, &mut self.budget);
        let is_enough = self.budget.settle();
        let detail = match result {
            Err(EvalError::TooExpensive) => {
                let detail = format!(
                    "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                    EvalError::TooExpensive,
                    rule.shown()
                );
                self.report(node, detail);
                return Err(Exhausted);
            }
            _ if !is_enough => return self.exhausted(node),
            Ok(Value::Bool(true)) => return Ok(()),
            Ok(_) => None,
            Err(error @ EvalError::NoSuchOverload) => Some(format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                rule.shown()
            )),
            Err(error) => Some(format!("{error} evaluating rule: {}", rule.shown())),
        };
        match detail {
            Some(detail) => {
                self.report(node, detail);
                Ok(())
            }
            None => self.broken(rule, node, variables),
        }
    }

    /// An error that is not the object's; the server shows the type of the value.
    fn report(&mut self, node: Node<'_>, detail: String) {
        let field = if node.path.is_empty() { "<nil>" } else { node.path };
        self.errors
            .push(FieldError::invalid(field, node.schema.kind(), detail));
    }

    fn exhausted(&mut self, node: Node<'_>) -> Result<(), Exhausted> {
        let detail =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        self.report(node, detail.into());
        Err(Exhausted)
    }

    /// Reports that a value breaks a rule, unless it did so before.
    fn broken(&mut self, rule: &Rule, node: Node<'_>, variables: &[(&str, Value)]) -> Result<(), Exhausted> {
        let detail = match &rule.message_program {
            None => None,
            Some(program) => self.message(rule, program, node, variables)?,
        };
        if !rule.uses_old && node.correlation.is_unchanged() {
            return Ok(());
        }
        let detail = detail.unwrap_or_else(|| rule.default_message());
        let field = match (&rule.field_path, node.path) {
            (Some(inner), path) => joined(path, inner),
            (None, "") => "<nil>".to_owned(),
            (None, path) => path.to_owned(),
        };
        let detail = match rule.reason {
            FieldErrorKind::Duplicate => String::new(),
            _ => detail,
        };
        let error = FieldError::new(rule.reason, field, node.value.clone(), detail);
        self.errors.push(match node.schema.kind() {
            "object" | "array" => error.without_value(),
            _ => error,
        });
        Ok(())
    }

    /// Returns the message that an expression makes, if it makes a good one.
    fn message(
        &mut self,
        rule: &Rule,
        program: &Program,
        node: Node<'_>,
        variables: &[(&str, Value)],
    ) -> Result<Option<String>, Exhausted> {
        let result = program.evaluate(variables, &mut self.budget);
        let is_enough = self.budget.settle();
        if matches!(result, Err(EvalError::TooExpensive)) {
            let detail = format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {:?}",
                rule.message_text
            );
            self.report(node, detail);
            return Err(Exhausted);
        }
        if !is_enough {
            let detail = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
            self.report(node, detail.into());
            return Err(Exhausted);
        }
        let Ok(Value::String(text)) = result else {
            return Ok(None);
        };
        let text = text.trim();
        let is_good = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
        Ok(is_good.then(|| text.to_owned()))
    }
}
