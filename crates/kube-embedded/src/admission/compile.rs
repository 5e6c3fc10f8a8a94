//! The variables of expressions, and what expressions may return.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value as Json;

use crate::cel::{ObjectType, Program, Type};
use crate::status::{FieldError, FieldErrorKind};

/// The variable whose fields are the variables of the policy.
pub(super) const VARIABLES: &str = "variables";

/// The variable that checks permissions.
pub(super) const AUTHORIZER: &str = "authorizer";
/// The check of the permission for the resource of the request.
pub(super) const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// The types that an expression may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    Any,
    Bool,
    String,
    StringOrNull,
}

/// Why an expression does not compile.
#[derive(Debug)]
pub(super) struct CompileError {
    kind: FieldErrorKind,
    pub(super) detail: String,
}

impl CompileError {
    fn invalid(detail: String) -> CompileError {
        CompileError {
            kind: FieldErrorKind::Invalid,
            detail,
        }
    }

    /// Returns the error as one of a field with this expression.
    pub(super) fn of_field(self, field: String, expression: &str) -> FieldError {
        FieldError::new(self.kind, field, expression, self.detail)
    }
}

/// Compiles the expressions of one policy.
#[derive(Debug)]
pub(super) struct Compiler {
    has_params: bool,
    /// The types of the policy's variables so far, if it has variables.
    fields: Option<BTreeMap<String, Type>>,
}

impl Compiler {
    /// Creates a compiler for the spec of a policy.
    pub(super) fn of(spec: &Json) -> Compiler {
        let has_variables = spec[VARIABLES].as_array().is_some_and(|list| !list.is_empty());
        Compiler {
            has_params: spec["paramKind"].is_object(),
            fields: has_variables.then(BTreeMap::new),
        }
    }

    /// Compiles a variable. Expressions that are compiled after it may use it.
    pub(super) fn variable(&mut self, name: &str, expression: &str) -> Result<Program, CompileError> {
        let program = self.expression(expression, Returns::Any);
        let ty = program
            .as_ref()
            .map_or(Type::Dyn, |program| field_type(&program.ty));
        self.fields
            .get_or_insert_default()
            .entry(name.to_owned())
            .or_insert(ty);
        program
    }

    /// Compiles a match condition, which cannot use the variables of the policy.
    pub(super) fn condition(&self, expression: &str) -> Result<Program, CompileError> {
        compile(expression, &self.types(None, true), Returns::Bool)
    }

    /// Compiles any other expression.
    pub(super) fn expression(&self, expression: &str, returns: Returns) -> Result<Program, CompileError> {
        // Only messages are strings. They cannot check permissions.
        let has_permissions = returns != Returns::String;
        compile(
            expression,
            &self.types(self.fields.as_ref(), has_permissions),
            returns,
        )
    }

    fn types(
        &self,
        fields: Option<&BTreeMap<String, Type>>,
        has_permissions: bool,
    ) -> Vec<(&'static str, Type)> {
        let mut types = vec![
            ("object", Type::Dyn),
            ("oldObject", Type::Dyn),
            ("request", REQUEST.clone()),
            ("namespaceObject", NAMESPACE.clone()),
        ];
        if self.has_params {
            types.push(("params", Type::Dyn));
        }
        if has_permissions {
            types.push((AUTHORIZER, Type::Library("kubernetes.authorization.Authorizer")));
            let check = Type::Library("kubernetes.authorization.ResourceCheck");
            types.push((REQUEST_RESOURCE, check));
        }
        if let Some(fields) = fields {
            let object = ObjectType {
                name: "kubernetes.variables".into(),
                fields: fields.clone(),
            };
            types.push((VARIABLES, Type::Object(Arc::new(object))));
        }
        types
    }
}

