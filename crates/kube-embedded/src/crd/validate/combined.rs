//! Validates `anyOf`, `oneOf`, `allOf` and `not`.

use serde_json::Value;

use super::super::structure::Schema;
use super::{Finding, Outcome, SchemaValidator};

impl SchemaValidator<'_> {
    pub(super) fn combined(
        &self,
        schema: Schema<'_>,
        value: &Value,
        old: Option<&Value>,
        path: &str,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        self.any_of(schema, value, old, path, &mut outcome);
        self.one_of(schema, value, old, path, &mut outcome);
        self.all_of(schema, value, old, path, &mut outcome);
        if let Some(not) = schema.get("not")
            && self.all(Schema(not), value, old, path).is_valid()
        {
            outcome.fail(Finding::without_path(format!(
                "{path:?} must not validate the schema (not)"
            )));
        }
        outcome.passed += 1;
        outcome
    }

    fn any_of(
        &self,
        schema: Schema<'_>,
        value: &Value,
        old: Option<&Value>,
        path: &str,
        outcome: &mut Outcome,
    ) {
        let mut best: Option<Outcome> = None;
        for alternative in schema.schemas("anyOf") {
            let result = self.all(alternative, value, old, path);
            if result.is_valid() {
                outcome.merge(result);
                return;
            }
            best = Some(better(best, result));
        }
        if let Some(best) = best {
            outcome.fail(Finding::without_path(format!(
                "{path:?} must validate at least one schema (anyOf)"
            )));
            outcome.merge(best);
        }
    }

    fn one_of(
        &self,
        schema: Schema<'_>,
        value: &Value,
        old: Option<&Value>,
        path: &str,
        outcome: &mut Outcome,
    ) {
        let (valid, failed): (Vec<Outcome>, Vec<Outcome>) = schema
            .schemas("oneOf")
            .map(|alternative| self.all(alternative, value, old, path))
            .partition(Outcome::is_valid);
        if valid.is_empty() && failed.is_empty() {
            return;
        }
        let complaint = match valid.len() {
            1 => {
                for only in valid {
                    outcome.merge(only);
                }
                return;
            }
            0 => "Found none valid".to_owned(),
            several => format!("Found {several} valid alternatives"),
        };
        let none_valid = valid.is_empty();
        outcome.fail(Finding::without_path(format!(
            "{path:?} must validate one and only one schema (oneOf). {complaint}"
        )));
        let best = failed
            .into_iter()
            .fold(None, |best, result| Some(better(best, result)));
        if let Some(best) = best.filter(|_| none_valid) {
            outcome.merge(best);
        }
    }

    fn all_of(
        &self,
        schema: Schema<'_>,
        value: &Value,
        old: Option<&Value>,
        path: &str,
        outcome: &mut Outcome,
    ) {
        let (mut valid, mut failed) = (0, 0);
        for part in schema.schemas("allOf") {
            let result = self.all(part, value, old, path);
            if result.is_valid() {
                valid += 1;
            } else {
                failed += 1;
            }
            outcome.merge(result);
        }
        if failed > 0 {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.fail(Finding::without_path(format!(
                "{path:?} must validate all the schemas (allOf){none}"
            )));
        }
    }
}

/// Returns the outcome with more passed checks, or the first if they are equal.
fn better(best: Option<Outcome>, next: Outcome) -> Outcome {
    match best {
        Some(best) if next.passed <= best.passed => best,
        _ => next,
    }
}
