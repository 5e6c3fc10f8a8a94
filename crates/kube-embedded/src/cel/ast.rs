//! An expression as a tree.

use std::sync::Arc;

use super::functions::Function;
use super::value::Value;

/// One node of an expression.
#[derive(Debug)]
pub(super) struct Expr {
    /// Offset of the node in the source, in characters: an operator's for operators, a bracket's for calls.
    pub(super) at: usize,
    /// Nodes on the longest way down.
    pub(super) height: usize,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Literal(Value),
    Identifier(Arc<str>),
    /// `operand.field`, `operand.?field` or `has(operand.field)`.
    Select {
        operand: Box<Expr>,
        field: Arc<str>,
        form: Selection,
    },
    /// A function or an operator; the checker looks it up.
    Call {
        name: String,
        is_member: bool,
        function: Option<&'static Function>,
        /// The receiver of a member call comes first.
        args: Vec<Expr>,
    },
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Conditional(Box<[Expr; 3]>),
    List(Vec<Element>),
    Map(Vec<Entry>),
    Comprehension(Box<Comprehension>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    Required,
    Optional,
    Test,
}

#[derive(Debug)]
pub(super) struct Element {
    pub(super) is_optional: bool,
    pub(super) value: Expr,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) is_optional: bool,
    pub(super) key: Expr,
    pub(super) value: Expr,
}

/// A macro with its own variables.
#[derive(Debug)]
pub(super) struct Comprehension {
    pub(super) form: Form,
    pub(super) range: Expr,
    pub(super) variable: Arc<str>,
    pub(super) second: Option<Arc<str>>,
    pub(super) filter: Option<Expr>,
    pub(super) body: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformMap,
    TransformEntry,
    SortBy,
    OptMap,
    OptFlatMap,
}

impl Expr {
    pub(super) fn new(at: usize, kind: Kind) -> Expr {
        let height = 1 + kind.children().map(|e| e.height).max().unwrap_or(0);
        Expr { at, height, kind }
    }

    pub(super) fn call(at: usize, name: &str, args: Vec<Expr>) -> Expr {
        let kind = Kind::Call {
            name: name.to_owned(),
            is_member: false,
            function: None,
            args,
        };
        Expr::new(at, kind)
    }

    /// Returns `a.b.c` for an identifier or fields of one.
    pub(super) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Identifier(name) => Some(name.to_string()),
            Kind::Select {
                operand,
                field,
                form: Selection::Required,
            } => Some(format!("{}.{field}", operand.qualified_name()?)),
            _ => None,
        }
    }

    /// Returns whether the expression refers to a variable.
    pub(super) fn mentions(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Identifier(own) if &**own == name)
            || self.kind.children().any(|inner| inner.mentions(name))
    }
}

impl Kind {
    pub(super) fn children(&self) -> Box<dyn Iterator<Item = &Expr> + '_> {
        match self {
            Kind::Literal(_) | Kind::Identifier(_) => Box::new(std::iter::empty()),
            Kind::Select { operand, .. } => Box::new(std::iter::once(&**operand)),
            Kind::Call { args, .. } => Box::new(args.iter()),
            Kind::And(terms) | Kind::Or(terms) => Box::new(terms.iter()),
            Kind::Conditional(parts) => Box::new(parts.iter()),
            Kind::List(elements) => Box::new(elements.iter().map(|e| &e.value)),
            Kind::Map(entries) => Box::new(entries.iter().flat_map(|e| [&e.key, &e.value])),
            Kind::Comprehension(c) => Box::new([&c.range, &c.body].into_iter().chain(&c.filter)),
        }
    }
}
