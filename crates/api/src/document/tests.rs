use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::OpenApi;

use super::{complete, write};
use crate::{error::tests::CODES, routes};

fn document() -> OpenApi {
    let mut document = routes::router().into_openapi();
    complete(&mut document);
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
fn it_is_openapi_3_1() {
    assert_eq!(written()["openapi"], "3.1.0");
}

#[test]
fn every_route_that_is_served_is_described() {
    let described: BTreeSet<String> = document().paths.paths.into_keys().collect();
    let served = [
        "/api/v1/addresses/{address}",
        "/api/v1/addresses/{address}/tokens",
        "/api/v1/blocks",
        "/api/v1/blocks/{numberOrHash}",
        "/api/v1/openapi.json",
        "/api/v1/query",
        "/api/v1/stats",
        "/api/v1/tokens",
        "/api/v1/tokens/{address}",
        "/api/v1/tokens/{address}/holders",
        "/api/v1/transactions",
        "/api/v1/transactions/{hash}",
        "/health",
        "/health/live",
        "/health/ready",
    ];
    assert_eq!(described, served.into_iter().map(str::to_owned).collect());
}

/// Axum does not list its routes except in its debug text, so that is where a route added past the document shows.
#[test]
fn no_route_is_served_without_being_described() {
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
    assert_eq!(listed, CODES.map(|code| code.text()));
}

#[test]
fn every_reference_leads_somewhere() {
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
    let document = written();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.contains("#/components/schemas/Problem"));
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

#[test]
fn every_operation_tells_its_failures_with_an_example() {
    let document = written();
    for (path, item) in document["paths"].as_object().unwrap() {
        let asks_the_store = !path.starts_with("/health") && path != "/api/v1/openapi.json";
        let statuses = if asks_the_store { &[414, 500, 503][..] } else { &[414, 500][..] };
        for status in statuses {
            for (method, operation) in item.as_object().unwrap() {
                let example = operation["responses"][status.to_string()]
                    .pointer("/content/application~1problem+json/examples")
                    .and_then(Value::as_object)
                    .and_then(|examples| examples.values().next());
                assert_eq!(example.unwrap()["value"]["status"], *status, "{method} {path}");
            }
        }
    }
}

#[test]
fn what_is_always_present_is_required_even_where_it_may_be_null() {
    let document = written();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let Some(properties) = schema["properties"].as_object() else { continue };
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().map(|field| field.as_str().unwrap()).collect();
        let optional: Vec<&str> =
            properties.keys().map(String::as_str).filter(|field| !required.contains(field)).collect();
        let expected: &[&str] = match name.as_str() {
            "Problem" => &["field"],
            "QueryRequest" => &["filter", "limit", "offset", "orderBy"],
            "QueryFilter" => &["address", "blockFrom", "blockNumber", "blockTo", "dex", "from", "to", "tokenAddress"],
            _ => &[],
        };
        assert_eq!(optional, expected, "{name}");
    }
}
