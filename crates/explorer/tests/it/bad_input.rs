//! Every invalid request gets a problem document that says what is wrong; never a 5xx, never a panic.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{Fixture, client::Answer};

const DIGITS: &str = "d8da6bf26964af9d7eed9e03e53415d37aa96045";

#[track_caller]
fn assert_problem(answer: &Answer, status: u16, code: &str, what: &str) {
    assert_eq!((answer.status, answer.json["code"].as_str()), (status, Some(code)), "{what}: {}", answer.json);
    assert_eq!(answer.header("content-type"), "application/problem+json", "{what}");
    assert_eq!(answer.json["status"], status, "{what}");
    for text in ["type", "title", "detail"] {
        assert!(answer.json[text].as_str().is_some_and(|text| !text.is_empty()), "{what}: {}", answer.json);
    }
    let names_of_other_apis = [&answer.json["error"], &answer.json["message"]];
    assert_eq!(names_of_other_apis, [&answer.json["code"], &answer.json["detail"]], "{what}");
}

fn assert_nothing_broke(fixture: &Fixture) {
    let log = fixture.explorer.log();
    assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
}

#[tokio::test]
async fn an_invalid_address_is_rejected_with_the_parameter_name() {
    let fixture = Fixture::shared().await;
    let short = format!("0x{}", &DIGITS[1..]);
    let long = format!("0x{DIGITS}0");
    let no_hex = format!("0x{}g", &DIGITS[1..]);
    let upper_mark = format!("0X{DIGITS}");
    let huge = format!("0x{}", "a".repeat(5_000));
    for bad in ["0x", "x", "bob", DIGITS, &short, &long, &no_hex, &upper_mark, &huge, "%00", "%F0%9F%92%A9", "null"] {
        for path in [format!("/api/v1/addresses/{bad}"), format!("/api/v1/transactions?address={bad}")] {
            let answer = fixture.explorer.get(&path).await;
            assert_problem(&answer, 400, "invalid_parameter", &path);
            assert_eq!(answer.json["field"], "address", "{path}");
        }
    }
    let empty = fixture.explorer.get("/api/v1/transactions?address=").await;
    assert_problem(&empty, 400, "invalid_parameter", "an empty address");
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn a_page_or_limit_that_is_not_a_positive_integer_is_rejected_with_the_parameter_name() {
    let fixture = Fixture::shared().await;
    for list in ["/api/v1/blocks", "/api/v1/transactions"] {
        for field in ["page", "limit"] {
            for bad in ["0", "-1", "abc", "1.5", "", "+1", "%2B1", "1e3", "0x10", "%201", "NaN", "-0", "1_000", "٣"] {
                let path = format!("{list}?{field}={bad}");
                let answer = fixture.explorer.get(&path).await;
                assert_problem(&answer, 400, "invalid_parameter", &path);
                assert_eq!(answer.json["field"], field, "{path}");
            }
            let path = format!("{list}?{field}=1&{field}=2");
            let answer = fixture.explorer.get(&path).await;
            assert_problem(&answer, 400, "repeated_parameter", &path);
            assert_eq!(answer.json["field"], field, "{path}");
        }
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn an_invalid_block_or_transaction_id_is_rejected_with_the_parameter_name() {
    let fixture = Fixture::shared().await;
    let short_hash = format!("0x{}", "ab".repeat(31));
    for bad in ["-1", "1.5", "latest", "0x10", &short_hash, "1e3"] {
        let answer = fixture.explorer.get(&format!("/api/v1/blocks/{bad}")).await;
        assert_problem(&answer, 400, "invalid_parameter", bad);
        assert_eq!(answer.json["field"], "numberOrHash");
        let answer = fixture.explorer.get(&format!("/api/v1/transactions/{bad}")).await;
        assert_problem(&answer, 400, "invalid_parameter", bad);
        assert_eq!(answer.json["field"], "hash");
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let fixture = Fixture::shared().await;
    for path in ["/api/v1", "/api/v2/stats", "/api/v1/nothing", "/api/v1/addresses/", "/api/v1/blocks/1/2"] {
        assert_problem(&fixture.explorer.get(path).await, 404, "route_not_found", path);
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn a_wrong_method_gets_the_allowed_ones() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    for path in ["/api/v1/stats", "/api/v1/blocks", "/api/v1/blocks/1", "/api/v1/transactions", "/health"] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "BREW"] {
            let answer = client.send(client.request(method, path)).await;
            assert_problem(&answer, 405, "method_not_allowed", &format!("{method} {path}"));
            assert!(answer.header("allow").split(',').any(|allowed| allowed.trim() == "GET"), "{method} {path}");
        }
        assert_eq!(client.send(client.request("HEAD", path)).await.status, 200, "HEAD {path}");
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn a_url_of_ten_kilobytes_is_too_long() {
    let fixture = Fixture::shared().await;
    let path = format!("/api/v1/blocks?page={}", "1".repeat(10_240));
    assert_problem(&fixture.explorer.get(&path).await, 414, "uri_too_long", "10 KB");
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn invalid_percent_encoding_is_rejected() {
    let fixture = Fixture::shared().await;
    for target in ["/api/v1/transactions?address=%FF%FE", "/api/v1/addresses/%FF", "/api/v1/blocks?page=%C3%28"] {
        let answer = raw(&fixture, &format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{target}: {answer}");
        assert!(answer.contains("application/problem+json"), "{target}: {answer}");
        assert!(answer.contains("\"code\":\"malformed_url\""), "{target}: {answer}");
    }
    assert_nothing_broke(&fixture);
}

#[tokio::test]
async fn bytes_that_are_not_http_are_rejected_without_harm() {
    let fixture = Fixture::shared().await;
    let big_header = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(1 << 20));
    for request in ["\r\n\r\nnonsense\r\n\r\n", "GET /api/v1/stats HTTP/9.9\r\n\r\n", &big_header] {
        let answer = raw(&fixture, request).await;
        // Closing the connection is a valid response too.
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(fixture.explorer.json("/health").await["live"], json!(true));
    assert_nothing_broke(&fixture);
}

/// Sends raw bytes and returns the response until the server closes the connection, which it must do.
async fn raw(fixture: &Fixture, request: &str) -> String {
    let mut stream = TcpStream::connect(fixture.explorer.client().host()).await.unwrap();
    // Fails if the server has already closed the connection.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(std::time::Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
    // Fails if the server has closed the connection before it read everything.
    let _ = read.expect("the server neither rejects the request nor closes the connection");
    String::from_utf8_lossy(&answer).into_owned()
}
