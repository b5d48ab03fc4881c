use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

/// A client of the API. Does not reuse connections by default: each test has its own runtime, and a connection must not
/// outlive the runtime that opened it.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    base: String,
    http: reqwest::Client,
}

/// A server that says nothing for this long hangs: the test fails instead of waiting for it.
const MAX_SILENCE: Duration = Duration::from_secs(720);

/// A response of the API.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null if the body is not JSON.
    pub(crate) json: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The body; the status must be 200.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.json);
        self.json
    }
}

impl Client {
    pub(crate) fn new(base: impl Into<String>) -> Self {
        Self::with_settings(base, http_client())
    }

    /// With settings of its own.
    pub(crate) fn with_settings(base: impl Into<String>, settings: reqwest::ClientBuilder) -> Self {
        Self { base: base.into(), http: settings.pool_max_idle_per_host(0).build().unwrap() }
    }

    /// Reuses connections, for many requests in a row.
    pub(crate) fn with_keep_alive(&self) -> Self {
        Self { base: self.base.clone(), http: http_client().build().unwrap() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// `host:port`
    pub(crate) fn host(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path)).await
    }

    /// The body of a GET that must return 200.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
        answer.json
    }

    /// The response of the query endpoint, which must be 200.
    pub(crate) async fn query(&self, body: Value) -> Value {
        self.try_query(body.to_string()).await.ok()
    }

    /// The response of the query endpoint to any body.
    pub(crate) async fn try_query(&self, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.request("POST", "/api/v1/query").header("Content-Type", "application/json");
        self.send(request.body(body)).await
    }

    /// Does not follow redirects.
    pub(crate) async fn get_without_following(&self, path: &str) -> Answer {
        let http = http_client().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { base: self.base.clone(), http }.get(path).await
    }

    /// The first event of an SSE stream.
    pub(crate) async fn first_event(&self, path: &str) -> String {
        self.events(path).await.next().await
    }

    /// An SSE stream.
    pub(crate) async fn events(&self, path: &str) -> Events {
        Events { response: self.request("GET", path).send().await.unwrap(), text: String::new() }
    }

    /// A request builder for [`Self::send`].
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method.parse().unwrap(), self.url(path))
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        Answer { status, headers, json: serde_json::from_slice(&body).unwrap_or_default(), text }
    }
}

/// The events of an SSE stream.
#[derive(Debug)]
pub(crate) struct Events {
    response: reqwest::Response,
    /// Received and not returned yet.
    text: String,
}

impl Events {
    /// The next event. Comments, which keep the connection open, are skipped.
    pub(crate) async fn next(&mut self) -> String {
        let next = tokio::time::timeout(MAX_SILENCE, self.wait_for_next()).await;
        next.expect("no event, only comments that keep the connection open")
    }

    /// The next event with this name.
    pub(crate) async fn next_named(&mut self, name: &str) -> String {
        loop {
            let event = self.next().await;
            if event.lines().any(|line| line.strip_prefix("event: ") == Some(name)) {
                return event;
            }
        }
    }

    async fn wait_for_next(&mut self) -> String {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if !event.starts_with(':') {
                    return event;
                }
            }
            let chunk = self.response.chunk().await.unwrap().expect("the stream ended");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// A client whose settings do not depend on the environment.
pub(crate) fn http_client() -> reqwest::ClientBuilder {
    // Fails if another test of this process has installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().connect_timeout(MAX_SILENCE).read_timeout(MAX_SILENCE)
}
