use proptest::prelude::*;

use super::*;

fn parse<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<Result<RawObject, Unreadable>>, ListEnd), SourceError> {
    let mut parser = ListParser::default();
    let mut labels = LabelPool::default();
    let mut items = Vec::new();
    for piece in pieces {
        items.extend(parser.push(Bytes::copy_from_slice(piece), &mut labels)?);
    }
    Ok((items, parser.finish()?))
}

/// What came out, as text.
fn outline(text: &[u8], cut: usize) -> String {
    let (first, second) = text.split_at(cut.min(text.len()));
    match parse([first, second]) {
        Ok((items, end)) => {
            let item = |item: &Result<RawObject, Unreadable>| match item {
                Ok(object) => format!("{}@{}={:?}", object.key, object.version, object.body),
                Err(unreadable) => format!("{:?}: {}", unreadable.raw, unreadable.reason),
            };
            let items: Vec<_> = items.iter().map(item).collect();
            format!("{items:?} {end:?}")
        }
        Err(error) => error.to_string(),
    }
}

fn item(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"3"}},"data":{{"a":"]}}\""}}}}"#)
}

fn end(version: u64, continue_token: Option<&str>) -> ListEnd {
    ListEnd {
        version: Some(version.into()),
        continue_token: continue_token.map(str::to_owned),
    }
}

fn names(items: &[Result<RawObject, Unreadable>]) -> Vec<&str> {
    items
        .iter()
        .map(|item| item.as_ref().unwrap().key.as_str())
        .collect()
}

#[test]
fn metadata_may_stand_before_or_behind_the_items() {
    let (a, b) = (item("a"), item("b"));
    let built_in = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9",
            "continue":"x","remainingItemCount":4}},"items":[{a},{b}]}}"#
    );
    let custom = format!(
        r#"{{"apiVersion":"a/v1","items":[ {a} , {b} ],"kind":"FooList",
            "metadata":{{"continue":"","resourceVersion":"9"}}}}"#
    );
    let (items, last) = parse([built_in.as_bytes()]).unwrap();
    assert_eq!((names(&items), last), (vec!["a", "b"], end(9, Some("x"))));
    let (items, last) = parse([custom.as_bytes()]).unwrap();
    assert_eq!((names(&items), last), (vec!["a", "b"], end(9, None)));
}

#[test]
fn a_list_is_the_same_wherever_it_is_cut_and_byte_by_byte() {
    let text = format!(
        r#"{{ "a\u0062":[1,{{}},"x"], "kind":"PodList","n":-1.5e3,"t":true,"items":[{},
           {{"metadata":{{"name":7}}}}, {} ], "metadata":{{"resourceVersion":"9"}}, "z":null }}  "#,
        item("a"),
        item("b")
    );
    let whole = outline(text.as_bytes(), text.len());
    assert!(
        whole.contains("a@3") && whole.contains("b@3") && whole.contains("string was expected")
    );
    for cut in 0..text.len() {
        assert_eq!(outline(text.as_bytes(), cut), whole, "cut at {cut}");
    }
    let (items, last) = parse(text.as_bytes().chunks(1)).unwrap();
    assert_eq!((items.len(), last), (3, end(9, None)));
}

#[test]
fn an_item_that_came_in_one_piece_is_not_copied() {
    let text = Bytes::from(format!(r#"{{"items":[{}]}}"#, item("a")));
    let mut labels = LabelPool::default();
    let items = ListParser::default()
        .push(text.clone(), &mut labels)
        .unwrap();
    let body = &items[0].as_ref().unwrap().body;
    assert!(text.as_ptr_range().contains(&body.as_ptr()));
}

#[test]
fn a_list_without_items_is_told_from_none() {
    let empty = |items: &str| parse([format!(r#"{{"items":{items}}}"#).as_bytes()]).unwrap();
    assert_eq!(empty("[]").0.len(), 0);
    assert_eq!(empty("null").0.len(), 0);
    assert_eq!(empty("null").1.version, None);
}

#[test]
fn what_is_no_list_is_refused_with_the_reason() {
    let cases = [
        (r#"{"kind":"Table","rows":[]}"#, "a table"),
        (r#"{"kind":"PodList","metadata":{}}"#, "no items"),
        (r#"{"items":{}}"#, "no array"),
        (r#"{"items":[1]}"#, "not the JSON of a list"),
        (
            r#"{"metadata":{"resourceVersion":7},"items":[]}"#,
            "metadata",
        ),
        (r#"{"items":[]} {}"#, "not the JSON of a list"),
        ("[]", "not the JSON of a list"),
        ("<html>", "not the JSON of a list"),
    ];
    for (text, reason) in cases {
        let error = parse([text.as_bytes()]).unwrap_err();
        assert!(matches!(&error, SourceError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_list_that_ends_too_early_is_a_lost_connection() {
    let text = format!(r#"{{"items":[{}],"metadata":{{}}}}"#, item("a"));
    for end in 0..text.len() {
        let error = parse([&text.as_bytes()[..end]]).unwrap_err();
        assert!(
            matches!(error, SourceError::Disconnected { .. }),
            "{end}: {error}"
        );
    }
}

#[test]
fn nothing_waits_for_its_end_beyond_the_bound() {
    let endless_item = br#"{"items":[{"a":""#.as_slice();
    let endless_name = br#"{""#.as_slice();
    for (begin, bound) in [
        (endless_item, FRAME_BYTES_MAX),
        (endless_name, TOKEN_BYTES_MAX),
    ] {
        let mut parser = ListParser::default();
        let mut labels = LabelPool::default();
        parser.push(Bytes::from_static(begin), &mut labels).unwrap();
        let piece = Bytes::from(vec![b'x'; bound / 4]);
        let refused = (0..5).find_map(|_| parser.push(piece.clone(), &mut labels).err());
        assert!(matches!(refused, Some(SourceError::Unreadable { .. })));
        assert!(parser.begun.len() <= bound * 2);
    }
}

proptest! {
    #[test]
    fn any_list_gives_the_same_wherever_it_is_cut(
        members in r#"("items":\[(\{("metadata":\{"name":"a"\})?\},?){0,3}\]|[a{}\[\]"\\,:]){0,9}"#,
        cut in 0_usize..100,
    ) {
        let text = format!("{{{members}}}");
        prop_assert_eq!(outline(text.as_bytes(), cut), outline(text.as_bytes(), text.len()));
    }
}
