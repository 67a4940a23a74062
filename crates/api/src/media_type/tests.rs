use super::*;
use crate::query::tests::pairs;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn negotiate(accept: &str, answer: Answer) -> Result<Representation, Status> {
    let preferences = Preferences {
        accept,
        user_agent: "",
        query: Query::new(&[]),
    };
    preferences.negotiate(answer, Origin::BuiltIn)
}

fn encoding(accept: &str) -> Encoding {
    negotiate(accept, Answer::Object).unwrap().encoding
}

fn transform(accept: &str, answer: Answer) -> Transform {
    negotiate(accept, answer).unwrap().transform
}

fn refused(accept: &str, answer: Answer, origin: Origin) -> String {
    let preferences = Preferences {
        accept,
        user_agent: "",
        query: Query::new(&[]),
    };
    let status = preferences.negotiate(answer, origin).unwrap_err();
    assert_eq!(status.http_code(), 406);
    status.message
}

#[test]
fn the_most_wanted_encoding_that_is_served_wins() {
    for accept in [
        "",
        "*/*",
        "application/*",
        "application/json",
        "text/html, */*;q=0.1",
    ] {
        assert_eq!(encoding(accept), Encoding::Json, "{accept}");
    }
    assert_eq!(encoding("application/yaml"), Encoding::Yaml);
    assert_eq!(
        encoding("application/json;q=0.5,application/yaml"),
        Encoding::Yaml
    );
    assert_eq!(
        encoding("application/vnd.kubernetes.protobuf,application/json"),
        Encoding::Protobuf
    );
    assert_eq!(encoding("application/json;stream=watch"), Encoding::Json);
    assert_eq!(
        encoding("application/vnd.kubernetes.protobuf;stream=watch"),
        Encoding::Protobuf
    );
}

#[test]
fn an_unknown_type_is_refused_with_all_representations() {
    let expected = "406: Not Acceptable\n\nAvailable representations: application/json, \
        application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, \
        application/vnd.kubernetes.protobuf;stream=watch";
    assert_eq!(
        refused("application/xyz", Answer::List, Origin::BuiltIn),
        expected
    );
    let expected = "406: Not Acceptable\n\nAvailable representations: application/json, \
        application/yaml, application/vnd.kubernetes.protobuf";
    assert_eq!(
        refused("application/xyz", Answer::Object, Origin::BuiltIn),
        expected
    );
    let expected = "only the following media types are accepted: application/json, \
                    application/yaml, application/vnd.kubernetes.protobuf";
    assert_eq!(
        refused("application/xyz", Answer::List, Origin::Custom),
        expected
    );
}

#[test]
fn a_watch_is_never_yaml() {
    let expected = "only the following media types are accepted: application/json;stream=watch, \
                    application/vnd.kubernetes.protobuf;stream=watch";
    assert_eq!(
        refused("application/yaml", Answer::Watch, Origin::BuiltIn),
        expected
    );
}

#[test]
fn a_table_is_asked_for_by_parameters() {
    let table = Transform::Table {
        version: MetaVersion::V1,
        include: IncludeObject::Metadata,
    };
    for answer in [Answer::Object, Answer::List, Answer::Watch] {
        assert_eq!(transform(TABLE, answer), table);
    }
    let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                   application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    assert_eq!(transform(kubectl, Answer::List), table);
    let beta = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
    let version = MetaVersion::V1Beta1;
    let expected = Transform::Table {
        version,
        include: IncludeObject::Metadata,
    };
    assert_eq!(transform(beta, Answer::List), expected);
    let fallback = "application/json;as=Table;v=v9;g=meta.k8s.io,application/json";
    assert_eq!(transform(fallback, Answer::List), Transform::None);
}

#[test]
fn a_table_in_protobuf_is_refused() {
    let expected = "only the following media types are accepted: application/json, \
                    application/yaml, application/vnd.kubernetes.protobuf";
    let accept = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
    assert_eq!(refused(accept, Answer::List, Origin::BuiltIn), expected);
}

