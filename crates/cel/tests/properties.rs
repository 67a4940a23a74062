//! What holds for any expression: nothing panics, everything ends, and no budget is exceeded.

use listwatch_cel::schema::Position;
use listwatch_cel::{Bindings, Budget, Environment, EvaluationError, Schema, Sizes, Type, Value};
use proptest::prelude::*;
use serde_json::json;

const TOKENS: &[&str] = &[
    "x",
    "self",
    ".",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "==",
    "!=",
    "<",
    ">",
    "<=",
    ">=",
    "&&",
    "||",
    "in",
    "1",
    "2u",
    "1.5",
    "'a'",
    "\"b\"",
    "b'c'",
    "true",
    "null",
    "has",
    "all",
    "exists",
    "map",
    "filter",
    "size",
    "optMap",
    "sortBy",
    "transformMap",
    "name",
    "items",
    "int",
    "string",
    "duration",
    "matches",
    "'('",
    "format",
    "'%s'",
    "dyn",
    "type",
    "lists.range",
    "quantity",
    "ip",
    "optional.of",
    "@",
    "`",
    "\n",
    " ",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(TOKENS), 0..40).prop_map(|tokens| tokens.join(" "))
}

const LEAVES: &[&str] = &[
    "1",
    "0",
    "-7",
    "2.5",
    "3u",
    "'abc'",
    "''",
    "b'x'",
    "true",
    "false",
    "null",
    "x",
    "x.name",
    "x.items",
    "x.count",
    "[]",
    "{}",
    "[1, 2, 3]",
    "['b', 'a']",
    "{'a': 1}",
    "duration('1h')",
    "timestamp('2024-01-01T00:00:00Z')",
    "quantity('1Gi')",
    "optional.none()",
    "type(1)",
];

const METHODS: &[&str] = &[
    "size()",
    "all(i, i == 1)",
    "exists(i, i in [1])",
    "map(i, [i, i])",
    "filter(i, true)",
    "map(i, j)",
    "sort()",
    "sum()",
    "distinct()",
    "reverse()",
    "flatten()",
    "join('-')",
    "split('')",
    "matches('a+')",
    "upperAscii()",
    "transformMap(k, v, v)",
    "name",
    "isSorted()",
    "optMap(i, i + 1)",
    "hasValue()",
    "orValue(1)",
    "getHours()",
    "replace('a', 'aaaa')",
];

/// Expressions that are mostly well formed, whatever their types.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(LEAVES).prop_map(str::to_owned);
    leaf.prop_recursive(5, 48, 3, |inner| {
        let operators = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in",
        ]);
        let methods = prop::sample::select(METHODS);
        prop_oneof![
            (inner.clone(), operators, inner.clone())
                .prop_map(|(one, operator, other)| format!("(dyn({one}) {operator} dyn({other}))")),
            (inner.clone(), methods).prop_map(|(target, method)| format!("dyn({target}).{method}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("(dyn({a}) ? dyn({b}) : dyn({c}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("dyn({a})[dyn({b})]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[dyn({a}), dyn({b})]")),
            inner
                .clone()
                .prop_map(|a| format!("[1, 2].map(i, dyn({a}))")),
            inner.prop_map(|a| format!("string(dyn({a}))")),
        ]
    })
}

/// Compiles and evaluates, holding what is promised about budgets to be true.
fn run(source: &str, limit: u64) {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "items": {"type": "array", "items": {"type": "string"}},
    }});
    let schema = Schema::from_openapi(&schema, Position::Inside).expect("the schema is exposed");
    let environment = Environment::kubernetes()
        .with_variable("x", Type::Dyn)
        .with_data("self", "self", &schema);
    let Ok(program) = environment.compile(source) else {
        return;
    };
    let estimate = program.estimate(Sizes::Root(&schema));
    assert!(estimate.min <= estimate.max, "{source}: {estimate:?}");
    let data = json!({"name": "web", "items": ["a", "b"], "count": 3});
    let own = json!({"name": "web", "items": ["a", "b"]});
    let bindings = Bindings::new().with("x", Value::dynamic(&data)).with(
        "self",
        Value::from_json(&own, &schema).expect("the data fits"),
    );
    let mut budget = Budget::new(limit);
    let outcome = program.evaluate(&bindings, &mut budget);
    let within = budget.spent() <= limit;
    assert_eq!(
        within,
        outcome.as_ref().err() != Some(&EvaluationError::OutOfBudget),
        "{source}"
    );
    let mut again = Budget::new(limit);
    let repeated = program.evaluate(&bindings, &mut again);
    assert_eq!(budget.spent(), again.spent(), "{source}");
    assert_eq!(outcome.is_ok(), repeated.is_ok(), "{source}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_or_refused(source in "\\PC{0,60}") {
        run(&source, 1_000);
    }

    #[test]
    fn any_sequence_of_tokens_is_read_or_refused(source in soup()) {
        run(&source, 1_000);
    }

    #[test]
    fn evaluation_stays_within_its_budget_and_repeats_itself(
        source in expression(),
        limit in 0_u64..2_000,
    ) {
        run(&source, limit);
    }
}

