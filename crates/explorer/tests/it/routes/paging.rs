//! Paging of every list.

use serde_json::{Value, json};

use crate::support::{Fixture, fixture::PAYMENTS};

const LISTS: [(&str, &str); 2] = [("/api/v1/blocks", "blocks"), ("/api/v1/transactions", "transactions")];

async fn page(fixture: &Fixture, path: &str, query: &str) -> Value {
    fixture.explorer.json(&format!("{path}?{query}")).await
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_list_has_its_total_and_the_page_and_limit_used() {
    let fixture = Fixture::shared().await;
    for (path, name) in LISTS {
        let list = fixture.explorer.json(path).await;
        let mut expected = vec![name, "total", "page", "limit", "firstIndexedBlock", "complete"];
        expected.sort_unstable();
        let mut found = keys(&list);
        found.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!((&list["page"], &list["limit"]), (&json!(1), &json!(25)));
        let third = page(&fixture, path, "page=3&limit=2").await;
        assert_eq!((&third["page"], &third["limit"], &third["total"]), (&json!(3), &json!(2), &list["total"]));
    }
}

#[tokio::test]
async fn a_page_has_25_entries_by_default() {
    let fixture = Fixture::shared().await;
    let list = fixture.explorer.json("/api/v1/transactions").await;
    assert_eq!(list["transactions"].as_array().unwrap().len(), 25);
}

#[tokio::test]
async fn a_limit_above_100_is_reduced_to_100() {
    let fixture = Fixture::shared().await;
    for limit in ["101", "1000", "18446744073709551616"] {
        let list = page(&fixture, "/api/v1/transactions", &format!("limit={limit}")).await;
        assert_eq!(list["limit"], 100);
        assert_eq!(list["transactions"].as_array().unwrap().len(), 100);
    }
}

#[tokio::test]
async fn pages_have_no_gaps_and_no_overlaps() {
    let fixture = Fixture::shared().await;
    let whole = page(&fixture, "/api/v1/transactions", "limit=100").await;
    let mut parts = Vec::new();
    for number in 1..=10 {
        let part = page(&fixture, "/api/v1/transactions", &format!("limit=10&page={number}")).await;
        parts.extend(part["transactions"].as_array().unwrap().clone());
    }
    assert_eq!(whole["transactions"], json!(parts));
}

#[tokio::test]
async fn a_page_past_the_end_is_empty_and_has_the_total() {
    let fixture = Fixture::shared().await;
    for (path, name) in LISTS {
        let total = fixture.explorer.json(path).await["total"].clone();
        for (asked, used) in [("1000000000", 1_000_000_000_u64), ("18446744073709551616", (1 << 53) - 1)] {
            let expected = json!({
                name: [], "total": total, "page": used, "limit": 100, "firstIndexedBlock": 0, "complete": true
            });
            assert_eq!(page(&fixture, path, &format!("limit=100&page={asked}")).await, expected);
        }
    }
    let path = format!("/api/v1/transactions?address={:#x}", fixture.frank);
    let expected = json!({
        "transactions": [], "total": PAYMENTS, "page": 1_000_000_000, "limit": 25, "firstIndexedBlock": 0, "complete": true
    });
    assert_eq!(fixture.explorer.json(&format!("{path}&page=1000000000")).await, expected);
}