#[test]
fn custom_resources_are_protobuf_in_their_metadata_only() {
    let expected = "only the following media types are accepted: application/json, \
                    application/yaml, application/vnd.kubernetes.protobuf";
    let accept = "application/vnd.kubernetes.protobuf";
    assert_eq!(refused(accept, Answer::List, Origin::Custom), expected);
    let negotiate = |accept| {
        let preferences = Preferences {
            accept,
            user_agent: "",
            query: Query::new(&[]),
        };
        let chosen = preferences.negotiate(Answer::Watch, Origin::Custom);
        chosen.unwrap().encoding
    };
    assert_eq!(
        negotiate("application/vnd.kubernetes.protobuf,application/json"),
        Encoding::Json
    );
    let metadata =
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    assert_eq!(negotiate(metadata), Encoding::Protobuf);
}

#[test]
fn metadata_is_asked_for_in_the_plural_for_lists() {
    let one = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let many = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let metadata = Transform::PartialObjectMetadata {
        version: MetaVersion::V1,
    };
    assert_eq!(transform(one, Answer::Object), metadata);
    assert_eq!(transform(one, Answer::Watch), metadata);
    assert_eq!(transform(many, Answer::List), metadata);
    assert!(refused(one, Answer::List, Origin::BuiltIn).ends_with("is a list"));
    assert!(refused(many, Answer::Object, Origin::BuiltIn).ends_with("is not a list"));
}

#[test]
fn what_stands_beside_a_row_is_a_parameter() {
    let include = |text: &str| {
        let pairs = pairs(text);
        let query = Query::new(&pairs);
        let preferences = Preferences {
            accept: TABLE,
            user_agent: "",
            query,
        };
        preferences.negotiate(Answer::List, Origin::BuiltIn)
    };
    let expected = Transform::Table {
        version: MetaVersion::V1,
        include: IncludeObject::None,
    };
    assert_eq!(include("includeObject=None").unwrap().transform, expected);
    let status = include("includeObject=foo").unwrap_err();
    let expected = "Unable to convert to Table as requested: includeObject: Invalid value: \
                    \"foo\": must be 'Metadata', 'Object', 'None', or empty";
    assert_eq!(
        (status.http_code(), status.message.as_str()),
        (400, expected)
    );
}

#[test]
fn people_get_indented_answers() {
    let layout = |user_agent, text: &str, accept| {
        let pairs = pairs(text);
        let preferences = Preferences {
            accept,
            user_agent,
            query: Query::new(&pairs),
        };
        preferences
            .negotiate(Answer::Object, Origin::BuiltIn)
            .unwrap()
            .layout
    };
    assert_eq!(layout("kubectl/v1", "", ""), Layout::Compact);
    assert_eq!(layout("curl/8", "", ""), Layout::Indented);
    assert_eq!(layout("curl/8", "pretty=false", ""), Layout::Compact);
    assert_eq!(layout("", "pretty=true", ""), Layout::Indented);
    assert_eq!(layout("", "pretty=yes", ""), Layout::Compact);
    assert_eq!(
        layout("", "", "application/json;pretty=1"),
        Layout::Indented
    );
}

#[test]
fn a_refusal_always_has_a_form() {
    let form = |accept| {
        let preferences = Preferences {
            accept,
            user_agent: "",
            query: Query::new(&[]),
        };
        let representation = preferences.negotiate_refusal();
        (representation.encoding, representation.layout)
    };
    assert_eq!(form(""), (Encoding::Json, Layout::Compact));
    assert_eq!(form("application/yaml"), (Encoding::Yaml, Layout::Compact));
    assert_eq!(form("application/xyz"), (Encoding::Json, Layout::Indented));
    assert_eq!(form(TABLE), (Encoding::Json, Layout::Indented));
    assert_eq!(
        form("application/vnd.kubernetes.protobuf"),
        (Encoding::Protobuf, Layout::Compact)
    );
}

