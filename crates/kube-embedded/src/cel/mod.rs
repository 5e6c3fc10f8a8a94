//! The Common Expression Language, in the dialect of Kubernetes.
//!
//! [`Program::compile`] parses an expression and checks its types, so that what a program refers to exists and what it
//! calls fits; [`Program::evaluate`] runs it within a [`Budget`]. The functions are those that Kubernetes 1.36 gives to
//! rules of custom resources and to admission policies: the standard ones, strings, lists, sets, optional values, comprehensions of two variables,
//! regular expressions, URLs, IP addresses, quantities, versions, formats and permissions.
//!
//! The engine is our own because the crate `cel` (checked in November 2026) has no type checker and cannot limit the cost of
//! an evaluation. Rules about undefined fields could not be rejected, and a rule could block the server.
//!
//! The module is independent of schemas and objects: [`crate::crd`] converts them to types and values. Data without a schema
//! becomes a value by [`Value::from`].

mod ast;
mod checker;
mod eval;
mod functions;
mod issue;
mod lazy;
mod lexer;
mod parser;
mod stack;
mod types;
mod value;

pub(crate) use self::eval::{Budget, EvalError};
pub(crate) use self::functions::authorization::{
    Authorizer, CheckTarget, PermissionCheck, PermissionDecision,
};
pub(crate) use self::functions::bytes::decode_base64;
pub(crate) use self::functions::time::{parse_duration, parse_timestamp};
pub(crate) use self::lazy::{Activation, Fields};
pub(crate) use self::parser::is_reserved;
pub(crate) use self::types::{ObjectType, Type};
pub(crate) use self::value::{Identity, Key, List, Value};

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Program {
    expr: ast::Expr,
    /// The type of the result.
    pub(crate) ty: Type,
}

impl Program {
    /// Compiles an expression that may use the given variables.
    ///
    /// # Errors
    /// The errors of the expression, each with its place.
    pub(crate) fn compile(source: &str, variables: &[(&str, Type)]) -> Result<Program, String> {
        let parsed = stack::with_room(stack::nesting(source), || parser::parse(source));
        let checked = parsed.and_then(|mut expr| {
            let ty = stack::with_room(expr.height, || checker::check(&mut expr, variables))?;
            Ok(Program { expr, ty })
        });
        checked.map_err(|issues| issue::describe(source, issues))
    }

    /// Evaluates the expression with the values of its variables.
    ///
    /// # Errors
    /// If a value is missing or wrong, or the budget is used up.
    pub(crate) fn evaluate(
        &self,
        variables: &[(&str, Value)],
        budget: &mut Budget,
    ) -> Result<Value, EvalError> {
        stack::with_room(self.expr.height, || {
            eval::evaluate(&self.expr, variables, None, budget)
        })
    }

    /// Evaluates the expression with variables and with fields that are evaluated when they are first used.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub(crate) fn evaluate_in(
        &self,
        activation: &Activation<'_>,
        budget: &mut Budget,
    ) -> Result<Value, EvalError> {
        activation.evaluate(&self.expr, budget)
    }

    /// Converts the constants of the expression.
    ///
    /// # Errors
    /// If one cannot be converted: then the expression can never be evaluated.
    pub(crate) fn fold(&self) -> Result<(), EvalError> {
        eval::fold(&self.expr)
    }

    /// Returns whether the expression refers to a variable.
    pub(crate) fn mentions(&self, variable: &str) -> bool {
        self.expr.mentions(variable)
    }
}
