mod random;

use std::collections::BTreeMap;

use super::*;

fn parse(text: &str) -> Selector {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn error_message(text: &str) -> String {
    text.parse::<Selector>().expect_err(text).to_string()
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

#[test]
fn parses_the_whole_grammar() {
    let object = labels(&[
        ("app", "web"),
        ("tier", "db"),
        ("gen", "5"),
        ("example.com/empty", ""),
    ]);
    for (text, expected) in [
        ("", true),
        (" \t\r\n", true),
        ("app", true),
        ("!app", false),
        ("nope", false),
        ("! nope", true),
        ("app=web", true),
        ("app==web", true),
        ("app = web , tier = db", true),
        ("app!=web", false),
        ("nope!=web", true),
        ("app in (web,db)", true),
        ("app in(db)", false),
        ("app notin (db, cache)", true),
        ("nope notin (x)", true),
        ("app notin (web)", false),
        ("gen>4", true),
        ("gen>5", false),
        ("gen<5", false),
        ("gen<6", true),
        ("app>1", false),
        ("nope<1", false),
        ("example.com/empty=", true),
        ("example.com/empty=,app", true),
        ("example.com/empty in (,x)", true),
        ("example.com/empty in ()", true),
        ("example.com/empty notin (x,)", false),
        ("in in (x)", false),
        ("notin notin (in, notin)", true),
        ("app in (web),!tier", false),
    ] {
        assert_eq!(parse(text).matches(&object), expected, "{text}");
    }
}

#[test]
fn errors_describe_the_mistake() {
    for (text, message) in [
        ("x in", "found '' expected: '('"),
        ("x in in", "found 'in' expected: '('"),
        ("x in (a", "found '', expected: ',' or ')'"),
        ("x in (a b)", "found 'b', expected: ',' or ')'"),
        ("x,", "found '', expected: identifier after ','"),
        ("x,,", "found ',', expected: identifier after ','"),
        ("x y", "found 'y', expected: in, notin, =, ==, !=, gt, lt"),
        ("x!y", "found '!', expected: in, notin, =, ==, !=, gt, lt"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("x=a b", "found 'b', expected: ',' or 'end of string'"),
        ("!x=a", "found '=', expected: ',' or 'end of string'"),
        ("!", "found '', expected: identifier"),
        ("x=(", "found '(', expected: identifier"),
        ("x===a", "found '=', expected: identifier"),
        (
            "x>y",
            "values[0]: Invalid value: \"y\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ] {
        assert_eq!(
            error_message(text),
            format!("unable to parse requirement: {message}"),
            "{text}"
        );
    }
    for (text, start) in [
        ("-x y", "key: Invalid value: \"-x\": name part must consist of "),
        ("a/b/c=d", "key: Invalid value: \"a/b/c\": "),
        ("Ü=1", "key: Invalid value: \"Ü\": "),
        (
            "x=-a",
            "values[0][x]: Invalid value: \"-a\": a valid label must be an empty string or ",
        ),
        ("x in (b_,a)", "values[1][x]: Invalid value: \"b_\": "),
    ] {
        let message = error_message(text);
        assert!(
            message.starts_with(&format!("unable to parse requirement: {start}")),
            "{text}: {message}"
        );
    }
}

#[test]
fn formats_requirements_sorted_by_key() {
    for (text, canonical) in [
        ("b,a", "a,b"),
        ("b=2,b=1,!a", "!a,b=2,b=1"),
        ("a==b", "a=b"),
        ("a = ", "a="),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x in (a)", "x in (a)"),
        ("x notin (a,,b)", "x notin (,a,b)"),
        ("x in ( , )", "x in ()"),
        ("x > 007, w<9", "w<9,x>7"),
    ] {
        assert_eq!(parse(text).to_string(), canonical);
        assert_eq!(parse(canonical), parse(text));
    }
}

#[test]
fn builder_methods_validate_arguments() {
    let all = Selector::everything;
    let built = all()
        .less_than("b", 9)
        .and_then(|s| s.greater_than("b", 0))
        .and_then(|s| s.not_equal("a", ""));
    assert_eq!(built, Ok(parse("a!=,b<9,b>0")));
    let bad_key = "key: Invalid value: \"a b\": ";
    let bad_value = "values[0][a]: Invalid value: \"-\": ";
    let no_values = "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty";
    for (result, start) in [
        (all().equal("a b", "x"), bad_key),
        (all().not_equal("a b", "x"), bad_key),
        (all().one_of("a b", ["x"]), bad_key),
        (all().none_of("a b", ["x"]), bad_key),
        (all().exists("a b"), bad_key),
        (all().absent("a b"), bad_key),
        (all().greater_than("a b", 1), bad_key),
        (all().less_than("a b", 1), bad_key),
        (all().equal("a", "-"), bad_value),
        (all().not_equal("a", "-"), bad_value),
        (all().one_of("a", ["-"]), bad_value),
        (all().none_of("a", ["-"]), bad_value),
        (
            all().greater_than("a", -1),
            "values[0][a]: Invalid value: \"-1\": ",
        ),
        (all().less_than("a", -1), "values[0][a]: Invalid value: \"-1\": "),
        (all().one_of("a", [""; 0]), no_values),
        (all().none_of("a", [""; 0]), no_values),
    ] {
        let message = result.expect_err(start).to_string();
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn converts_label_selectors() {
    let (none, some): (&[String], _) = (&[], ["b".to_owned(), "a".to_owned()]);
    let from = |expression| Selector::from_parts(None, [expression]).map(|s| s.to_string());
    assert_eq!(Selector::from_parts(None, []), Ok(Selector::everything()));
    assert_eq!(
        Selector::from_parts(Some(&BTreeMap::new()), []),
        Ok(Selector::everything())
    );
    assert_eq!(from(("x", "In", &some)), Ok("x in (a,b)".into()));
    assert_eq!(from(("x", "NotIn", &some[..1])), Ok("x notin (b)".into()));
    assert_eq!(from(("x", "Exists", none)), Ok("x".into()));
    assert_eq!(from(("x", "DoesNotExist", none)), Ok("!x".into()));
    let both = Selector::from_parts(Some(&labels(&[("y", "1"), ("a", "2")])), [("x", "Exists", none)]);
    assert_eq!(both, Ok(parse("a=2,x,y=1")));
    for (expression, message) in [
        (
            ("x", "Like", none),
            "\"Like\" is not a valid label selector operator",
        ),
        (
            ("x", "in", &some[..]),
            "\"in\" is not a valid label selector operator",
        ),
        (
            ("x", "In", none),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            ("x", "NotIn", none),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            ("x", "Exists", &some[..]),
            "values: Invalid value: [\"b\",\"a\"]: values set must be empty for exists and does not exist",
        ),
        (
            ("x", "DoesNotExist", &some[..1]),
            "values: Invalid value: [\"b\"]: values set must be empty for exists and does not exist",
        ),
    ] {
        assert_eq!(from(expression).expect_err(message).to_string(), message);
    }
    assert!(from(("-", "Exists", none)).is_err());
    assert!(Selector::from_parts(Some(&labels(&[("x", "-")])), []).is_err());
}

#[test]
fn everything_and_nothing() {
    let (all, none) = (Selector::everything(), Selector::nothing());
    let web = parse("app=web");
    assert_eq!(all, Selector::default());
    assert!(all.is_everything() && !all.is_nothing() && all.matches(&None) && all.to_string().is_empty());
    assert!(none.is_nothing() && !none.is_everything() && !none.matches(&None));
    assert!(!none.matches(&labels(&[("nothing", "")])));
    assert_eq!(parse(&none.to_string()), none);
    assert!(!web.is_nothing() && !web.is_everything());
    assert_eq!(all.clone().and(web.clone()), web);
    assert_eq!(web.clone().and(all), web);
    assert_eq!(web.clone().and(none.clone()), none);
    assert_eq!(none.clone().and(web), none);
    assert_eq!(none.clone().exists("a"), Ok(none));
}

#[test]
fn matches_all_implementations_of_labels() {
    let web = parse("app=web");
    let map = labels(&[("app", "web")]);
    let pairs: [(Box<str>, Box<str>); 2] = [("tier".into(), "db".into()), ("app".into(), "web".into())];
    assert!(web.matches(&map) && web.matches(&Some(map)) && web.matches(&pairs[..]));
    assert!(!web.matches(&None) && !web.matches(&pairs[..1]));
}

/// Would not finish if the parser ran in quadratic time.
#[test]
fn parses_megabytes_in_linear_time() {
    const MANY: usize = 1 << 18;
    let count = |n: usize| n.to_string();
    let values = (0..MANY).rev().map(count).collect::<Vec<_>>().join(",");
    let list_selector = parse(&format!("x in ({values})"));
    assert!(
        (0..MANY)
            .step_by(101)
            .all(|n| list_selector.matches(&labels(&[("x", &count(n))])))
    );
    assert!(!list_selector.matches(&labels(&[("x", "a")])));
    assert_eq!(parse(&list_selector.to_string()), list_selector);

    let keyed = parse(&values);
    assert_eq!(parse(&keyed.to_string()), keyed);
    assert_eq!(
        keyed.clone().and(keyed.clone()).to_string().len(),
        2 * keyed.to_string().len() + 1
    );

    for piece in [
        "(", ")", "!", "=", "<", "x=(", "ü", "a/", "-", "x in (", "a ", ",", "\u{0}",
    ] {
        error_message(&piece.repeat(MANY));
    }
    assert!(parse(&" ".repeat(MANY)).is_everything());
}
