//! The routes in docs/api.md are those of the OpenAPI document, which a snapshot of `api` holds.

use std::collections::BTreeSet;

use repository::tables::rows;
use serde_json::Value;

use crate::files::read;

const SNAPSHOT: &str = "crates/api/src/document/snapshots/api__document__tests__the_document_is_the_committed_one.snap";

/// The document behind the head of the snapshot.
fn document() -> Value {
    let snapshot = read(SNAPSHOT);
    serde_json::from_str(&snapshot[snapshot.find("\n{").unwrap()..]).unwrap()
}

#[test]
fn the_routes_are_those_of_the_openapi_document() {
    let mut expected = BTreeSet::new();
    for (path, operations) in document()["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let summary = operation["summary"].as_str().unwrap();
            expected.insert(format!("| `{} {path}` | {summary} |", method.to_uppercase()));
        }
    }
    assert!(expected.len() > 40, "{} operations", expected.len());
    let methods = ["`GET ", "`POST ", "`PUT ", "`PATCH ", "`DELETE "];
    let documented: Vec<_> = rows(&read("docs/api.md"))
        .filter(|cells| methods.iter().any(|method| cells[0].starts_with(method)))
        .map(|cells| format!("| {} | {} |", cells[0], cells[1]))
        .collect();
    let unique: BTreeSet<_> = documented.iter().cloned().collect();
    assert_eq!(unique.len(), documented.len(), "a route is listed twice");
    let missing: Vec<_> = expected.difference(&unique).collect();
    let unknown: Vec<_> = unique.difference(&expected).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing in docs/api.md: {missing:#?}\nunknown: {unknown:#?}");
}