fn compile(
    expression: &str,
    types: &[(&'static str, Type)],
    returns: Returns,
) -> Result<Program, CompileError> {
    let program = Program::compile(expression, types)
        .map_err(|why| CompileError::invalid(format!("compilation failed: {why}")))?;
    let fits = match returns {
        Returns::Any => true,
        Returns::Bool => program.ty == Type::Bool,
        Returns::String => program.ty == Type::String,
        Returns::StringOrNull => matches!(program.ty, Type::String | Type::Null),
    };
    if !fits {
        let wanted = match returns {
            Returns::Bool => "bool",
            Returns::StringOrNull => "one of [string null_type]",
            Returns::String | Returns::Any => "string",
        };
        let found = type_name(&program.ty);
        return Err(CompileError::invalid(format!(
            "must evaluate to {wanted} but got {found}"
        )));
    }
    program.fold().map_err(|why| CompileError {
        kind: FieldErrorKind::Internal,
        detail: format!("program instantiation failed: {why}"),
    })?;
    Ok(program)
}

/// Returns the name of a type as the server prints the result of an expression.
fn type_name(ty: &Type) -> String {
    match ty {
        Type::Null => "null_type".into(),
        Type::Duration => "google.protobuf.Duration".into(),
        Type::Timestamp => "google.protobuf.Timestamp".into(),
        other => other.to_string(),
    }
}

/// Returns the type of a variable of a policy: the server keeps no other types than these.
fn field_type(ty: &Type) -> Type {
    match ty {
        Type::Null
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Duration
        | Type::Timestamp => ty.clone(),
        Type::List(item) => Type::list(field_type(item)),
        Type::Map(key, value) => Type::map(field_type(key), field_type(value)),
        _ => Type::Dyn,
    }
}

fn object(name: &str, fields: &[(&str, Type)]) -> Type {
    let fields = fields.iter();
    Type::Object(Arc::new(ObjectType {
        name: format!("kubernetes.{name}"),
        fields: fields
            .map(|(name, ty)| ((*name).to_owned(), ty.clone()))
            .collect(),
    }))
}

static REQUEST: LazyLock<Type> = LazyLock::new(|| {
    let of_group = |name: &str, last: &str| {
        let fields = [
            ("group", Type::String),
            ("version", Type::String),
            (last, Type::String),
        ];
        object(name, &fields)
    };
    let kind = of_group("GroupVersionKind", "kind");
    let resource = of_group("GroupVersionResource", "resource");
    let texts = Type::list(Type::String);
    let user = [
        ("username", Type::String),
        ("uid", Type::String),
        ("groups", texts.clone()),
        ("extra", Type::map(Type::String, texts)),
    ];
    let fields = [
        ("kind", kind.clone()),
        ("resource", resource.clone()),
        ("subResource", Type::String),
        ("requestKind", kind),
        ("requestResource", resource),
        ("requestSubResource", Type::String),
        ("name", Type::String),
        ("namespace", Type::String),
        ("operation", Type::String),
        ("userInfo", object("UserInfo", &user)),
        ("dryRun", Type::Bool),
        ("options", Type::Dyn),
    ];
    object("AdmissionRequest", &fields)
});

static NAMESPACE: LazyLock<Type> = LazyLock::new(|| {
    let texts = Type::list(Type::String);
    let pairs = Type::map(Type::String, Type::String);
    let metadata = [
        ("name", Type::String),
        ("generateName", Type::String),
        ("namespace", Type::String),
        ("labels", pairs.clone()),
        ("annotations", pairs),
        ("UID", Type::String),
        ("creationTimestamp", Type::Timestamp),
        ("deletionGracePeriodSeconds", Type::Int),
        ("deletionTimestamp", Type::Timestamp),
        ("generation", Type::Int),
        ("resourceVersion", Type::String),
        ("finalizers", texts.clone()),
    ];
    let condition = [
        ("status", Type::String),
        ("type", Type::String),
        ("lastTransitionTime", Type::Timestamp),
        ("message", Type::String),
        ("reason", Type::String),
    ];
    let conditions = Type::list(object("NamespaceCondition", &condition));
    let status = [("conditions", conditions), ("phase", Type::String)];
    let fields = [
        ("metadata", object("NamespaceMetadata", &metadata)),
        ("spec", object("NamespaceSpec", &[("finalizers", texts)])),
        ("status", object("NamespaceStatus", &status)),
    ];
    object("Namespace", &fields)
});
