//! Processes corpus objects with random changes. Errors must be responses, not panics.

use serde_json::{Value, json};

use super::{Case, CaseRun, FILES, kinds};

/// A reproducible random number generator.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides.max(1)
    }

    /// Changes one value to another one that a client could send by mistake.
    fn mutate(&mut self, value: &mut Value) {
        let deeper = match value {
            Value::Object(fields) if !fields.is_empty() && self.below(5) > 0 => {
                let at = self.below(fields.len());
                fields.values_mut().nth(at)
            }
            Value::Array(items) if !items.is_empty() && self.below(5) > 0 => {
                let at = self.below(items.len());
                items.get_mut(at)
            }
            _ => None,
        };
        if let Some(inner) = deeper {
            self.mutate(inner);
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
        *value = wrong[self.below(wrong.len())].clone();
    }
}

#[test]
fn mutated_objects_do_not_panic() {
    let kinds = kinds();
    let run = CaseRun {
        kinds: &kinds,
        strict: false,
    };
    let mut random = RandomNumbers(7);
    for (_, text) in FILES {
        let cases: Vec<Case> = serde_json::from_str(text).expect("a corpus file");
        for step in cases.iter().flat_map(|c| &c.steps) {
            let Some(object) = &step.create else { continue };
            for _ in 0..20 {
                let mut mutated: Value = serde_json::from_str(object.get()).expect("JSON");
                let (kind, version) = (mutated["kind"].clone(), mutated["apiVersion"].clone());
                random.mutate(&mut mutated);
                if !mutated.is_object() {
                    continue;
                }
                mutated["kind"] = kind;
                mutated["apiVersion"] = version;
                let text = mutated.to_string();
                let _either = run.create(&text, step);
            }
        }
    }
}
