use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::Request,
};
use hyper::body::Frame;

use super::*;

/// A body of which only the bytes matter.
#[derive(Debug)]
struct Anything;

impl FromJson for Anything {
    fn from_json(_: &JsonObject<'_>) -> Result<Self, BodyFault> {
        Ok(Self)
    }
}

/// A body that is not sent before leave is given.
struct NeverComing;

impl HttpBody for NeverComing {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

async fn extract(content_type: Option<&str>, body: impl Into<Body>) -> Result<(), (u16, String)> {
    let mut request = Request::post("/");
    if let Some(content_type) = content_type {
        request = request.header(CONTENT_TYPE, content_type);
    }
    let request = request.body(body.into()).unwrap();
    match ValidBody::<Anything>::from_request(request, &()).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let problem = error.problem();
            Err((problem.status, problem.code.text().to_owned()))
        }
    }
}

async fn extract_json(body: impl Into<Body>) -> Result<(), (u16, String)> {
    extract(Some("application/json"), body).await
}

#[tokio::test]
async fn only_what_is_declared_as_json_is_read() {
    for declared in
        ["application/json", "Application/JSON; charset=utf-8", "application/json ;x=y", "application/vnd.x+json"]
    {
        assert_eq!(extract(Some(declared), "{}").await, Ok(()), "{declared}");
    }
    for declared in
        [None, Some(""), Some("text/plain"), Some("text/json"), Some("application/jsonp"), Some("application/xml")]
    {
        let refused = Err((415, "unsupported_media_type".to_owned()));
        assert_eq!(extract(declared, "{}").await, refused, "{declared:?}");
    }
}

#[tokio::test]
async fn a_body_of_64_kib_is_read_and_a_longer_one_refused() {
    let at_the_limit = format!("{{}}{}", " ".repeat(MAX_BODY_BYTES - 2));
    assert_eq!(extract_json(at_the_limit.clone()).await, Ok(()));
    let refused = Err((413, "body_too_large".to_owned()));
    assert_eq!(extract_json(format!("{at_the_limit} ")).await, refused);
    assert_eq!(extract_json("[".repeat(1 << 20)).await, refused);
    assert_eq!(extract_json("[".repeat(16 << 20)).await, refused);
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_too_much_is_refused_at_once() {
    let request = Request::post("/")
        .header(CONTENT_TYPE, "application/json")
        .header("expect", "100-continue")
        .header("content-length", MAX_BODY_BYTES + 1)
        .body(Body::new(NeverComing))
        .unwrap();
    let error = ValidBody::<Anything>::from_request(request, &()).await.unwrap_err();
    assert_eq!(error.problem().status, 413);
}

#[tokio::test]
async fn what_is_not_a_json_object_is_refused() {
    let deep = "[".repeat(60_000);
    let deep_and_closed = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let deep_object = "{\"a\":".repeat(12_000);
    for body in [
        "",
        " ",
        "{",
        "}",
        "nonsense",
        "{\"a\":1,}",
        "{'a':1}",
        "{\"a\":1}{}",
        "{\"a\":01}",
        "{\"\\ud800\":1}",
        "[]",
        "[{}]",
        "null",
        "1",
        "\"{}\"",
        "true",
        &deep,
        &deep_and_closed,
        &deep_object,
    ] {
        let refused = Err((400, "malformed_body".to_owned()));
        assert_eq!(extract_json(body.to_owned()).await, refused, "{}", &body[..body.len().min(20)]);
    }
    assert_eq!(
        extract_json(vec![b'{', b'"', 0xff, b'"', b':', b'1', b'}']).await,
        Err((400, "malformed_body".to_owned()))
    );
}

#[test]
fn a_member_given_twice_is_refused_however_it_is_written() {
    let fault = JsonObject::parse(r#"{"limit":1,"offset":2,"\u006cimit":1}"#).unwrap_err();
    assert_eq!(fault, BodyFault::Repeated { field: "limit".to_owned() });
}

#[test]
fn a_name_that_nobody_reads_is_given_back_in_part() {
    let body = format!("{{\"{}\":1}}", "\u{e9}".repeat(1000));
    let fault = JsonObject::parse(&body).unwrap().only(&["a", "b"]).unwrap_err();
    let field = format!("{}...", "\u{e9}".repeat(64));
    assert_eq!(fault, BodyFault::Unknown { field, allowed: "a, b".to_owned() });
}

#[test]
fn a_whole_number_is_read_however_it_is_written() {
    let read = |text: &str| JsonValue(text).whole_number();
    for (text, number) in [
        ("0", 0),
        ("25", 25),
        ("25.0", 25),
        ("1e2", 100),
        ("2.5e1", 25),
        ("18446744073709551615", u64::MAX),
        ("18446744073709551616", u64::MAX),
        ("1e18", 1_000_000_000_000_000_000),
        ("1e400", u64::MAX),
    ] {
        assert_eq!(read(text), Some(number), "{text}");
    }
    assert_eq!(read(&"9".repeat(5000)), Some(u64::MAX));
    for text in ["-1", "-0", "1.5", "1e-1", "\"1\"", "true", "null", "[1]", "{}", "\"\""] {
        assert_eq!(read(text), None, "{text}");
    }
}
