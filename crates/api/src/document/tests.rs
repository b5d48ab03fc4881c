use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::OpenApi;

use super::{complete, write};
use crate::{OwnerAccess, error::ProblemCode, routes};

fn document() -> OpenApi {
    let mut document = routes::router().into_openapi();
    complete(&mut document, OwnerAccess::Guarded);
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
fn the_version_is_openapi_3_1() {
    assert_eq!(written()["openapi"], "3.1.0");
}

#[test]
fn the_document_has_all_routes() {
    let described: BTreeSet<String> = document().paths.paths.into_keys().collect();
    let served = [
        "/api/v1/accounts",
        "/api/v1/addresses/{address}",
        "/api/v1/addresses/{address}/approvals",
        "/api/v1/addresses/{address}/balance-history",
        "/api/v1/addresses/{address}/nfts",
        "/api/v1/addresses/{address}/tokens",
        "/api/v1/blocks",
        "/api/v1/blocks/{numberOrHash}",
        "/api/v1/contracts",
        "/api/v1/contracts/{address}",
        "/api/v1/contracts/{address}/call",
        "/api/v1/contracts/{address}/devdoc",
        "/api/v1/contracts/{address}/metadata",
        "/api/v1/contracts/{address}/standard-json",
        "/api/v1/contracts/{address}/storage-layout",
        "/api/v1/contracts/{address}/userdoc",
        "/api/v1/internal-transactions",
        "/api/v1/keys",
        "/api/v1/keys/{id}",
        "/api/v1/logs",
        "/api/v1/openapi.json",
        "/api/v1/query",
        "/api/v1/stats",
        "/api/v1/stats/days",
        "/api/v1/stats/gas",
        "/api/v1/stream",
        "/api/v1/tokens",
        "/api/v1/tokens/{address}",
        "/api/v1/tokens/{address}/holders",
        "/api/v1/tokens/{address}/ids",
        "/api/v1/tokens/{address}/ids/{id}",
        "/api/v1/tokens/{address}/ids/{id}/holders",
        "/api/v1/tokens/{address}/ids/{id}/image",
        "/api/v1/tokens/{address}/ids/{id}/metadata",
        "/api/v1/tokens/{address}/ids/{id}/transfers",
        "/api/v1/transactions",
        "/api/v1/transactions/{hash}",
        "/api/v1/transactions/{hash}/calls",
        "/api/v1/transactions/{hash}/state-changes",
        "/api/v1/transactions/{hash}/trades",
        "/api/v1/transactions/{hash}/transfers",
        "/api/v1/verify",
        "/api/v1/verify/compilers",
        "/api/v1/verify/jobs/{id}",
        "/api/v1/webhooks",
        "/api/v1/webhooks/{id}",
        "/api/v1/webhooks/{id}/deliveries",
        "/api/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver",
        "/api/v1/webhooks/{id}/ping",
        "/api/v1/webhooks/{id}/rotate-secret",
        "/health",
        "/health/live",
        "/health/ready",
    ];
    assert_eq!(described, served.into_iter().map(str::to_owned).collect());
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
fn every_operation_has_examples_of_its_failures() {
    let document = written();
    for (path, item) in document["paths"].as_object().unwrap() {
        let uses_the_store = !path.starts_with("/health") && path != "/api/v1/openapi.json";
        let statuses = if uses_the_store { &[401, 414, 429, 500, 503][..] } else { &[414, 500][..] };
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
fn fields_that_are_always_present_are_required_even_if_nullable() {
    let document = written();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let Some(properties) = schema["properties"].as_object() else { continue };
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().map(|field| field.as_str().unwrap()).collect();
        let optional: Vec<&str> =
            properties.keys().map(String::as_str).filter(|field| !required.contains(field)).collect();
        let expected: &[&str] = match name.as_str() {
            "Problem" => &["field"],
            query if query.ends_with("Query") => &["filter", "limit", "offset", "orderBy"],
            "NewKey" => &["label"],
            "CallRequest" => &["args", "blockNumber", "from"],
            "VerifyRequest" => &[
                "constructorArguments",
                "contractName",
                "evmVersion",
                "libraries",
                "license",
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
fn every_example_of_a_problem_has_the_status_of_its_response() {
    let document = written();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (status, response) in
            item.as_object().unwrap().values().flat_map(|operation| operation["responses"].as_object().unwrap())
        {
            let examples = response.pointer("/content/application~1problem+json/examples").and_then(Value::as_object);
            for (code, example) in examples.into_iter().flatten() {
                assert_eq!(example["value"]["status"].to_string(), *status, "{path} {code}");
            }
        }
    }
}

#[test]
fn every_response_of_the_api_documents_the_rate_limit_headers() {
    let document = written();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let is_documented = response["headers"].get("X-RateLimit-Remaining").is_some();
                assert_eq!(is_documented, path.starts_with("/api/"), "{path} {status}");
            }
        }
    }
}

#[test]
fn a_key_is_required_only_by_operations_on_an_owners_resources() {
    for (access, expected) in [
        (
            OwnerAccess::Guarded,
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
        complete(&mut document, access);
        let document: Value = serde_json::from_slice(&write(&document)).unwrap();
        let mut found = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let requirements = operation["security"].as_array().cloned().unwrap_or_default();
                if !requirements.is_empty() && !requirements.contains(&serde_json::json!({})) {
                    found.insert(format!("{method} {path}"));
                }
            }
        }
        assert_eq!(found, expected.iter().map(|operation| (*operation).to_owned()).collect());
    }
}
