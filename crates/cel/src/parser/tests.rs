use super::*;

fn complaint(source: &str) -> String {
    let issues = parse(source).unwrap_err();
    issues
        .iter()
        .map(|issue| issue.message.clone())
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn nesting_is_bounded() {
    let nested = format!("{}1{}", "(".repeat(251), ")".repeat(251));
    assert_eq!(
        complaint(&nested),
        "expression recursion limit exceeded: 250"
    );
    let chain = format!("1{}", " + 1".repeat(300));
    assert_eq!(
        complaint(&chain),
        "expression recursion limit exceeded: 250"
    );
    let members = format!("a{}", ".b".repeat(300));
    assert_eq!(
        complaint(&members),
        "expression recursion limit exceeded: 250"
    );
    assert!(parse(&format!("{}1{}", "(".repeat(200), ")".repeat(200))).is_ok());
}

#[test]
fn length_is_bounded() {
    let long = format!("'{}'", "a".repeat(CHARACTERS_MAX));
    assert_eq!(
        complaint(&long),
        "expression code point size exceeds limit: size: 100002, limit 100000"
    );
}

#[test]
fn logical_chains_are_one_call() {
    let parsed = parse(&format!("true{}", " && true".repeat(1_000))).unwrap();
    let Kind::Call(call) = parsed.expression.kind else {
        panic!("not a call")
    };
    assert_eq!(call.arguments.len(), 1_001);
}
