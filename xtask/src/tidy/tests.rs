use super::*;

fn messages(violations: Vec<Violation>) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

fn source(text: &str) -> Vec<String> {
    messages(sources::check("crates/api/src/a.rs", text))
}

fn document(text: &str) -> Vec<String> {
    let files = [
        "README.md",
        "docs/a.md",
        "crates/server/src/verbs/create.rs",
        "crates/api/Cargo.toml",
    ];
    let files: Vec<String> = files.map(str::to_owned).to_vec();
    messages(documents::check("docs/b.md", text, &files))
}

#[test]
fn a_file_of_more_than_700_lines_without_its_tests_is_too_long() {
    let tests = "#[cfg(test)]\nmod tests {\n}\n";
    let of = |lines: usize| format!("{}{tests}", "//\n".repeat(lines));
    assert!(source(&of(700)).is_empty());
    assert_eq!(
        source(&of(701)),
        ["crates/api/src/a.rs: 701 lines without tests, more than 700: split it"]
    );
    assert!(sources::check("crates/api/src/a/tests.rs", &of(701)).is_empty());
}

#[test]
fn a_line_of_more_than_100_columns_is_too_wide() {
    let of = |columns: usize| format!("//{}\n", "ä".repeat(columns - 2));
    assert!(source(&of(100)).is_empty());
    assert_eq!(
        source(&of(101)),
        ["crates/api/src/a.rs:1: 101 columns, more than 100"]
    );
}

#[test]
fn short_names_are_refused_in_code_and_free_in_text() {
    assert_eq!(source("fn a(ctx: u8) {}").len(), 1);
    assert_eq!(source("let rv = obj;").len(), 2);
    assert_eq!(source("fn get_locked() {}").len(), 1);
    assert!(source("// The rv of an obj.\nlet curve = \"rv ctx\";").is_empty());
    assert!(source("let object_count = context.objects;").is_empty());
}

#[test]
fn a_module_is_named_after_what_it_owns() {
    assert_eq!(sources::check("crates/api/src/utils.rs", "").len(), 1);
    assert_eq!(sources::check("crates/api/src/common/a.rs", "").len(), 1);
    assert!(sources::check("crates/api/src/commons.rs", "let common = 1;").is_empty());
}

#[test]
fn unfinished_code_is_refused() {
    for code in [
        "todo!()",
        "unimplemented!()",
        "#[ignore]",
        "#[should_panic]",
        "#[ignore = \"x\"]",
    ] {
        assert_eq!(source(code).len(), 1, "{code}");
    }
}

#[test]
fn a_todo_needs_its_issue_and_a_fixme_cannot_land() {
    assert_eq!(source("// TODO: later").len(), 1);
    assert_eq!(source("/* FIXME */").len(), 1);
    assert!(source("// TODO(#12): later").is_empty());
    assert!(source("// TODO #12: later").is_empty());
}

#[test]
fn banners_are_refused() {
    assert_eq!(source("// -----------").len(), 1);
}

#[test]
fn literals_and_comments_are_told_from_code() {
    let code = |text: &str| {
        let lines = source_text::lines(text);
        lines.into_iter().map(|line| line.code).collect::<Vec<_>>()
    };
    assert_eq!(code("let a = \"x \\\" y\"; b"), ["let a = \"; b"]);
    assert_eq!(code("let a = r#\"x \" y\"#; b"), ["let a = \"; b"]);
    assert_eq!(code("a /* x /* y */ z */ b"), ["a  b"]);
    assert_eq!(code("a \"x\ny\" b // c"), ["a \"", " b "]);
    assert_eq!(
        code("let a = '\"'; f::<'a>('\\'', \"x\")"),
        ["let a = '\"'; f::<'a>('\\'', \")"]
    );
}

#[test]
fn a_crate_depends_only_on_what_the_architecture_allows() {
    let manifest = "[package]\nname = \"listwatch-server\"\n[dependencies]\n\
        listwatch-api.workspace = true\nlistwatch.workspace = true\n";
    assert_eq!(
        messages(dependencies::check("crates/server/Cargo.toml", manifest)),
        ["crates/server/Cargo.toml:5: `listwatch-server` must not depend on `listwatch`"]
    );
    let manifest =
        "[package]\nname = \"listwatch-store\"\n[dev-dependencies]\nlistwatch-api = {}\n";
    assert_eq!(
        dependencies::check("crates/store/Cargo.toml", manifest).len(),
        1
    );
}

#[test]
fn a_path_in_a_document_must_exist() {
    assert!(
        document("See `verbs/create.rs`, `crates/api`, [a](a.md) and [top](../README.md).")
            .is_empty()
    );
    assert!(document("See [site](https://example.com/x.md) and [below](#below).").is_empty());
    assert!(document("```console\n$ cat `none.md`\n```").is_empty());
    assert_eq!(
        document("See `verbs/none.rs`."),
        ["docs/b.md:1: `verbs/none.rs` does not exist"]
    );
    assert_eq!(
        document("\n[x](none.md#part)"),
        ["docs/b.md:2: `none.md` does not exist"]
    );
}

#[test]
fn a_lock_file_names_no_address() {
    let locked = "{\n\"integrity\": \"sha512-x\",\n\"resolved\": \"https://example.com/a.tgz\"\n}";
    assert_eq!(
        messages(check("a/package-lock.json", locked, &[])),
        ["a/package-lock.json:3: an address: install with --omit-lockfile-registry-resolved"]
    );
}

#[test]
fn a_large_file_is_refused() {
    assert!(size("a.json", FILE_BYTES_MAX).is_none());
    assert!(size("a.json", FILE_BYTES_MAX + 1).is_some());
}

#[test]
fn paths_of_one_machine_are_refused() {
    let places = ["/srv/".to_owned()];
    assert_eq!(machine_paths("a.md", "x\nsee /srv/ada/x", &places).len(), 1);
    assert!(machine_paths("a.md", "example.com/srv/x and $ROOT/srv/x", &places).is_empty());
}
