//! A variable whose fields are expressions, evaluated when they are first used.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::ast::{Expr, Kind};
use super::eval::{self, Budget, EvalError};
use super::value::Value;
use super::{Program, stack};

/// The deepest chain of fields that refer to each other, in levels of their expressions.
const DEEPEST: usize = 1_000;

/// The fields of a variable. Each may refer to those before it.
#[derive(Debug)]
pub(crate) struct Fields {
    variable: &'static str,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    program: Program,
    /// Levels of the expression and of the fields to which it refers.
    levels: usize,
}

impl Fields {
    /// Creates the fields of a variable, of which there are none yet.
    pub(crate) fn of(variable: &'static str) -> Fields {
        Fields {
            variable,
            fields: Vec::new(),
        }
    }

    /// Adds a field.
    ///
    /// # Errors
    /// If the fields refer to each other in too long a chain.
    pub(crate) fn add(&mut self, name: String, program: Program) -> Result<(), String> {
        let levels = self.levels(&program.expr);
        if levels > DEEPEST {
            return Err(format!(
                "expression refers to more than {DEEPEST} nested expressions"
            ));
        }
        self.fields.push(Field {
            name,
            program,
            levels,
        });
        Ok(())
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns the levels of an expression and of the fields to which it refers.
    fn levels(&self, expr: &Expr) -> usize {
        let mut names = BTreeSet::new();
        selected(expr, self.variable, &mut names);
        let fields = names.into_iter().filter_map(|name| self.find(name));
        expr.height + fields.map(|at| self.fields[at].levels).max().unwrap_or(0)
    }
}

/// Collects the fields of a variable to which an expression refers.
fn selected<'e>(expr: &'e Expr, variable: &str, names: &mut BTreeSet<&'e str>) {
    if let Kind::Select { operand, field, .. } = &expr.kind
        && matches!(&operand.kind, Kind::Identifier(name) if &**name == variable)
    {
        names.insert(field);
    }
    for inner in expr.kind.children() {
        selected(inner, variable, names);
    }
}

/// The variables of some evaluations. The values of [`Fields`] are kept from one evaluation to the next.
#[derive(Debug)]
pub(crate) struct Activation<'a> {
    pub(super) variables: &'a [(&'a str, Value)],
    fields: &'a Fields,
    values: Mutex<Vec<Option<Result<Value, EvalError>>>>,
}

impl<'a> Activation<'a> {
    /// Creates an activation in which no field was evaluated yet.
    pub(crate) fn new(variables: &'a [(&'a str, Value)], fields: &'a Fields) -> Activation<'a> {
        Activation {
            variables,
            fields,
            values: Mutex::new(vec![None; fields.fields.len()]),
        }
    }

    /// Evaluates an expression.
    pub(super) fn evaluate(&self, expr: &Expr, budget: &mut Budget) -> Result<Value, EvalError> {
        let run = || eval::evaluate(expr, self.variables, Some(self), budget);
        stack::with_room(self.fields.levels(expr), run)
    }

    pub(super) fn is_about(&self, variable: &str) -> bool {
        self.fields.variable == variable
    }

    /// Returns the value of a field, if there is such a field.
    pub(super) fn field(&self, name: &Arc<str>, budget: &mut Budget) -> Option<Result<Value, EvalError>> {
        let at = self.fields.find(name)?;
        if let Some(known) = &self.values.lock()[at] {
            return Some(known.clone());
        }
        let program = &self.fields.fields[at].program;
        let value = budget.apart(|budget| eval::evaluate(&program.expr, self.variables, Some(self), budget));
        let value = value.map_err(|why| {
            EvalError::message(format!("composited variable {name:?} fails to evaluate: {why}"))
        });
        self.values.lock()[at] = Some(value.clone());
        Some(value)
    }
}
