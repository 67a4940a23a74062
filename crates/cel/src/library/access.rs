//! Questions about who may do what, put together step by step and asked at the end.

use std::sync::Arc;

use super::{Function, fail, unfit};
use crate::value::{
    AccessCheck, AccessDecision, AuthorizerValue, Check, Outcome, ResourceCheck, Subject, Value,
};

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "authorizer_path" => |arguments| match arguments {
            [Value::Authorizer(_), Value::String(path)] if path.trim().is_empty() => {
                fail("path must not be empty")
            }
            [Value::Authorizer(asked), Value::String(path)] => {
                Ok(Value::PathCheck(asked.clone(), (**path).into()))
            }
            _ => unfit(),
        },
        "authorizer_group" => |arguments| match arguments {
            [Value::Authorizer(asked), Value::String(group)] => {
                Ok(Value::GroupCheck(asked.clone(), (**group).into()))
            }
            _ => unfit(),
        },
        "authorizer_serviceaccount" => service_account,
        "groupcheck_resource" => resource,
        "resourcecheck_subresource" => {
            |arguments| narrowed(arguments, |check, text| check.subresource = text)
        }
        "resourcecheck_namespace" => {
            |arguments| narrowed(arguments, |check, text| check.namespace = text)
        }
        "resourcecheck_name" => |arguments| narrowed(arguments, |check, text| check.name = text),
        "authorizer_fieldselector" => {
            |arguments| narrowed(arguments, |check, text| check.field_selector = text)
        }
        "authorizer_labelselector" => {
            |arguments| narrowed(arguments, |check, text| check.label_selector = text)
        }
        "pathcheck_check" | "resourcecheck_check" => ask,
        "decision_allowed" => |arguments| {
            decided(arguments, |decision| {
                Value::Bool(matches!(decision, AccessDecision::Allowed { .. }))
            })
        },
        "decision_errored" => |arguments| {
            decided(arguments, |decision| {
                Value::Bool(matches!(decision, AccessDecision::Failed { .. }))
            })
        },
        "decision_error" => |arguments| {
            decided(arguments, |decision| match decision {
                AccessDecision::Failed { error } => Value::from(error.clone()),
                _ => Value::from(String::new()),
            })
        },
        "decision_reason" => |arguments| {
            decided(arguments, |decision| match decision {
                AccessDecision::Allowed { reason } | AccessDecision::Denied { reason } => {
                    Value::from(reason.clone())
                }
                AccessDecision::Failed { .. } => Value::from(String::new()),
            })
        },
        _ => return None,
    })
}

fn is_dns_name(text: &str, parts: fn(&str) -> Vec<&str>) -> bool {
    let label = |part: &&str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty()
            && part.bytes().all(inner)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= 253 && parts(text).iter().all(label)
}

fn service_account<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [
        Value::Authorizer(asked),
        Value::String(namespace),
        Value::String(name),
    ] = arguments
    else {
        return unfit();
    };
    if !is_dns_name(name, |text| text.split('.').collect()) {
        return fail("Invalid service account name");
    }
    if namespace.len() > 63 || !is_dns_name(namespace, |text| vec![text]) {
        return fail("Invalid service account namespace");
    }
    let subject = Subject::ServiceAccount {
        namespace: namespace.to_string(),
        name: name.to_string(),
    };
    Ok(Value::Authorizer(AuthorizerValue {
        authorizer: asked.authorizer,
        subject: Arc::new(subject),
    }))
}

fn resource<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::GroupCheck(..), Value::String(resource)] if resource.trim().is_empty() => {
            fail("resource must not be empty")
        }
        [Value::GroupCheck(asked, group), Value::String(resource)] => {
            let check = ResourceCheck {
                group: group.to_string(),
                resource: resource.to_string(),
                ..Default::default()
            };
            Ok(Value::ResourceCheck(asked.clone(), Arc::new(check)))
        }
        _ => unfit(),
    }
}

fn narrowed<'a>(arguments: &[Value<'a>], narrow: fn(&mut ResourceCheck, String)) -> Outcome<'a> {
    let [Value::ResourceCheck(asked, check), Value::String(text)] = arguments else {
        return unfit();
    };
    let mut check = (**check).clone();
    narrow(&mut check, text.to_string());
    Ok(Value::ResourceCheck(asked.clone(), Arc::new(check)))
}

fn ask<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (asked, check, verb) = match arguments {
        [Value::PathCheck(asked, path), Value::String(verb)] => {
            (asked, Check::Path(path.to_string()), verb)
        }
        [Value::ResourceCheck(asked, check), Value::String(verb)] => {
            (asked, Check::Resource((**check).clone()), verb)
        }
        _ => return unfit(),
    };
    let check = AccessCheck {
        verb: verb.to_string(),
        check,
    };
    Ok(Value::Decision(Arc::new(
        asked.authorizer.authorize(&asked.subject, &check),
    )))
}

fn decided<'a>(
    arguments: &[Value<'a>],
    tell: fn(&AccessDecision) -> Value<'static>,
) -> Outcome<'a> {
    match arguments {
        [Value::Decision(decision)] => Ok(tell(decision)),
        _ => unfit(),
    }
}
