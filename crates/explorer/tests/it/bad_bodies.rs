//! Invalid query bodies: each gets a problem document that says what is wrong, and the client can read it.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::Fixture;

const TIMEOUT: Duration = Duration::from_secs(20);

async fn assert_refused(fixture: &Fixture, body: String, code: &str, field: Option<&str>, words: &str) {
    let shown: String = body.chars().take(80).collect();
    let answer = fixture.explorer.client().try_query(body).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (400, Some(code)), "{shown}: {}", answer.json);
    assert_eq!(answer.header("content-type"), "application/problem+json", "{shown}");
    assert_eq!(answer.json["field"].as_str(), field, "{shown}: {}", answer.json);
    let detail = answer.json["detail"].as_str().unwrap();
    assert!(detail.contains(words), "{shown}: {detail}");
    assert!(detail.len() < 400, "an answer does not grow with the question: {detail}");
}

fn assert_nothing_broke(fixture: &Fixture) {
    let log = fixture.explorer.log();
    assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
}

#[tokio::test]
async fn a_body_that_is_not_a_json_object_is_malformed() {
    let fixture = Fixture::shared().await;
    for (body, words) in [
        ("", "EOF"),
        ("entity=blocks", "not JSON"),
        ("{\"entity\":\"blocks\"", "EOF"),
        ("{\"entity\":\"blocks\"}}", "trailing"),
        ("{'entity':'blocks'}", "not JSON"),
        ("{\"entity\":\"blocks\",}", "not JSON"),
        ("{\"entity\":NaN}", "not JSON"),
        ("\u{feff}{\"entity\":\"blocks\"}", "not JSON"),
        ("[]", "must be a JSON object"),
        ("[{\"entity\":\"blocks\"}]", "must be a JSON object"),
        ("\"blocks\"", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("17", "must be a JSON object"),
    ] {
        assert_refused(&fixture, body.to_owned(), "malformed_body", None, words).await;
    }
    let answer = fixture.explorer.client().try_query(&b"{\"entity\":\"\xff\xfe\"}"[..]).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (400, Some("malformed_body")), "{}", answer.json);
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn a_wrong_type_or_value_is_rejected_with_the_field_name() {
    let fixture = Fixture::shared().await;
    let entities = "transactions, blocks, tokens, token_transfers, dex_trades";
    for (body, field, words) in [
        (json!({}), "entity", entities),
        (json!({ "entity": "Blocks" }), "entity", entities),
        (json!({ "entity": ["blocks"] }), "entity", entities),
        (json!({ "entity": "blocks", "filter": [] }), "filter", "must be an object"),
        (json!({ "entity": "blocks", "filter": "blockFrom" }), "filter", "must be an object"),
        (json!({ "entity": "blocks", "filter": { "blockFrom": -1 } }), "filter.blockFrom", "whole number"),
        (json!({ "entity": "blocks", "filter": { "blockTo": "latest" } }), "filter.blockTo", "whole number"),
        (json!({ "entity": "transactions", "filter": { "from": 1 } }), "filter.from", "40 hexadecimal digits"),
        (json!({ "entity": "dex_trades", "filter": { "dex": {} } }), "filter.dex", "name of an exchange"),
        (json!({ "entity": "blocks", "orderBy": "DESC " }), "orderBy", "asc or desc"),
        (json!({ "entity": "blocks", "orderBy": "DESC" }), "orderBy", "asc or desc"),
        (json!({ "entity": "blocks", "orderBy": true }), "orderBy", "asc or desc"),
        (json!({ "entity": "blocks", "limit": 0 }), "limit", "at least 1"),
        (json!({ "entity": "blocks", "limit": -5 }), "limit", "at least 1"),
        (json!({ "entity": "blocks", "limit": "10" }), "limit", "whole number"),
        (json!({ "entity": "blocks", "limit": 1.5 }), "limit", "whole number"),
        (json!({ "entity": "blocks", "limit": [10] }), "limit", "whole number"),
        (json!({ "entity": "blocks", "offset": -1 }), "offset", "at least 0"),
        (json!({ "entity": "blocks", "offset": -1e300 }), "offset", "at least 0"),
        (json!({ "entity": "blocks", "offset": "0" }), "offset", "whole number"),
    ] {
        assert_refused(&fixture, body.to_string(), "invalid_parameter", Some(field), words).await;
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn unknown_fields_are_rejected_by_name() {
    let fixture = Fixture::shared().await;
    let long = "x".repeat(10_000);
    let shown = format!("{}...", &long[..64]);
    for (body, code, field, words) in [
        (json!({ "entity": "blocks", "page": 1 }), "unknown_field", "page", "entity, filter, orderBy, limit, offset"),
        (json!({ "entity": "blocks", long.as_str(): 1 }), "unknown_field", &shown, "entity, filter"),
        (
            json!({ "entity": "blocks", "filter": { "miner": 1 } }),
            "unknown_field",
            "filter.miner",
            "blockFrom, blockTo",
        ),
        (
            json!({ "entity": "blocks", "filter": { "address": null } }),
            "filter_not_offered",
            "filter.address",
            "offered are blockFrom, blockTo",
        ),
        (
            json!({ "entity": "tokens", "filter": { "tokenAddress": "0x" } }),
            "filter_not_offered",
            "filter.tokenAddress",
            "offered are none",
        ),
    ] {
        assert_refused(&fixture, body.to_string(), code, Some(field), words).await;
    }
    let twice = "{\"entity\":\"blocks\",\"limit\":1,\"limit\":2}".to_owned();
    assert_refused(&fixture, twice, "repeated_parameter", Some("limit"), "more than once").await;
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn nesting_of_any_depth_is_rejected_with_the_field_name() {
    let fixture = Fixture::shared().await;
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    assert_refused(&fixture, deep.clone(), "malformed_body", None, "must be a JSON object").await;
    assert_refused(&fixture, "{\"filter\":".repeat(6_000), "malformed_body", None, "EOF").await;
    for (body, code, field) in [
        (format!("{{\"entity\":{deep}}}"), "invalid_parameter", "entity"),
        (format!("{{\"entity\":\"blocks\",\"filter\":{deep}}}"), "invalid_parameter", "filter"),
        (format!("{{\"entity\":\"blocks\",\"filter\":{{\"blockTo\":{deep}}}}}"), "invalid_parameter", "filter.blockTo"),
        (format!("{{\"entity\":\"blocks\",\"more\":{deep}}}"), "unknown_field", "more"),
    ] {
        assert_refused(&fixture, body, code, Some(field), field).await;
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn a_huge_offset_is_past_the_end_and_a_huge_limit_is_100() {
    let fixture = Fixture::shared().await;
    for huge in ["9007199254740993", "18446744073709551616", "1e300", &"9".repeat(1_000)] {
        let body = format!("{{\"entity\":\"blocks\",\"limit\":{huge},\"offset\":{huge}}}");
        let answer = fixture.explorer.client().try_query(body).await.ok();
        assert_eq!((&answer["count"], &answer["data"], &answer["limit"]), (&json!(0), &json!([]), &json!(100)));
        assert!(answer["total"].as_u64().unwrap() > 0, "{answer}");
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn a_body_that_is_not_sent_as_json_is_415() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonl"] {
        let request = client.request("POST", "/api/v1/query").header("Content-Type", kind);
        let answer = client.send(request.body(json!({ "entity": "blocks" }).to_string())).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (415, Some("unsupported_media_type")), "{kind}");
    }
}

#[tokio::test]
async fn a_client_that_sends_a_megabyte_can_read_the_413() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    for _ in 0..10 {
        for body in ["x".repeat(1_000_000), "[".repeat(1_000_000), "x".repeat(65_537), "x".repeat(4_000_000)] {
            let answer = client.try_query(body).await;
            assert_eq!((answer.status, answer.json["code"].as_str()), (413, Some("body_too_large")));
            assert!(answer.json["detail"].as_str().unwrap().contains("65536"), "{}", answer.json);
            assert_eq!(answer.header("content-type"), "application/problem+json");
        }
    }
    assert_nothing_broke(&fixture);
}

struct Connection(TcpStream);

impl Connection {
    async fn open(fixture: &Fixture) -> Self {
        Self(TcpStream::connect(fixture.explorer.client().host()).await.unwrap())
    }

    async fn post(&mut self, headers: &str) {
        let head =
            format!("POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}\r\n\r\n");
        self.0.write_all(head.as_bytes()).await.unwrap();
    }

    /// Reads until the response contains these words.
    async fn read_until(&mut self, words: &str) -> String {
        let mut answer = Vec::new();
        let reading = async {
            while !String::from_utf8_lossy(&answer).contains(words) {
                assert!(self.0.read_buf(&mut answer).await.unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
            }
        };
        timeout(TIMEOUT, reading).await.unwrap_or_else(|_| panic!("{words:?} never came"));
        String::from_utf8(answer).unwrap()
    }
}

#[tokio::test]
async fn a_client_that_writes_the_whole_body_first_gets_413_and_can_reuse_the_connection() {
    let fixture = Fixture::shared().await;
    for chunked in [false, true] {
        let mut connection = Connection::open(&fixture).await;
        let body = vec![b'x'; 4_000_000];
        if chunked {
            connection.post("Transfer-Encoding: chunked").await;
            for piece in body.chunks(50_000) {
                connection.0.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await.unwrap();
                connection.0.write_all(piece).await.unwrap();
                connection.0.write_all(b"\r\n").await.unwrap();
            }
            connection.0.write_all(b"0\r\n\r\n").await.unwrap();
        } else {
            connection.post(&format!("Content-Length: {}", body.len())).await;
            connection.0.write_all(&body).await.unwrap();
        }
        let answer = connection.read_until("body_too_large").await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        let next = "{\"entity\":\"blocks\",\"limit\":1}";
        connection.post(&format!("Content-Length: {}", next.len())).await;
        connection.0.write_all(next.as_bytes()).await.unwrap();
        let answer = connection.read_until("\"entity\":\"blocks\"").await;
        assert!(answer.contains("HTTP/1.1 200 "), "{answer}");
    }
}

#[tokio::test]
async fn expect_continue_gets_100_or_413() {
    let fixture = Fixture::shared().await;
    let mut connection = Connection::open(&fixture).await;
    connection.post("Expect: 100-continue\r\nContent-Length: 1000000").await;
    let answer = connection.read_until("body_too_large").await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && !answer.contains("100 Continue"), "{answer}");

    let mut connection = Connection::open(&fixture).await;
    let body = "{\"entity\":\"blocks\",\"limit\":1}";
    connection.post(&format!("Expect: 100-continue\r\nContent-Length: {}", body.len())).await;
    assert!(connection.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 100 "));
    connection.0.write_all(body.as_bytes()).await.unwrap();
    assert!(connection.read_until("\"entity\":\"blocks\"").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_body_that_does_not_end_is_cut_off() {
    let fixture = Fixture::shared().await;
    let mut connection = Connection::open(&fixture).await;
    connection.post("Content-Length: 1000000000").await;
    let piece = vec![b'x'; 1_000_000];
    let mut sent = 0;
    let sending = async {
        while connection.0.write_all(&piece).await.is_ok() {
            sent += 1;
            assert!(sent < 100, "{sent} megabytes were taken");
        }
    };
    timeout(TIMEOUT, sending).await.expect("neither read nor cut off");
}
