//! Policies and bindings, compiled.

use std::sync::Arc;

use serde_json::Value as Json;

use super::compile::{AUTHORIZER, CompileError, Compiler, Returns, VARIABLES};
use super::evaluate::Reason;
use super::matching::MatchResources;
use super::params::{ParamKind, ParamRef};
use crate::cel::{Fields, Program};
use crate::defaults::fields::{items, text};
use crate::store::Stored;

/// A ValidatingAdmissionPolicy.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) stored: Arc<Stored>,
    pub(super) name: String,
    pub(super) constraints: MatchResources,
    /// A request is allowed if an expression of the policy cannot be evaluated.
    pub(super) ignores_errors: bool,
    pub(super) param_kind: Option<ParamKind>,
    /// An expression may refer to `authorizer`.
    pub(super) uses_permissions: bool,
    pub(super) conditions: Vec<Expression>,
    pub(super) variables: Fields,
    pub(super) validations: Vec<Validation>,
    pub(super) annotations: Vec<Expression>,
}

/// An expression of a policy.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    /// An expression that does not compile is an error when it is evaluated.
    pub(super) program: Result<Program, String>,
}

#[derive(Debug)]
pub(super) struct Validation {
    pub(super) expression: Expression,
    pub(super) message: String,
    pub(super) message_expression: Option<Expression>,
    pub(super) reason: Reason,
}

/// A ValidatingAdmissionPolicyBinding.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) policy: String,
    pub(super) params: Option<ParamRef>,
    pub(super) resources: Option<MatchResources>,
    pub(super) actions: Vec<Action>,
}

/// What happens to a request that a validation does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Deny,
    Warn,
    Audit,
}

impl Expression {
    fn new(text: &str, program: Result<Program, CompileError>) -> Expression {
        Expression {
            text: text.to_owned(),
            program: program.map_err(|why| why.detail),
        }
    }
}

impl Policy {
    pub(super) fn compile(stored: &Arc<Stored>) -> Policy {
        let object = stored.value();
        let spec = &object["spec"];
        let mut compiler = Compiler::of(spec);
        let mut variables = Fields::of(VARIABLES);
        for variable in items(spec, VARIABLES) {
            let name = text(variable, "name");
            if let Ok(program) = compiler.variable(name, text(variable, "expression")) {
                // A field that is missing is an error of the expressions that refer to it.
                let _ = variables.add(name.to_owned(), program);
            }
        }
        let condition = |json: &Json| {
            let text = text(json, "expression");
            Expression::new(text, compiler.condition(text))
        };
        let annotation = |json: &Json| {
            let text = text(json, "valueExpression");
            Expression::new(text, compiler.expression(text, Returns::StringOrNull))
        };
        Policy {
            stored: stored.clone(),
            name: stored.key.name().to_owned(),
            constraints: MatchResources::read(&spec["matchConstraints"]),
            ignores_errors: text(spec, "failurePolicy") == "Ignore",
            param_kind: ParamKind::read(&spec["paramKind"]),
            uses_permissions: spec.to_string().contains(AUTHORIZER),
            conditions: items(spec, "matchConditions").iter().map(condition).collect(),
            validations: items(spec, "validations")
                .iter()
                .map(|json| Validation::compile(json, &compiler))
                .collect(),
            annotations: items(spec, "auditAnnotations").iter().map(annotation).collect(),
            variables,
        }
    }
}

impl Validation {
    fn compile(json: &Json, compiler: &Compiler) -> Validation {
        let expression = text(json, "expression");
        let message = text(json, "messageExpression");
        Validation {
            expression: Expression::new(expression, compiler.expression(expression, Returns::Bool)),
            message: text(json, "message").trim().to_owned(),
            message_expression: (!message.is_empty())
                .then(|| Expression::new(message, compiler.expression(message, Returns::String))),
            reason: Reason::read(text(json, "reason")),
        }
    }
}

impl Binding {
    pub(super) fn read(stored: &Stored) -> Binding {
        let object = stored.value();
        let spec = &object["spec"];
        let actions = items(spec, "validationActions").iter().filter_map(|action| {
            Some(match action.as_str()? {
                "Deny" => Action::Deny,
                "Warn" => Action::Warn,
                "Audit" => Action::Audit,
                _ => return None,
            })
        });
        let resources = &spec["matchResources"];
        Binding {
            name: stored.key.name().to_owned(),
            policy: text(spec, "policyName").to_owned(),
            params: ParamRef::read(&spec["paramRef"]),
            resources: resources.is_object().then(|| MatchResources::read(resources)),
            actions: actions.collect(),
        }
    }
}
