//! Evaluates a policy for one request and one parameter.

use super::compile::{AUTHORIZER, REQUEST_RESOURCE};
use super::input::Input;
use super::permissions::Permissions;
use super::policy::{Expression, Policy, Validation};
use crate::cel::{Activation, Budget, Value};

/// The most that the match conditions of a policy may cost.
const CONDITIONS: u64 = 2_500_000;
/// The longest message that an expression may return, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// Why a request is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Reason {
    Unauthorized,
    Forbidden,
    #[default]
    Invalid,
    RequestEntityTooLarge,
}

impl Reason {
    pub(super) fn read(text: &str) -> Reason {
        match text {
            "Unauthorized" => Reason::Unauthorized,
            "Forbidden" => Reason::Forbidden,
            "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
            _ => Reason::Invalid,
        }
    }

    /// Returns reason and code of the response.
    pub(super) fn status(self) -> (&'static str, u16) {
        match self {
            Reason::Unauthorized => ("Unauthorized", 401),
            Reason::Forbidden => ("Forbidden", 403),
            Reason::Invalid => ("Invalid", 422),
            Reason::RequestEntityTooLarge => ("RequestEntityTooLarge", 413),
        }
    }
}

/// A validation that fails, or an expression that cannot be evaluated.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Denial {
    pub(super) message: String,
    pub(super) reason: Reason,
    /// The denial is subject to the actions of the binding.
    pub(super) is_validation: bool,
}

impl Denial {
    fn error(message: String) -> Denial {
        Denial {
            message,
            reason: Reason::default(),
            is_validation: true,
        }
    }
}

/// The values of the variables of expressions.
pub(super) struct Variables<'a> {
    pub(super) input: &'a Input,
    pub(super) params: Value,
    pub(super) namespace: &'a Value,
    /// For policies that use them.
    pub(super) permissions: Option<&'a Permissions>,
}

impl Variables<'_> {
    /// Returns the variables by their names.
    fn named(&self, namespace: &Value) -> Vec<(&'static str, Value)> {
        let mut named = vec![
            ("object", self.input.object.clone()),
            ("oldObject", self.input.old.clone()),
            ("request", self.input.request.clone()),
            ("params", self.params.clone()),
            ("namespaceObject", namespace.clone()),
        ];
        if let Some(permissions) = self.permissions {
            named.push((AUTHORIZER, permissions.authorizer.clone()));
            named.push((REQUEST_RESOURCE, permissions.of_request.clone()));
        }
        named
    }
}

/// The budget is used up.
struct Exhausted;

impl Exhausted {
    const MESSAGE: &str =
        "validation failed due to running out of cost budget, no further validation rules will be run";
}

/// The value of an expression, or why it has none.
type Evaluated = Result<Value, String>;

fn evaluate(
    expression: &Expression,
    activation: &Activation<'_>,
    budget: &mut Budget,
) -> Result<Evaluated, Exhausted> {
    let program = match &expression.program {
        Ok(program) => program,
        Err(why) => return Ok(Err(format!("compilation error: {why}"))),
    };
    let result = program.evaluate_in(activation, budget);
    if !budget.settle() {
        return Err(Exhausted);
    }
    Ok(result.map_err(|why| format!("expression '{}' resulted in error: {why}", expression.text)))
}

impl Policy {
    /// Returns why the policy denies a request; nothing if it allows it or is not about it.
    pub(super) fn evaluate(&self, variables: &Variables<'_>) -> Vec<Denial> {
        match self.is_about(variables) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(why) => return self.failed(why),
        }
        let variables = variables.named(variables.namespace);
        let activation = Activation::new(&variables, &self.variables);
        let Ok(mut denials) = self.validate(&activation) else {
            return self.failed(Exhausted::MESSAGE.into());
        };
        match self.annotate(&activation) {
            Ok(wrong) => denials.extend(wrong),
            Err(Exhausted) => return self.failed(Exhausted::MESSAGE.into()),
        }
        denials
    }

    /// An error is a denial, unless the policy ignores errors.
    fn failed(&self, why: String) -> Vec<Denial> {
        if self.ignores_errors {
            Vec::new()
        } else {
            vec![Denial::error(why)]
        }
    }

    /// Evaluates the match conditions. A condition that is false overrides errors of the others.
    fn is_about(&self, variables: &Variables<'_>) -> Result<bool, String> {
        // The server does not give the namespace to match conditions.
        let variables = variables.named(&Value::Null);
        let activation = Activation::new(&variables, &self.variables);
        let mut budget = Budget::of(CONDITIONS);
        let mut values = Vec::new();
        for condition in &self.conditions {
            match evaluate(condition, &activation, &mut budget) {
                Ok(value) => values.push(value),
                Err(Exhausted) if self.ignores_errors => return Ok(false),
                Err(Exhausted) => return Err(Exhausted::MESSAGE.into()),
            }
        }
        if values.iter().any(|value| matches!(value, Ok(Value::Bool(false)))) {
            return Ok(false);
        }
        let mut errors: Vec<String> = Vec::new();
        for error in values.into_iter().filter_map(Result::err) {
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            _ if self.ignores_errors => Ok(false),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    fn validate(&self, activation: &Activation<'_>) -> Result<Vec<Denial>, Exhausted> {
        let mut budget = Budget::new();
        let mut results = Vec::new();
        for validation in &self.validations {
            results.push(evaluate(&validation.expression, activation, &mut budget)?);
        }
        let messages = self.messages(activation, &mut budget);
        let mut denials = Vec::new();
        for (at, (validation, result)) in self.validations.iter().zip(results).enumerate() {
            match (result, &messages) {
                (Err(why), _) => denials.extend(self.failed(why)),
                (Ok(_), Err(Exhausted)) => {
                    let why = format!("failed messageExpression: {}", Exhausted::MESSAGE);
                    denials.extend(self.failed(why));
                }
                (Ok(Value::Bool(true)), _) => {}
                (Ok(_), Ok(messages)) => {
                    let own = messages.get(at).cloned().flatten();
                    denials.push(Denial {
                        message: own.unwrap_or_else(|| validation.default_message()),
                        reason: validation.reason,
                        is_validation: true,
                    });
                }
            }
        }
        Ok(denials)
    }

    /// Returns the message that the expression of each validation returns, if it is one.
    fn messages(
        &self,
        activation: &Activation<'_>,
        budget: &mut Budget,
    ) -> Result<Vec<Option<String>>, Exhausted> {
        let messages = self.validations.iter().map(|validation| {
            let Some(expression) = &validation.message_expression else {
                return Ok(None);
            };
            let Ok(Value::String(text)) = evaluate(expression, activation, budget)? else {
                return Ok(None);
            };
            let text = text.trim();
            let is_good = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
            Ok(is_good.then(|| text.to_owned()))
        });
        messages.collect()
    }

    /// Evaluates the audit annotations, of which only the errors have an effect.
    fn annotate(&self, activation: &Activation<'_>) -> Result<Vec<Denial>, Exhausted> {
        let mut budget = Budget::new();
        let mut denials = Vec::new();
        for annotation in &self.annotations {
            if let Err(why) = evaluate(annotation, activation, &mut budget)? {
                denials.extend(self.failed(why).into_iter().map(|denial| Denial {
                    is_validation: false,
                    ..denial
                }));
            }
        }
        Ok(denials)
    }
}

impl Validation {
    fn default_message(&self) -> String {
        if self.message.is_empty() {
            format!("failed expression: {}", self.expression.text.trim())
        } else {
            self.message.clone()
        }
    }
}
