//! Rules of a definition that cannot be evaluated.

use super::super::structure::{Additional, Schema};
use super::{KEY, Rule, self_type};
use crate::cel::Type;
use crate::status::{FieldError, FieldErrorKind};

/// Returns what is wrong with the rules of a schema at a path, given what is wrong with the schema itself.
///
/// `shown` prints a rule. Rules of a schema with errors, its own or further down, are not looked at.
pub(in super::super) fn check(
    schema: Schema<'_>,
    path: &str,
    known: &[FieldError],
    shown: fn(Schema<'_>) -> String,
) -> Vec<FieldError> {
    let mut walk = Walk {
        known,
        shown,
        errors: Vec::new(),
    };
    walk.schema(schema, true, path, None);
    walk.errors
}

struct Walk<'a> {
    known: &'a [FieldError],
    shown: fn(Schema<'_>) -> String,
    errors: Vec<FieldError>,
}

impl Walk<'_> {
    /// `uncorrelatable` is the path of the first list above whose items have no old values.
    fn schema(&mut self, schema: Schema<'_>, is_resource: bool, path: &str, uncorrelatable: Option<&str>) {
        if let Additional::Schema(inner) = schema.additional() {
            let at = format!("{path}.additionalProperties");
            self.schema(inner, inner.embedded(), &at, uncorrelatable);
        }
        for (name, inner) in schema.properties() {
            let at = format!("{path}.properties[{name}]");
            self.schema(inner, inner.embedded(), &at, uncorrelatable);
        }
        if let Some(inner) = schema.items() {
            let own = (schema.list_type() != "map").then_some(path);
            let at = format!("{path}.items");
            self.schema(inner, inner.embedded(), &at, uncorrelatable.or(own));
        }
        let is_within = |field: &str| {
            field
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if schema.list(KEY).is_empty() || self.known.iter().any(|error| is_within(&error.field)) {
            return;
        }
        let Some(ty) = self_type(schema, is_resource) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable \
                 to convert structural schema to CEL declarations";
            let field = format!("{path}.{KEY}");
            self.errors
                .push(FieldError::new(FieldErrorKind::Internal, field, (), detail));
            return;
        };
        for (at, rule) in schema.schemas(KEY).enumerate() {
            self.rule(schema, rule, &ty, &format!("{path}.{KEY}[{at}]"), uncorrelatable);
        }
    }

    fn rule(
        &mut self,
        schema: Schema<'_>,
        rule: Schema<'_>,
        ty: &Type,
        path: &str,
        uncorrelatable: Option<&str>,
    ) {
        let compiled = Rule::compile(schema, rule, ty);
        let mut uses_old = false;
        match &compiled {
            Ok(rule) => uses_old = rule.uses_old,
            Err(wrong) => {
                for (name, why) in [("rule", &wrong.rule), ("messageExpression", &wrong.message)] {
                    if let Some(why) = why {
                        let error = FieldError::invalid(format!("{path}.{name}"), (), why.as_str());
                        self.errors.push(error.showing((self.shown)(rule)));
                    }
                }
                if wrong.message.is_some() {
                    uses_old = rule.text("rule").contains("oldSelf");
                }
            }
        }
        if uses_old {
            if let Some(list) = uncorrelatable {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                self.errors.push(FieldError::invalid(
                    format!("{path}.rule"),
                    rule.text("rule"),
                    detail,
                ));
            }
        } else if let Some(optional) = rule.get("optionalOldSelf") {
            let detail = "may not be set if oldSelf is not used in rule";
            let field = format!("{path}.optionalOldSelf");
            self.errors
                .push(FieldError::invalid(field, optional.clone(), detail));
        }
    }
}