#[test]
fn deep_expressions_end_like_shallow_ones() {
    let deep = [
        format!("{}1{}", "(".repeat(240), ")".repeat(240)),
        format!("{}1{}", "[".repeat(240), "]".repeat(240)),
        format!("{}{{}}{}", "{'a': ".repeat(200), "}".repeat(200)),
        format!("1{}", " + 1".repeat(240)),
        format!("true{}", " && true".repeat(5_000)),
        format!("{}true", "true ? false : ".repeat(200)),
        format!("{}1{}", "[1].map(x, ".repeat(100), ")".repeat(100)),
        format!("{}true{}", "[1].all(x, ".repeat(100), ")".repeat(100)),
        format!("x{}", ".a".repeat(240)),
        format!("optional.of(1){}", ".optMap(y, y)".repeat(12)),
    ];
    for source in deep {
        roomily(move || run(&source, 100_000));
    }
    for opener in ["(", "[", "-", "!", "{1:", "f(", "a ? ", "a[", "a.b("] {
        let endless = opener.repeat(20_000);
        roomily(move || assert!(Environment::kubernetes().compile(&endless).is_err()));
    }
}

/// Runs something where there is as much stack as code without optimization takes.
fn roomily(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(work);
    thread
        .expect("a thread starts")
        .join()
        .expect("it does not panic");
}

#[test]
fn copies_that_macros_make_are_bounded() {
    let source = format!("optional.of(1){}", ".optMap(y, y)".repeat(60));
    roomily(move || assert!(Environment::kubernetes().compile(&source).is_err()));
}

#[test]
fn costly_functions_are_stopped_before_they_begin() {
    let items: Vec<i64> = (0..200_000).collect();
    let data = json!(items);
    let environment = Environment::kubernetes().with_variable("x", Type::Dyn);
    for source in [
        "x.distinct().size()",
        "sets.equivalent(x, x)",
        "lists.range(999999999)",
    ] {
        let program = environment.compile(source).expect("it is well formed");
        let bindings = Bindings::new().with("x", Value::dynamic(&data));
        let outcome = program.evaluate(&bindings, &mut Budget::per_call());
        assert_eq!(
            outcome.err(),
            Some(EvaluationError::OutOfBudget),
            "{source}"
        );
    }
}

#[test]
fn what_grows_is_not_copied_at_each_step() {
    let items: Vec<i64> = (0..60_000).collect();
    let data = json!(items);
    let environment = Environment::kubernetes().with_variable("x", Type::Dyn);
    let bindings = Bindings::new().with("x", Value::dynamic(&data));
    for source in [
        "x.map(i, i).size()",
        "x.filter(i, i >= 0).size()",
        "x.transformMap(i, v, v).size()",
    ] {
        let program = environment.compile(source).expect("it is well formed");
        let value = program.evaluate(&bindings, &mut Budget::per_call());
        assert!(
            matches!(value, Ok(Value::Int(60_000))),
            "{source}: {value:?}"
        );
    }
}

#[test]
fn large_sets_are_compared_without_comparing_all_pairs() {
    let items: Vec<String> = (0..50_000).map(|index| format!("item-{index}")).collect();
    let reversed: Vec<&String> = items.iter().rev().collect();
    let (one, other) = (json!(items), json!(reversed));
    let schema =
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let schema = Schema::from_openapi(&schema, Position::Inside).expect("the schema is exposed");
    let environment = Environment::kubernetes()
        .with_data("a", "a", &schema)
        .with_data("b", "b", &schema);
    let bindings = Bindings::new()
        .with("a", Value::from_json(&one, &schema).expect("the data fits"))
        .with(
            "b",
            Value::from_json(&other, &schema).expect("the data fits"),
        );
    let program = environment
        .compile("a == b && size(a + b) == size(a)")
        .expect("it is well formed");
    let value = program
        .evaluate(&bindings, &mut Budget::per_call())
        .expect("it is cheap");
    assert!(matches!(value, Value::Bool(true)));
}
