//! Policies that cannot be evaluated.

use serde_json::Value as Json;

use super::compile::{CompileError, Compiler, Returns, VARIABLES};
use crate::cel::{Fields, Program, is_reserved};
use crate::defaults::fields::{items, text};
use crate::status::FieldError;

/// The longest expression of an audit annotation, in bytes.
const LONGEST_ANNOTATION: usize = 5 * 1024;

/// Returns what is wrong with the expressions of a policy.
pub(crate) fn check_policy(policy: &Json) -> Vec<FieldError> {
    let spec = &policy["spec"];
    let mut check = Check {
        compiler: Compiler::of(spec),
        errors: Vec::new(),
    };
    for (index, condition) in items(spec, "matchConditions").iter().enumerate() {
        check.condition(&format!("spec.matchConditions[{index}]"), condition);
    }
    let mut fields = Fields::of(VARIABLES);
    for (index, variable) in items(spec, VARIABLES).iter().enumerate() {
        check.variable(&format!("spec.variables[{index}]"), variable, &mut fields);
    }
    for (index, validation) in items(spec, "validations").iter().enumerate() {
        check.validation(&format!("spec.validations[{index}]"), validation);
    }
    for (index, annotation) in items(spec, "auditAnnotations").iter().enumerate() {
        check.annotation(&format!("spec.auditAnnotations[{index}]"), annotation);
    }
    check.errors
}

struct Check {
    compiler: Compiler,
    errors: Vec<FieldError>,
}

impl Check {
    fn report(&mut self, field: String, expression: &str, result: Result<Program, CompileError>) {
        if let Err(why) = result {
            self.errors.push(why.of_field(field, expression));
        }
    }

    fn condition(&mut self, at: &str, condition: &Json) {
        let field = format!("{at}.expression");
        match text(condition, "expression").trim() {
            "" => self.errors.push(FieldError::required(field, "")),
            expression => {
                let result = self.compiler.condition(expression);
                self.report(field, expression, result);
            }
        }
    }

    fn variable(&mut self, at: &str, variable: &Json, fields: &mut Fields) {
        let (name, expression) = (text(variable, "name"), text(variable, "expression"));
        let field = format!("{at}.name");
        if name.trim().is_empty() {
            self.errors
                .push(FieldError::required(field, "name is not specified"));
        } else if !is_identifier(name) {
            let detail = "must be a valid CEL identifier";
            self.errors.push(FieldError::invalid(field, name, detail));
        }
        let field = format!("{at}.expression");
        if expression.trim().is_empty() {
            self.errors
                .push(FieldError::required(field, "expression is not specified"));
            return;
        }
        match self.compiler.variable(name, expression) {
            Ok(program) => {
                if let Err(why) = fields.add(name.to_owned(), program) {
                    self.errors.push(FieldError::invalid(field, expression, why));
                }
            }
            Err(why) => self.errors.push(why.of_field(field, expression)),
        }
    }

    fn validation(&mut self, at: &str, validation: &Json) {
        let field = format!("{at}.expression");
        let expression = text(validation, "expression");
        if expression.trim().is_empty() {
            self.errors
                .push(FieldError::required(field, "expression is not specified"));
        } else {
            let result = self.compiler.expression(expression, Returns::Bool);
            self.report(field, expression, result);
        }
        let field = format!("{at}.messageExpression");
        let message = text(validation, "messageExpression");
        if message.is_empty() {
            return;
        }
        if message.trim().is_empty() {
            let detail = "must be non-empty if specified";
            self.errors.push(FieldError::invalid(field, message, detail));
        } else {
            let result = self.compiler.expression(message, Returns::String);
            self.report(field, message, result);
        }
    }

    fn annotation(&mut self, at: &str, annotation: &Json) {
        let field = format!("{at}.valueExpression");
        let expression = text(annotation, "valueExpression");
        let trimmed = expression.trim();
        if trimmed.is_empty() {
            let detail = "valueExpression is not specified";
            self.errors.push(FieldError::required(field, detail));
        } else if trimmed.len() > LONGEST_ANNOTATION {
            let detail = format!("must not exceed {LONGEST_ANNOTATION} bytes in length");
            self.errors.push(FieldError::required(field, detail));
        } else {
            let result = self.compiler.expression(trimmed, Returns::StringOrNull);
            self.report(field, expression, result);
        }
    }
}

/// Returns whether a text is a name in expressions.
fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && chars.all(|c| c == '_' || c.is_ascii_alphanumeric())
        && !is_reserved(text)
}
