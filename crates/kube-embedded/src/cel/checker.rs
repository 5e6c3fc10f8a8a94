//! Finds the type of every part of an expression, and the functions it calls.

use std::sync::Arc;

use super::ast::{Comprehension, Element, Entry, Expr, Form, Kind, Selection};
use super::functions::{self, Function};
use super::issue::Issue;
use super::types::{Substitution, Type};
use super::value::Value;

/// Checks an expression with the given variables; returns its type.
pub(super) fn check(expr: &mut Expr, variables: &[(&str, Type)]) -> Result<Type, Vec<Issue>> {
    let mut checker = Checker {
        variables: variables
            .iter()
            .map(|(name, ty)| (Arc::from(*name), ty.clone()))
            .collect(),
        open: Substitution::default(),
        in_format: 0,
        issues: Vec::new(),
    };
    let ty = checker.check(expr);
    if checker.issues.is_empty() {
        checker.literals(expr);
    }
    if checker.issues.is_empty() {
        Ok(checker.open.resolve(&ty))
    } else {
        Err(checker.issues)
    }
}

struct Checker {
    variables: Vec<(Arc<str>, Type)>,
    open: Substitution,
    /// Calls of `format` around the node, which takes values of all types.
    in_format: usize,
    issues: Vec<Issue>,
}

/// The type that a name such as `int` stands for.
fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "google.protobuf.Duration" => Type::Duration,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "optional_type" => Type::optional(Type::Dyn),
        "string" => Type::String,
        "type" => Type::Meta(Arc::new(Type::Dyn)),
        "uint" => Type::Uint,
        _ => Type::Library(functions::LIBRARY_TYPES.iter().find(|t| **t == name)?),
    })
}

impl Checker {
    fn report(&mut self, at: usize, message: String) -> Type {
        self.issues.push(Issue::new(at, message));
        Type::Error
    }

