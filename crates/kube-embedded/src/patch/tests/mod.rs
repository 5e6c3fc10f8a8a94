mod hostile;
mod ownership;
mod patches;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::apply::{Apply, apply};
use super::field_set::FieldSet;
use super::update::{Update, record_update};
use crate::schema::{Type, Types};
use crate::status::Status;

fn builtin(name: &str) -> Type {
    Type::Ref(Types::builtin().find(name).expect("a built-in type"))
}

fn config_map_type() -> Type {
    builtin("io.k8s.api.core.v1.ConfigMap")
}

fn deployment_type() -> Type {
    builtin("io.k8s.api.apps.v1.Deployment")
}

/// Returns a different minute for each write.
fn minute(n: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + n * 60).expect("a time")
}

fn status_field() -> FieldSet {
    FieldSet::of_names(&[&["status"]])
}

/// An object with several managers.
struct SharedObject {
    ty: Type,
    object: Option<Value>,
    minute: i64,
}

impl SharedObject {
    fn new(ty: Type) -> SharedObject {
        SharedObject {
            ty,
            object: None,
            minute: 0,
        }
    }

    fn try_apply(&mut self, manager: &str, force: bool, config: &Value) -> Result<Value, Status> {
        self.minute += 1;
        let object = apply(Apply {
            types: Types::builtin(),
            ty: &self.ty,
            api_version: config["apiVersion"].as_str().unwrap_or("v1"),
            kind: config["kind"].as_str().unwrap_or("ConfigMap"),
            live: self.object.as_ref(),
            config,
            manager,
            force,
            subresource: "",
            reset: &status_field(),
            now: minute(self.minute),
        })?;
        self.object = Some(object.clone());
        Ok(object)
    }

    fn apply(&mut self, manager: &str, config: &Value) -> Value {
        self.try_apply(manager, false, config).expect("no conflict")
    }

    fn force(&mut self, manager: &str, config: &Value) -> Value {
        self.try_apply(manager, true, config)
            .expect("no conflict with force")
    }

    fn update(&mut self, manager: &str, mut new: Value) -> Value {
        self.minute += 1;
        record_update(
            Update {
                types: Types::builtin(),
                ty: &self.ty,
                api_version: new["apiVersion"].as_str().unwrap_or("v1").to_owned().as_str(),
                old: self.object.as_ref(),
                manager,
                subresource: "",
                reset: &status_field(),
                now: minute(self.minute),
            },
            &mut new,
        );
        new["metadata"]["uid"] = "u".into();
        self.object = Some(new.clone());
        new
    }

    /// Changes the object without changing its entries.
    fn edit(&mut self, manager: &str, edit: impl FnOnce(&mut Value)) -> Value {
        let mut new = self.object.clone().expect("an object");
        edit(&mut new);
        self.update(manager, new)
    }
}

/// Returns `manager/operation@minute` of every entry with its fields.
fn managed_fields(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let line = |entry: &Value| {
        let time = entry["time"]
            .as_str()
            .map(|t| t.parse::<Timestamp>().expect("a time"));
        let at = time.map_or("never".to_owned(), |t| {
            ((t.as_second() - 1_767_225_600) / 60).to_string()
        });
        let name = format!(
            "{}/{}@{at}",
            entry["manager"].as_str().unwrap_or_default(),
            entry["operation"].as_str().unwrap_or_default()
        );
        json!([name, entry["fieldsV1"]])
    };
    entries.iter().map(line).collect()
}

fn config_map(data: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    if !data.is_null() {
        object["data"] = data;
    }
    object
}
