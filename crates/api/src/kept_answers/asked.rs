use axum::{
    body::Body,
    extract::Request,
    http::{
        HeaderMap, Method,
        header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT},
    },
};

use crate::{error::ApiError, params::read_body};

const API: &str = "/api/v1/";
const QUERY: &str = "/api/v1/query";
const JSON: &str = "application/json";
/// Longer questions are answered, but not remembered.
const MAX_URL_BYTES: usize = 512;
const MAX_QUERY_BYTES: usize = 2 * 1024;
const MAX_ENCODINGS_BYTES: usize = 64;

/// A request that is to be answered.
#[derive(Debug)]
pub(crate) struct Asked(pub(crate) Request);

/// All of a request that an answer of the index depends on: its URL, how the answer may be encoded, and the body of a
/// query. Two ways to write the same question are two questions: that costs a read, and is never wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question(Box<[u8]>);

impl Question {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn new(url: &str, encodings: &[u8], body: Option<&[u8]>) -> Self {
        // None of the parts that stand before others can hold a line break.
        let mut bytes = Vec::with_capacity(url.len() + encodings.len() + body.map_or(0, <[u8]>::len) + 2);
        bytes.extend_from_slice(url.as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(encodings);
        if let Some(body) = body {
            bytes.push(b'\n');
            bytes.extend_from_slice(body);
        }
        Self(bytes.into())
    }
}

impl Asked {
    /// What is asked, where the answer may be kept. To tell, the body of a query is read, and put back.
    pub(super) async fn question(self) -> Result<(Self, Option<Question>), ApiError> {
        let Self(request) = self;
        let Some(url) = request.uri().path_and_query().filter(|url| url.as_str().len() <= MAX_URL_BYTES) else {
            return Ok((Self(request), None));
        };
        let Some(encodings) = encodings(request.headers()) else { return Ok((Self(request), None)) };
        match *request.method() {
            Method::GET if url.path().starts_with(API) => {
                let question = Question::new(url.as_str(), encodings, None);
                Ok((Self(request), Some(question)))
            }
            Method::POST if url.as_str() == QUERY && is_short_json(request.headers()) => {
                let (head, body) = request.into_parts();
                let body = read_body(&head.headers, body, MAX_QUERY_BYTES).await?;
                let encodings = self::encodings(&head.headers).unwrap_or_default();
                let question = Question::new(QUERY, encodings, Some(&body));
                Ok((Self(Request::from_parts(head, Body::from(body))), Some(question)))
            }
            _ => Ok((Self(request), None)),
        }
    }
}

/// How the answer may be encoded; None where that is told in more ways than are worth telling apart.
fn encodings(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(ACCEPT_ENCODING).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(&[]),
        (Some(value), None) => Some(value.as_bytes()).filter(|value| value.len() <= MAX_ENCODINGS_BYTES),
        (Some(_), Some(_)) => None,
    }
}

/// The plainest way to post JSON. All others are left to those who read bodies.
fn is_short_json(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length <= MAX_QUERY_BYTES)
        && headers.get(CONTENT_TYPE).is_some_and(|kind| kind == JSON)
        && !headers.contains_key(EXPECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn question(request: axum::http::request::Builder, body: &'static str) -> Option<Question> {
        let asked = Asked(request.body(Body::from(body)).unwrap());
        asked.question().await.unwrap().1
    }

    fn get(url: &str) -> axum::http::request::Builder {
        Request::get(url)
    }

    fn post(url: &str, body: &str) -> axum::http::request::Builder {
        Request::post(url).header(CONTENT_TYPE, JSON).header(CONTENT_LENGTH, body.len())
    }

    #[tokio::test]
    async fn what_an_answer_depends_on_tells_questions_apart() {
        let blocks = question(get("/api/v1/blocks?page=1"), "").await;
        assert!(blocks.is_some());
        assert_eq!(blocks, question(get("/api/v1/blocks?page=1").header("x-api-key", "k"), "").await);
        assert_ne!(blocks, question(get("/api/v1/blocks?page=2"), "").await);
        assert_ne!(blocks, question(get("/api/v1/blocks?page=1").header(ACCEPT_ENCODING, "gzip"), "").await);
        let query = question(post("/api/v1/query", "{}"), "{}").await;
        assert!(query.is_some());
        assert_ne!(query, question(post("/api/v1/query", "[]"), "[]").await);
        assert_ne!(query, question(get("/api/v1/query"), "").await);
    }

    #[tokio::test]
    async fn what_is_not_plainly_a_question_to_the_index_is_none() {
        assert_eq!(question(get("/health"), "").await, None);
        assert_eq!(question(Request::head("/api/v1/blocks"), "").await, None);
        assert_eq!(question(post("/api/v1/verify", "{}"), "{}").await, None);
        assert_eq!(question(post("/api/v1/query?x", "{}"), "{}").await, None);
        assert_eq!(question(Request::post("/api/v1/query").header(CONTENT_TYPE, JSON), "{}").await, None);
        let text = Request::post("/api/v1/query").header(CONTENT_TYPE, "text/plain").header(CONTENT_LENGTH, 2);
        assert_eq!(question(text, "{}").await, None);
        assert_eq!(question(get(&format!("/api/v1/blocks?{}", "x".repeat(MAX_URL_BYTES))), "").await, None);
        let many = get("/api/v1/blocks").header(ACCEPT_ENCODING, "gzip").header(ACCEPT_ENCODING, "br");
        assert_eq!(question(many, "").await, None);
    }

    #[tokio::test]
    async fn the_body_of_a_query_is_put_back() {
        let asked = Asked(post("/api/v1/query", "{}").body(Body::from("{}")).unwrap());
        let (Asked(request), _) = asked.question().await.unwrap();
        assert_eq!(read_body(&HeaderMap::new(), request.into_body(), 64).await.unwrap(), "{}");
    }
}
