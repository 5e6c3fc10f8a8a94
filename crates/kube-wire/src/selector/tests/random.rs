use super::*;

const KEYS: [&str; 7] = ["a", "b", "c", "in", "notin", "nothing", "example.com/d"];
const VALUES: [&str; 9] = ["", "1", "2", "3", "10", "in", "notin", "x", "Y.z"];

/// One call of a builder method and its arguments.
struct BuilderStep {
    key: &'static str,
    operator: usize,
    values: Vec<&'static str>,
    bound: i64,
}

impl BuilderStep {
    fn new(random: &mut fastrand::Rng) -> BuilderStep {
        BuilderStep {
            key: random.choice(KEYS).expect("not empty"),
            operator: random.usize(..8),
            values: (0..random.usize(1..4))
                .map(|_| random.choice(VALUES).expect("not empty"))
                .collect(),
            bound: random.i64(0..12),
        }
    }

    fn add(&self, selector: Selector) -> Result<Selector, ParseSelectorError> {
        let BuilderStep {
            key, values, bound, ..
        } = self;
        match self.operator {
            0 => selector.equal(*key, values[0]),
            1 => selector.not_equal(*key, values[0]),
            2 => selector.one_of(*key, values.clone()),
            3 => selector.none_of(*key, values.clone()),
            4 => selector.exists(*key),
            5 => selector.absent(*key),
            6 => selector.greater_than(*key, *bound),
            _ => selector.less_than(*key, *bound),
        }
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let Some(value) = labels.get(self.key) else {
            return [1, 3, 5].contains(&self.operator);
        };
        match self.operator {
            0 => value == self.values[0],
            1 => value != self.values[0],
            2 => self.values.contains(&value.as_str()),
            3 => !self.values.contains(&value.as_str()),
            4 => true,
            5 => false,
            6 => value.parse::<i64>().is_ok_and(|n| n > self.bound),
            _ => value.parse::<i64>().is_ok_and(|n| n < self.bound),
        }
    }
}

#[test]
fn random_selectors_round_trip_and_match() {
    let mut matched = 0;
    for seed in 0..3_000 {
        let random = &mut fastrand::Rng::with_seed(seed);
        let steps: Vec<BuilderStep> = (0..random.usize(..5)).map(|_| BuilderStep::new(random)).collect();
        let (first, second) = steps.split_at(random.usize(..=steps.len()));
        let build = |part: &[BuilderStep]| {
            part.iter()
                .try_fold(Selector::everything(), |s, steps| steps.add(s))
                .expect("valid keys and values")
        };
        let selector = build(first).and(build(second));
        let text = selector.to_string();
        assert_eq!(text.parse(), Ok(selector.clone()), "seed {seed}: {text}");
        for _ in 0..20 {
            let mut labels = BTreeMap::new();
            for key in KEYS.into_iter().filter(|_| random.bool()).collect::<Vec<_>>() {
                let value = random.choice(VALUES).expect("not empty");
                labels.insert(key.to_owned(), value.to_owned());
            }
            let expected = steps.iter().all(|s| s.matches(&labels));
            matched += u32::from(expected);
            assert_eq!(
                selector.matches(&labels),
                expected,
                "seed {seed}: {text} on {labels:?}"
            );
        }
    }
    assert!(
        (10_000..50_000).contains(&matched),
        "unbalanced samples: {matched} matches"
    );
}

#[test]
fn random_text_round_trips_or_fails() {
    const PIECES: [&str; 24] = [
        "a",
        "b",
        "in",
        "notin",
        " in ",
        " notin ",
        "(",
        ")",
        ",",
        "!",
        "=",
        "==",
        "!=",
        ">",
        "<",
        " ",
        "\t",
        "1",
        "-",
        "/",
        "é",
        "\u{0}",
        "\u{2003}",
        "99999999999999999999",
    ];
    let mut parsed_count = 0;
    for seed in 0..60_000 {
        let random = &mut fastrand::Rng::with_seed(seed);
        let text: String = (0..random.usize(..10))
            .map(|_| random.choice(PIECES).expect("not empty"))
            .collect();
        if let Ok(selector) = text.parse::<Selector>() {
            parsed_count += 1;
            assert_eq!(
                selector.to_string().parse(),
                Ok(selector),
                "seed {seed}: {text:?}"
            );
        }
    }
    assert!(
        (5_000..30_000).contains(&parsed_count),
        "unbalanced samples: {parsed_count} parsed"
    );
    for seed in 0..5_000 {
        let random = &mut fastrand::Rng::with_seed(seed);
        let text: String = (0..random.usize(..40)).map(|_| random.char(..)).collect();
        let _ = text.parse::<Selector>();
    }
}
