use proptest::prelude::*;

use super::*;

fn canonical(text: &str) -> String {
    LabelSelector::parse(text).unwrap().to_string()
}

fn refused(text: &str) -> String {
    LabelSelector::parse(text).unwrap_err().to_string()
}

#[test]
fn every_operator_is_read_and_written_back() {
    let cases = [
        ("", ""),
        ("  ", ""),
        ("a", "a"),
        ("!a", "!a"),
        ("a=b", "a=b"),
        ("a == b", "a=b"),
        ("a!=b", "a!=b"),
        ("a in (b)", "a=b"),
        ("a in (c,b,c)", "a in (b,c)"),
        ("a notin ( c , b )", "a notin (b,c)"),
        ("a>1,b<007", "a>1,b<7"),
        ("x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z!="),
        ("a in (,)", "a="),
        ("a in (,b)", "a in (,b)"),
        ("a in (b,)", "a in (,b)"),
        ("a=,b", "a=,b"),
        ("b,a,b", "a,b"),
        ("in in (in),notin=notin", "in=in,notin=notin"),
        ("a\t=\r\nb", "a=b"),
        ("example.com/A=B_.c", "example.com/A=B_.c"),
    ];
    for (text, expected) in cases {
        assert_eq!(canonical(text), expected, "{text:?}");
    }
}

#[test]
fn syntax_errors_are_worded_as_kubernetes_words_them() {
    let requirement = "unable to parse requirement: ";
    let cases = [
        ("a b c", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a(", "found '(', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "found '', expected: identifier"),
        ("!,", "found ',', expected: identifier"),
        ("!!a", "found '!', expected: identifier"),
        ("a in", "found '' expected: '('"),
        ("a in b", "found 'b' expected: '('"),
        ("a in (", "found '', expected: ',', ')' or identifier"),
        ("a in (=", "found '=', expected: ',', ')' or identifier"),
        ("a in (b", "found '', expected: ',' or ')'"),
        ("a in (b c)", "found 'c', expected: ',' or ')'"),
        ("a in (b,", "found '', expected: ',', or identifier"),
        ("a==!b", "found '!', expected: identifier"),
        ("a=(b", "found '(', expected: identifier"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            refused(text),
            format!("{requirement}{expected}"),
            "{text:?}"
        );
    }
    assert_eq!(
        refused(",a"),
        "found ',', expected: !, identifier, or 'end of string'"
    );
    assert_eq!(refused("a,"), "found '', expected: identifier after ','");
    assert_eq!(refused("a,,b"), "found ',', expected: identifier after ','");
    assert_eq!(
        refused("!a=b"),
        "found '=', expected: ',' or 'end of string'"
    );
    assert_eq!(
        refused("a=b c"),
        "found 'c', expected: ',' or 'end of string'"
    );
}

#[test]
fn keys_and_values_follow_the_rules_of_labels() {
    let key = refused("-a");
    let expected = "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must";
    assert!(key.starts_with(expected), "{key}");
    let value = refused("a in (b,c$)");
    let expected =
        "unable to parse requirement: values[1][a]: Invalid value: \"c$\": a valid label";
    assert!(value.starts_with(expected), "{value}");
    let number = refused("a>x");
    let expected = "unable to parse requirement: values[0]: Invalid value: \"x\": \
                    for 'Gt', 'Lt' operators, the value must be an integer";
    assert_eq!(number, expected);
    let both = refused("a<-$");
    let expected = "unable to parse requirement: [values[0]: Invalid value: \"-$\": for 'Gt'";
    assert!(both.starts_with(expected), "{both}");
}

#[test]
fn a_zero_byte_ends_the_text() {
    assert_eq!(canonical("\0!("), "");
    assert_eq!(canonical("a\0,\0b"), "a,b");
    assert_eq!(
        refused("a, \0b"),
        "found '', expected: identifier after ','"
    );
}

#[test]
fn a_hundred_thousand_terms_are_read() {
    let text = vec!["a=b"; 100_000].join(",");
    assert_eq!(canonical(&text), "a=b");
    let values = vec!["b"; 100_000].join(",");
    assert_eq!(canonical(&format!("a in ({values})")), "a=b");
}

#[test]
fn selection_follows_the_operators() {
    let labels = |key: &str| match key {
        "a" => Some("1"),
        "b" => Some(""),
        _ => None,
    };
    let matching = [
        "a=1",
        "a!=2",
        "c!=2",
        "a in (0,1)",
        "c notin (1)",
        "b",
        "!c",
        "a>0",
        "a<2",
    ];
    for text in matching {
        assert!(
            LabelSelector::parse(text).unwrap().matches(labels),
            "{text}"
        );
    }
    for text in [
        "a=2", "c=", "a!=1", "c in (1)", "c", "!b", "a>1", "b>0", "c<1", "a,c",
    ] {
        assert!(
            !LabelSelector::parse(text).unwrap().matches(labels),
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r"[a-c1!=<>(), \x00é]{0,24}|[a-c in()!=,]{0,24}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
        }
    }
}