#[test]
fn discovery_is_aggregated_when_asked_for() {
    let form = |accept| {
        let preferences = Preferences {
            accept,
            user_agent: "",
            query: Query::new(&[]),
        };
        preferences.negotiate_discovery().map(|(form, _)| form)
    };
    let client_go = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
        application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    assert_eq!(form(client_go), Ok(DiscoveryForm::AggregatedV2));
    let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    assert_eq!(form(beta), Ok(DiscoveryForm::AggregatedV2Beta1));
    assert_eq!(form("*/*"), Ok(DiscoveryForm::Plain));
    assert_eq!(form("text/html").unwrap_err().http_code(), 406);
}

#[test]
fn bodies_are_json_yaml_or_protobuf() {
    let parse = BodyEncoding::parse;
    assert_eq!(parse(""), Ok(BodyEncoding::Json));
    assert_eq!(
        parse("Application/JSON; charset=utf-8"),
        Ok(BodyEncoding::Json)
    );
    assert_eq!(parse("application/yaml"), Ok(BodyEncoding::Yaml));
    assert_eq!(
        parse("application/vnd.kubernetes.protobuf"),
        Ok(BodyEncoding::Protobuf)
    );
    let expected = "the body of the request was in an unknown format - accepted media types \
        include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let status = parse("text/foo").unwrap_err();
    assert_eq!(
        (status.http_code(), status.message.as_str()),
        (415, expected)
    );
}

#[test]
fn patches_have_four_types() {
    let parse = |text| PatchType::parse(text, Origin::BuiltIn);
    assert_eq!(parse("application/json-patch+json"), Ok(PatchType::Json));
    assert_eq!(
        parse("application/merge-patch+json;charset=utf-8"),
        Ok(PatchType::Merge)
    );
    let strategic = "application/strategic-merge-patch+json";
    assert_eq!(parse(strategic), Ok(PatchType::StrategicMerge));
    let yaml = PatchType::Apply(ApplySyntax::Yaml);
    assert_eq!(parse("application/apply-patch+yaml"), Ok(yaml));
    let cbor = PatchType::Apply(ApplySyntax::Cbor);
    assert_eq!(parse("application/apply-patch+cbor"), Ok(cbor));
    assert_eq!(
        parse("application/json"),
        Err(Status::unsupported_patch_type())
    );
    let custom = PatchType::parse(strategic, Origin::Custom).unwrap_err();
    let expected = "the body of the request was in an unknown format - accepted media types \
        include: application/json-patch+json, application/merge-patch+json, \
        application/apply-patch+yaml";
    assert_eq!(custom.message, expected);
}

#[test]
fn openapi_is_protobuf_when_asked_for() {
    let form = |accept| {
        let preferences = Preferences {
            accept,
            user_agent: "",
            query: Query::new(&[]),
        };
        preferences.negotiate_openapi()
    };
    for accept in ["", "*/*", "application/json", "text/html,application/json"] {
        assert_eq!(form(accept), Some(OpenApiForm::Json), "{accept}");
    }
    for accept in OPENAPI_PROTOBUF {
        assert_eq!(form(accept), Some(OpenApiForm::Protobuf));
    }
    assert_eq!(form("application/yaml"), None);
}

#[test]
fn cbor_is_served_to_those_who_ask_for_it_and_named_to_nobody() {
    let accept = "application/json;q=0.9,application/cbor;q=1";
    assert_eq!(encoding(accept), Encoding::Cbor);
    for (accept, answer) in [
        ("application/cbor", Answer::Watch),
        ("application/cbor;as=Table;g=meta.k8s.io;v=v1", Answer::List),
    ] {
        let chosen = negotiate(accept, answer).unwrap().encoding;
        assert_eq!(chosen, Encoding::Cbor, "{accept}");
    }
    assert_eq!(Encoding::Cbor.stream_type(), "application/cbor-seq");
    assert_eq!(encoding("application/*"), Encoding::Json);
    let refusal = refused("text/html", Answer::Object, Origin::BuiltIn);
    assert!(!refusal.contains("cbor"), "{refusal}");
    let body = BodyEncoding::parse("application/cbor");
    assert_eq!(body, Ok(BodyEncoding::Cbor));
}
