use std::{collections::BTreeSet, num::NonZeroU32};

use serde_json::Value;
use utoipa::openapi::OpenApi;

use super::{complete, state_limits, write};
use crate::{OwnerAccess, error::ProblemCode, routes};

fn document() -> OpenApi {
    let mut document = routes::router().into_openapi();
    complete(&mut document, OwnerAccess::Guarded, &routes::index_resources());
    state_limits(&mut document, NonZeroU32::new(10));
    document
}

fn written() -> Value {
    serde_json::from_slice(&write(&document())).unwrap()
}

#[test]
fn the_document_is_the_committed_one() {
    let mut document = written();
    document["info"]["version"] = "[version]".into();
    insta::assert_json_snapshot!(document);
}

#[test]
fn the_document_tells_the_configured_limit() {
    let description = |requests| {
        let mut document = routes::router().into_openapi();
        state_limits(&mut document, NonZeroU32::new(requests));
        document.info.description.unwrap()
    };
    assert!(description(1_500).contains("the rate limit is 1500 requests in any 60 seconds per IPv4"));
    assert!(description(0).contains("Without a key, there is no rate limit per IPv4"));
}

/// Generators and readers load all of it.
#[test]
fn the_document_has_at_most_150000_bytes() {
    let length = write(&document()).len();
    assert!(length <= 150_000, "{length} bytes: share what repeats");
}

/// Axum lists its routes only in its debug text.
#[test]
fn no_route_is_missing_in_the_document() {
    let (router, document) = routes::router().split_for_parts();
    let shown = format!("{router:?}");
    let served = shown.matches("MethodRouter {").count();
    assert!(served > 0, "{shown}");
    assert_eq!(served, document.paths.paths.len(), "{shown}");
}

#[test]
fn every_problem_code_is_listed() {
    let document = written();
    let listed: Vec<&str> = document["components"]["schemas"]["ProblemCode"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|code| code.as_str().unwrap())
        .collect();
    let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.text()).collect();
    assert_eq!(listed, codes);
}

#[test]
fn every_reference_has_a_target() {
    let document = written();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// The parts of a schema are the types that serde flattens into one object: a name in two of them would be written twice.
#[test]
fn no_object_has_a_field_twice() {
    let document = written();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let mut fields = Vec::new();
        collect_fields(&document, schema, &mut fields);
        let unique: BTreeSet<&str> = fields.iter().copied().collect();
        assert_eq!(unique.len(), fields.len(), "{name} has one of {fields:?} twice");
    }
}

fn collect_fields<'a>(document: &'a Value, schema: &'a Value, fields: &mut Vec<&'a str>) {
    if let Some(reference) = schema["$ref"].as_str() {
        collect_fields(document, document.pointer(reference.trim_start_matches('#')).unwrap(), fields);
    }
    fields.extend(schema["properties"].as_object().into_iter().flat_map(|own| own.keys().map(String::as_str)));
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect_fields(document, part, fields);
    }
}

#[test]
fn every_component_is_used() {
    let document = written();
    let mut used = BTreeSet::new();
    references(&document, &mut used);
    for (kind, components) in document["components"].as_object().unwrap() {
        for name in components.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            assert!(used.contains(&format!("#/components/{kind}/{name}")), "{kind} {name}");
        }
    }
}

#[test]
fn what_several_operations_have_is_a_component() {
    let mut seen = BTreeSet::new();
    for (path, _, operation) in operations(&written()) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let problems = operation["responses"].as_object().unwrap().values().filter(|response| {
            response.pointer("/content/application~1problem+json").is_some() || response.get("content").is_none()
        });
        for shared in parameters.chain(problems).filter(|shared| shared.get("$ref").is_none()) {
            assert!(seen.insert(shared.to_string()), "{path}: {shared}");
        }
    }
}

#[test]
fn every_operation_has_the_problems_that_any_may_return() {
    for (path, method, operation) in operations(&written()) {
        let is_limited = path.starts_with("/api/") && path != "/api/v1/openapi.json";
        let expected = if is_limited { "Other" } else { "OtherFailure" };
        let reference = format!("#/components/responses/{expected}");
        assert_eq!(operation["responses"]["default"]["$ref"], reference, "{method} {path}");
    }
}

/// Generators take a field with a default for one that is always there, although clients need not send it.
#[test]
fn no_field_has_a_default_of_its_own() {
    for (name, schema) in written()["components"]["schemas"].as_object().unwrap() {
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            assert!(schema.get("default").is_none(), "{name} {field}");
        }
    }
}

#[test]
fn fields_that_are_always_present_are_required_even_if_nullable() {
    let document = written();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let Some(properties) = schema["properties"].as_object() else { continue };
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().map(|field| field.as_str().unwrap()).collect();
        let optional: Vec<&str> =
            properties.keys().map(String::as_str).filter(|field| !required.contains(field)).collect();
        let expected: &[&str] = match name.as_str() {
            "Problem" => &["address", "field", "success"],
            query if query.ends_with("Query") => &["filter", "limit", "offset", "orderBy"],
            "NewKey" => &["label"],
            "CallRequest" => &["args", "blockNumber", "from"],
            "VerifyRequest" => &[
                "constructorArguments",
                "contractName",
                "evmVersion",
                "libraries",
                "license",
                "optimizationUsed",
                "optimizer",
                "runs",
                "viaIR",
            ],
            // Of Vyper.
            "StandardJsonInput" => &["interfaces", "storage_layout_overrides"],
            "NewWebhook" => &["eventTypes", "watchAddress"],
            "WebhookChange" => &["active", "eventTypes", "url"],
            _ => &[],
        };
        assert_eq!(optional, expected, "{name}");
    }
}

#[test]
fn a_key_is_required_only_by_operations_on_an_owners_resources() {
    for (access, expected) in [
        (
            // A client from elsewhere needs one.
            OwnerAccess::Auto,
            &[
                "delete /api/v1/keys/{id}",
                "get /api/v1/keys",
                "delete /api/v1/webhooks/{id}",
                "get /api/v1/webhooks",
                "get /api/v1/webhooks/{id}/deliveries",
                "patch /api/v1/webhooks/{id}",
                "post /api/v1/webhooks",
                "post /api/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver",
                "post /api/v1/webhooks/{id}/ping",
                "post /api/v1/webhooks/{id}/rotate-secret",
            ][..],
        ),
        (OwnerAccess::Open, &["delete /api/v1/keys/{id}"]),
    ] {
        let mut document = routes::router().into_openapi();
        complete(&mut document, access, &routes::index_resources());
        let document: Value = serde_json::from_slice(&write(&document)).unwrap();
        let mut found = BTreeSet::new();
        for (path, method, operation) in operations(&document) {
            let requirements = operation.get("security").unwrap_or(&document["security"]).as_array().unwrap();
            if !requirements.is_empty() && !requirements.contains(&serde_json::json!({})) {
                found.insert(format!("{method} {path}"));
            }
        }
        assert_eq!(found, expected.iter().map(|operation| (*operation).to_owned()).collect());
    }
}

/// Path, method and operation.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| {
        let operations = item.as_object().unwrap().iter();
        operations.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}
