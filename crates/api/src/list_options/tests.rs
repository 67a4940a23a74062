use super::*;
use crate::query::tests::pairs;

fn read(text: &str) -> Result<CollectionRead, Status> {
    CollectionRead::parse(Query::new(&pairs(text)), CollectionPath::Collection)
}

fn list(text: &str) -> ListOptions {
    match read(text).unwrap() {
        CollectionRead::List(options) => options,
        CollectionRead::Watch(_) => panic!("{text} is a watch"),
    }
}

fn watch_on(text: &str, path: CollectionPath) -> WatchOptions {
    match CollectionRead::parse(Query::new(&pairs(text)), path).unwrap() {
        CollectionRead::Watch(options) => options,
        CollectionRead::List(_) => panic!("{text} is a list"),
    }
}

fn watch(text: &str) -> WatchOptions {
    watch_on(&format!("watch=1&{text}"), CollectionPath::Collection)
}

fn refused(text: &str) -> (u16, String) {
    let status = read(text).unwrap_err();
    (status.http_code(), status.message)
}

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::new(number)
}

#[test]
fn a_list_is_as_fresh_as_its_version_and_match_say() {
    let cases = [
        ("", Freshness::MostRecent),
        ("limit=2", Freshness::MostRecent),
        ("resourceVersion=0", Freshness::Any),
        (
            "resourceVersion=0&resourceVersionMatch=NotOlderThan",
            Freshness::Any,
        ),
        ("resourceVersion=5", Freshness::AtLeast(version(5))),
        ("resourceVersion=5&limit=1", Freshness::Exactly(version(5))),
        ("resourceVersion=5&limit=-1", Freshness::AtLeast(version(5))),
        (
            "resourceVersion=5&limit=1&resourceVersionMatch=NotOlderThan",
            Freshness::AtLeast(version(5)),
        ),
        (
            "resourceVersion=5&resourceVersionMatch=Exact",
            Freshness::Exactly(version(5)),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(list(text).freshness, expected, "{text}");
    }
}

#[test]
fn a_limit_counts_unless_any_state_will_do() {
    assert_eq!(list("limit=2&limit=3").limit.map(NonZeroU64::get), Some(2));
    assert_eq!(list("limit=0").limit, None);
    assert_eq!(list("limit=-3").limit, None);
    assert_eq!(list("limit=2&resourceVersion=0").limit, None);
}

#[test]
fn a_continued_list_is_at_the_state_of_its_token() {
    let token = ContinueToken::after("c2", version(95));
    for prefix in ["", "resourceVersion=0&"] {
        let options = list(&format!("{prefix}limit=2&continue={}", token.encode()));
        assert_eq!(options.freshness, Freshness::Exactly(version(95)));
        assert_eq!(options.limit.map(NonZeroU64::get), Some(2));
        assert_eq!(options.continue_from, Some(token.clone()));
    }
    let recent = token.with_most_recent_state().encode();
    let options = list(&format!("continue={recent}"));
    assert_eq!(options.freshness, Freshness::MostRecent);
    let message = "specifying resource version is not allowed when using continue";
    let text = format!("continue={recent}&resourceVersion=7");
    assert_eq!(refused(&text), (400, message.to_owned()));
}

#[test]
fn a_watch_begins_where_its_parameters_say() {
    let state = |freshness| WatchStart::State { freshness };
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&";
    let none = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&";
    let cases = [
        (String::new(), state(Freshness::MostRecent)),
        ("resourceVersion=".to_owned(), state(Freshness::MostRecent)),
        ("resourceVersion=0".to_owned(), state(Freshness::Any)),
        (
            "resourceVersion=5".to_owned(),
            WatchStart::After(version(5)),
        ),
        (
            format!("{initial}resourceVersion=5"),
            state(Freshness::AtLeast(version(5))),
        ),
        (initial.to_owned(), state(Freshness::MostRecent)),
        (
            format!("{none}resourceVersion=5"),
            WatchStart::After(version(5)),
        ),
        (format!("{none}resourceVersion=0"), WatchStart::Now),
        (none.to_owned(), WatchStart::Now),
    ];
    for (text, expected) in cases {
        assert_eq!(watch(&text).start, expected, "{text}");
    }
}

#[test]
fn a_deprecated_path_leaves_the_end_of_the_state_unmarked() {
    let start = |text| watch_on(text, CollectionPath::Watch).start;
    assert_eq!(start(""), WatchStart::UnmarkedState);
    assert_eq!(start("resourceVersion=0"), WatchStart::UnmarkedState);
    assert_eq!(start("resourceVersion=5"), WatchStart::After(version(5)));
    let state = WatchStart::State {
        freshness: Freshness::MostRecent,
    };
    assert_eq!(start("watch=1"), state);
}

#[test]
fn a_watch_has_its_own_options() {
    let options = watch("allowWatchBookmarks&timeoutSeconds=30&labelSelector=a!=b");
    assert!(options.allows_bookmarks);
    assert_eq!(options.labels.to_string(), "a!=b");
    assert_eq!(options.timeout, Some(Duration::from_secs(30)));
    assert_eq!(watch("timeoutSeconds=0").timeout, None);
    assert_eq!(watch("timeoutSeconds=-1").timeout, Some(Duration::ZERO));
    assert!(!watch("allowWatchBookmarks=false").allows_bookmarks);
}

#[test]
fn bad_numbers_and_selectors_are_refused() {
    let number = "strconv.ParseInt: parsing \"abc\": invalid syntax";
    assert_eq!(refused("limit=abc"), (400, number.to_owned()));
    assert_eq!(
        refused("timeoutSeconds=abc&watch=1"),
        (400, number.to_owned())
    );
    let selector = "unable to parse requirement: found 'b', \
                    expected: in, notin, =, ==, !=, gt, lt";
    assert_eq!(refused("labelSelector=a b c"), (400, selector.to_owned()));
    let list = "invalid resource version: resourceVersion: Invalid value: \"abc\": \
                strconv.ParseUint: parsing \"abc\": invalid syntax";
    assert_eq!(refused("resourceVersion=abc"), (400, list.to_owned()));
    let watch = "resourceVersion: Invalid value: \"abc\": \
                 strconv.ParseUint: parsing \"abc\": invalid syntax";
    assert_eq!(
        refused("watch=1&resourceVersion=abc"),
        (400, watch.to_owned())
    );
}

#[test]
fn bad_combinations_are_refused() {
    let matching = "resourceVersionMatch: ";
    let cases = [
        (
            "resourceVersionMatch=Exact",
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            "resourceVersion=5&resourceVersionMatch=foo",
            "Unsupported value: \"foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
        ),
        (
            "resourceVersion=5&resourceVersionMatch=Exact&continue=x",
            "Forbidden: resourceVersionMatch is forbidden when continue is provided",
        ),
        (
            "watch=1&sendInitialEvents=true",
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan",
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is \
             provided",
        ),
    ];
    let prefix = "ListOptions.meta.k8s.io \"\" is invalid: ";
    for (text, expected) in cases {
        assert_eq!(
            refused(text),
            (422, format!("{prefix}{matching}{expected}")),
            "{text}"
        );
    }
    let initial = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
    assert_eq!(
        refused("sendInitialEvents=true"),
        (422, format!("{prefix}{initial}"))
    );
    let path = CollectionPath::Watch;
    let deprecated = CollectionRead::parse(Query::new(&pairs("sendInitialEvents=1")), path);
    assert_eq!(
        deprecated.unwrap_err().message,
        format!("{prefix}{initial}")
    );
}

#[test]
fn several_bad_combinations_are_told_at_once() {
    let (_, message) = refused("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact");
    let expected = "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: \
        sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, \
        resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]";
    assert_eq!(message, expected);
}

#[test]
fn a_get_is_never_exact() {
    let get = |text: &str| GetOptions::parse(Query::new(&pairs(text)));
    assert_eq!(get("").unwrap().freshness, Freshness::MostRecent);
    assert_eq!(get("resourceVersion=0").unwrap().freshness, Freshness::Any);
    assert_eq!(
        get("resourceVersion=7").unwrap().freshness,
        Freshness::AtLeast(version(7))
    );
    assert_eq!(get("resourceVersion=x").unwrap_err().http_code(), 400);
    let export = "the export parameter, deprecated since v1.14, is no longer supported";
    assert_eq!(get("export=1").unwrap_err().message, export);
}