    fn unknown(&mut self, at: usize, name: &str) -> Type {
        self.report(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn check(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        if let Some(ty) = self.type_value(expr).or_else(|| self.qualified_variable(expr)) {
            return ty;
        }
        match &mut expr.kind {
            Kind::Literal(value) => type_of_literal(value),
            Kind::Identifier(name) => {
                let name = name.clone();
                match self.variable(&name) {
                    Some(ty) => ty,
                    None => self.unknown(at, &name),
                }
            }
            Kind::Select { operand, field, form } => {
                let field = field.clone();
                let form = *form;
                let of = self.check(operand);
                self.select(at, &of, &field, form)
            }
            Kind::Call {
                name,
                is_member,
                function,
                args,
            } => {
                let (mut name, mut member) = (name.clone(), *is_member);
                // `optional.of(x)` is a function with a qualified name.
                if member
                    && let Some(prefix) = args.first().and_then(Expr::qualified_name)
                    && functions::find(&format!("{prefix}.{name}")).is_some()
                {
                    name = format!("{prefix}.{name}");
                    member = false;
                    args.remove(0);
                }
                let found = functions::find(&name);
                *function = found;
                *is_member = member;
                self.in_format += usize::from(name == "format");
                let types: Vec<Type> = args.iter_mut().map(|arg| self.check(arg)).collect();
                self.in_format -= usize::from(name == "format");
                match found {
                    Some(found) => self.overload(at, &name, found, member, &types),
                    None => self.unknown(at, &name),
                }
            }
            Kind::And(terms) | Kind::Or(terms) => {
                for term in terms {
                    self.expect_bool(term);
                }
                Type::Bool
            }
            Kind::Conditional(parts) => {
                let types: Vec<Type> = parts.iter_mut().map(|part| self.check(part)).collect();
                self.conditional(at, &types)
            }
            Kind::List(elements) => self.list(elements),
            Kind::Map(entries) => self.map(entries),
            Kind::Comprehension(comprehension) => self.comprehension(at, comprehension),
        }
    }

    /// A name such as `google.protobuf.Timestamp` becomes the type it stands for.
    fn type_value(&self, expr: &mut Expr) -> Option<Type> {
        let name = expr.qualified_name()?;
        let first = name.split('.').next().unwrap_or_default();
        if self.variable(first).is_some() {
            return None;
        }
        let ty = type_named(&name)?;
        expr.kind = Kind::Literal(Value::Type(name.into()));
        Some(Type::Meta(Arc::new(ty)))
    }

    /// A name such as `authorizer.requestResource` may be that of a variable.
    fn qualified_variable(&self, expr: &mut Expr) -> Option<Type> {
        let has_qualified = self.variables.iter().any(|(name, _)| name.contains('.'));
        if !has_qualified || !matches!(expr.kind, Kind::Select { .. }) {
            return None;
        }
        let name = expr.qualified_name()?;
        let ty = self.variable(&name)?;
        expr.kind = Kind::Identifier(name.into());
        Some(ty)
    }

    fn variable(&self, name: &str) -> Option<Type> {
        let (_, ty) = self.variables.iter().rev().find(|(own, _)| &**own == name)?;
        Some(ty.clone())
    }

    fn select(&mut self, at: usize, of: &Type, field: &str, form: Selection) -> Type {
        let of = self.open.resolve(of);
        let (inner, was_optional) = match &of {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let ty = match inner {
            Type::Error => return Type::Error,
            Type::Dyn | Type::Parameter(_) => Type::Dyn,
            Type::Map(_, value) => (*value).clone(),
            Type::Object(object) => match object.fields.get(field) {
                Some(ty) => ty.clone(),
                None => return self.report(at, format!("undefined field '{field}'")),
            },
            _ => return self.report(at, format!("type '{of}' does not support field selection")),
        };
        match form {
            Selection::Test => Type::Bool,
            Selection::Optional => Type::optional(ty),
            Selection::Required if was_optional => Type::optional(ty),
            Selection::Required => ty,
        }
    }

    fn overload(
        &mut self,
        at: usize,
        name: &str,
        function: &'static Function,
        is_member: bool,
        args: &[Type],
    ) -> Type {
        let mut result: Option<Type> = None;
        for overload in &function.overloads {
            if overload.is_member != is_member {
                continue;
            }
            let parameters: Vec<Type> = (0..overload.parameters).map(|_| self.open.fresh()).collect();
            let wanted: Vec<Type> = overload.args.iter().map(|ty| instance(ty, &parameters)).collect();
            if !self.open.assign_all(args, &wanted) {
                continue;
            }
            let own = self.open.resolve(&instance(&overload.result, &parameters));
            result = Some(match result {
                Some(other) if other != own => Type::Dyn,
                _ => own,
            });
        }
        if let Some(ty) = result {
            return ty;
        }
        let shown: Vec<String> = args.iter().map(|t| self.open.resolve(t).to_string()).collect();
        let signature = match shown.split_first() {
            Some((target, rest)) if is_member => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        let message = format!("found no matching overload for '{name}' applied to '{signature}'");
        self.report(at, message)
    }

    fn conditional(&mut self, at: usize, types: &[Type]) -> Type {
        match functions::find("_?_:_") {
            Some(function) => self.overload(at, "_?_:_", function, false, types),
            None => Type::Error,
        }
    }

    fn expect_bool(&mut self, expr: &mut Expr) {
        let ty = self.check(expr);
        self.expect(expr.at, &Type::Bool, &ty);
    }

    fn expect(&mut self, at: usize, wanted: &Type, found: &Type) {
        if !self.open.assign(found, wanted) {
            let (wanted, found) = (self.open.resolve(wanted), self.open.resolve(found));
            self.report(at, format!("expected type '{wanted}' but found '{found}'"));
        }
    }

    /// The common type of elements, or `dyn` if there is none.
    fn join(&mut self, known: Option<Type>, new: Type) -> Type {
        match known {
            None => new,
            Some(known) if self.open.assign(&new, &known) => {
                let (new, known) = (self.open.resolve(&new), self.open.resolve(&known));
                if new == Type::Dyn { new } else { known }
            }
            Some(_) => Type::Dyn,
        }
    }

    /// The type within an optional element.
    fn unwrapped(&mut self, at: usize, ty: Type, is_optional: bool) -> Type {
        if !is_optional {
            return ty;
        }
        match self.open.resolve(&ty) {
            Type::Optional(inner) => (*inner).clone(),
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.expect(at, &Type::optional(other.clone()), &other);
                Type::Error
            }
        }
    }

    fn list(&mut self, elements: &mut [Element]) -> Type {
        let mut known = None;
        for element in elements {
            let ty = self.check(&mut element.value);
            let ty = self.unwrapped(element.value.at, ty, element.is_optional);
            self.same_literals(element.value.at, known.as_ref(), &ty);
            known = Some(self.join(known, ty));
        }
        Type::list(known.unwrap_or_else(|| self.open.fresh()))
    }

    fn map(&mut self, entries: &mut [Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.check(&mut entry.key);
            let value = self.check(&mut entry.value);
            let value = self.unwrapped(entry.value.at, value, entry.is_optional);
            self.same_literals(entry.key.at, keys.as_ref(), &key);
            self.same_literals(entry.value.at, values.as_ref(), &value);
            keys = Some(self.join(keys, key));
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.open.fresh());
        let value = values.unwrap_or_else(|| self.open.fresh());
        Type::map(key, value)
    }

    /// Kubernetes wants all elements of a literal to have the same type.
    fn same_literals(&mut self, at: usize, known: Option<&Type>, new: &Type) {
        let Some(known) = known else { return };
        let (known, new) = (self.open.resolve(known), self.open.resolve(new));
        if self.in_format == 0 && !is_same_literal(&known, &new) {
            self.report(at, format!("expected type '{known}' but found '{new}'"));
        }
    }

    fn comprehension(&mut self, at: usize, c: &mut Comprehension) -> Type {
        let range = self.check(&mut c.range);
        let range = self.open.resolve(&range);
        if matches!(c.form, Form::OptMap | Form::OptFlatMap) {
            return self.optional_macro(c, &range);
        }
        let (first, second) = match &range {
            Type::List(item) => match c.second {
                Some(_) => (Type::Int, Some((**item).clone())),
                None => ((**item).clone(), None),
            },
            Type::Map(key, value) => ((**key).clone(), Some((**value).clone())),
            Type::Dyn | Type::Error | Type::Parameter(_) => (Type::Dyn, Some(Type::Dyn)),
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(c.range.at, message);
                (Type::Error, Some(Type::Error))
            }
        };
        let scope = self.variables.len();
        self.variables.push((c.variable.clone(), first.clone()));
        if let Some(name) = &c.second {
            self.variables
                .push((name.clone(), second.clone().unwrap_or(Type::Dyn)));
        }
        let filter = c.filter.as_mut().map(|filter| self.check(filter));
        let body = self.check(&mut c.body);
        self.variables.truncate(scope);
        let ty = self.result(at, c, &first, body.clone());
        let condition = match c.form {
            Form::Filter | Form::ExistsOne => Some(body),
            _ => filter,
        };
        if let Some(condition) = condition {
            let accumulated = if c.form == Form::ExistsOne {
                Type::Int
            } else {
                ty.clone()
            };
            self.conditional(at, &[condition, accumulated.clone(), accumulated]);
        }
        ty
    }

    fn result(&mut self, at: usize, c: &Comprehension, first: &Type, body: Type) -> Type {
        match c.form {
            Form::All | Form::Exists => {
                self.expect(c.body.at, &Type::Bool, &body);
                Type::Bool
            }
            Form::ExistsOne => Type::Bool,
            Form::Filter => Type::list(first.clone()),
            Form::TransformMap => Type::map(first.clone(), body),
            Form::TransformEntry => body,
            Form::SortBy => {
                let keys = Type::list(body);
                if let Some(sort) = functions::find("sort") {
                    self.overload(at, "sort", sort, true, &[keys]);
                }
                Type::list(first.clone())
            }
            _ => Type::list(body),
        }
    }

    fn optional_macro(&mut self, c: &mut Comprehension, range: &Type) -> Type {
        let inner = match range {
            Type::Optional(inner) => (**inner).clone(),
            Type::Dyn | Type::Error | Type::Parameter(_) => Type::Dyn,
            other => {
                let message = format!("found no matching overload for 'hasValue' applied to '{other}.()'");
                self.report(c.range.at, message)
            }
        };
        let scope = self.variables.len();
        self.variables.push((c.variable.clone(), inner));
        let body = self.check(&mut c.body);
        self.variables.truncate(scope);
        if c.form == Form::OptMap {
            return Type::optional(body);
        }
        match self.open.resolve(&body) {
            ty @ (Type::Optional(_) | Type::Dyn | Type::Error) => ty,
            other => {
                let expected = Type::optional(other.clone());
                self.report(
                    c.body.at,
                    format!("expected type '{expected}' but found '{other}'"),
                )
            }
        }
    }

    /// Literals that a function can never accept are errors at once.
    fn literals(&mut self, expr: &Expr) {
        if let Kind::Call { name, args, .. } = &expr.kind
            && let Some(arg) = args.last()
            && let Kind::Literal(Value::String(text)) = &arg.kind
        {
            let wrong = match name.as_str() {
                "matches" => crate::regexp::compile(text).is_err(),
                "duration" => functions::time::parse_duration(text).is_err(),
                "timestamp" => functions::time::parse_timestamp(text).is_none(),
                _ => false,
            };
            if wrong {
                self.report(arg.at, format!("invalid {name} argument"));
            }
        }
        if let Kind::Call { name, args, .. } = &expr.kind
            && name == "format"
            && let [text, list] = args.as_slice()
            && let (Kind::Literal(Value::String(text)), Kind::List(elements)) = (&text.kind, &list.kind)
        {
            let literal = |at: usize| match &elements.get(at)?.value.kind {
                Kind::Literal(value) => Some(value.clone()),
                _ => None,
            };
            if let Some((about, why)) = functions::format_problem(text, elements.len(), literal) {
                let at = about
                    .and_then(|at| elements.get(at))
                    .map_or(expr.at, |e| e.value.at);
                self.report(at, why);
            }
        }
        for child in expr.kind.children() {
            self.literals(child);
        }
    }
}

fn is_same_literal(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Parameter(_) | Type::Error, _) | (_, Type::Parameter(_) | Type::Error) => true,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => is_same_literal(a, b),
        (Type::Map(ak, av), Type::Map(bk, bv)) => is_same_literal(ak, bk) && is_same_literal(av, bv),
        _ => one == other,
    }
}

/// An overload's type with its own open types.
fn instance(ty: &Type, parameters: &[Type]) -> Type {
    match ty {
        Type::Parameter(at) => parameters.get(*at).cloned().unwrap_or(Type::Dyn),
        Type::List(item) => Type::list(instance(item, parameters)),
        Type::Optional(inner) => Type::optional(instance(inner, parameters)),
        Type::Meta(inner) => Type::Meta(Arc::new(instance(inner, parameters))),
        Type::Map(key, value) => Type::map(instance(key, parameters), instance(value, parameters)),
        other => other.clone(),
    }
}

fn type_of_literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Dyn,
    }
}
