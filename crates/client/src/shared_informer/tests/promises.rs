//! What the documents say of these tests.

const DOCUMENT: &str = include_str!("../../../../../docs/guarantees.md");

const TESTS: [&str; 12] = [
    include_str!("../../indexed_cache/tests.rs"),
    include_str!("bounds.rs"),
    include_str!("factory.rs"),
    include_str!("hammer.rs"),
    include_str!("handlers.rs"),
    include_str!("lifecycle.rs"),
    include_str!("panics.rs"),
    include_str!("property.rs"),
    include_str!("resync.rs"),
    include_str!("source.rs"),
    include_str!("staleness.rs"),
    include_str!("sync.rs"),
];

#[test]
fn every_promise_about_informers_names_tests_that_are_there() {
    let (_, section) = DOCUMENT.split_once("## Informers").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<_> = rows.skip(1).collect();
    assert!(rows.len() > 30);
    for row in rows {
        let named = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for test in named.split(", ") {
            let function = format!("fn {}(", test.trim_matches('`'));
            let found = TESTS.iter().any(|tests| tests.contains(&function));
            assert!(found, "no test {test} for {row}");
        }
    }
}
