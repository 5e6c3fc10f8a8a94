//! Corpus objects, changed in random places: whatever a client sends gets an answer.

use serde_json::{Value, json};

use super::{Case, FILES, Run, kinds};

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides.max(1)
    }

    /// Changes one place of a value into something a client could have sent by mistake.
    fn spoil(&mut self, value: &mut Value) {
        let deeper = match value {
            Value::Object(fields) if !fields.is_empty() && self.roll(5) > 0 => {
                let at = self.roll(fields.len());
                fields.values_mut().nth(at)
            }
            Value::Array(items) if !items.is_empty() && self.roll(5) > 0 => {
                let at = self.roll(items.len());
                items.get_mut(at)
            }
            _ => None,
        };
        if let Some(inner) = deeper {
            self.spoil(inner);
            return;
        }
        let wrong = [
            json!(null),
            json!(""),
            json!("x"),
            json!("A_b"),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(true),
            json!([]),
            json!({}),
            json!([null]),
            json!(["x"]),
            json!({ "a": "b" }),
            json!({ "a": null }),
        ];
        *value = wrong[self.roll(wrong.len())].clone();
    }
}

#[test]
fn spoiled_objects_are_answered() {
    let kinds = kinds();
    let run = Run {
        kinds: &kinds,
        strict: false,
    };
    let mut dice = Dice(7);
    for (_, text) in FILES {
        let cases: Vec<Case> = serde_json::from_str(text).expect("a corpus file");
        for step in cases.iter().flat_map(|c| &c.steps) {
            let Some(object) = &step.create else { continue };
            for _ in 0..20 {
                let mut spoiled: Value = serde_json::from_str(object.get()).expect("JSON");
                let (kind, version) = (spoiled["kind"].clone(), spoiled["apiVersion"].clone());
                dice.spoil(&mut spoiled);
                if !spoiled.is_object() {
                    continue;
                }
                spoiled["kind"] = kind;
                spoiled["apiVersion"] = version;
                let text = spoiled.to_string();
                let _either = run.create(&text, step);
            }
        }
    }
}
