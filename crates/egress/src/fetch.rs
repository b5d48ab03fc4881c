//! Reads a resource from a host, with limits on bytes, time and redirects.

use std::time::Duration;

use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::{
    HeaderMap, Response,
    body::{Bytes, Incoming},
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, HeaderValue, LOCATION, USER_AGENT},
};
use tokio::time::timeout;
use url::Url;

use crate::{ConnectionFault, Egress, UrlFault};

const AGENT: HeaderValue = HeaderValue::from_static("explorer");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Of the body.
    pub max_bytes: usize,
    /// For all redirects together.
    pub timeout: Duration,
    pub max_redirects: usize,
}

/// Why a resource could not be read. The texts reveal nothing about the operator's network.
#[derive(Debug, thiserror::Error)]
pub enum FetchFault {
    #[error(transparent)]
    Connection(#[from] ConnectionFault),
    #[error("the host responded with status {0}")]
    Status(u16),
    #[error("the host redirects to something that is not a URL")]
    Location,
    #[error("the host redirects more than {0} times")]
    Redirects(usize),
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    #[error("no complete response within {} seconds", .0.as_secs())]
    Timeout(Duration),
}

impl Egress {
    /// Reads a resource. Every redirect is checked like the first URL.
    ///
    /// # Errors
    /// If a URL is not allowed, a host cannot be reached, the response is not a success, or a limit is exceeded.
    pub fn fetch<'a>(&'a self, url: &'a str, limits: FetchLimits) -> BoxFuture<'a, Result<Bytes, FetchFault>> {
        Box::pin(async move {
            let fetched = timeout(limits.timeout, self.follow(url, limits)).await;
            fetched.unwrap_or(Err(FetchFault::Timeout(limits.timeout)))
        })
    }

    async fn follow(&self, url: &str, limits: FetchLimits) -> Result<Bytes, FetchFault> {
        let mut url = url.to_owned();
        for _ in 0..=limits.max_redirects {
            let target = self.target(&url).map_err(ConnectionFault::from)?;
            let mut connection = self.connect(&target).await?;
            let response = connection.get(&target, &headers()).await?;
            match response.status().as_u16() {
                200 => return read(response, limits.max_bytes).await,
                301 | 302 | 303 | 307 | 308 => url = next_url(&url, response.headers())?,
                status => return Err(FetchFault::Status(status)),
            }
        }
        Err(FetchFault::Redirects(limits.max_redirects))
    }
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    // A compressed body could be much larger than what was received.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(USER_AGENT, AGENT);
    headers
}

fn next_url(url: &str, headers: &HeaderMap) -> Result<String, FetchFault> {
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok()).ok_or(FetchFault::Location)?;
    let base = Url::parse(url).map_err(|_| ConnectionFault::from(UrlFault::Malformed))?;
    Ok(base.join(location).map_err(|_| FetchFault::Location)?.into())
}

async fn read(response: Response<Incoming>, max: usize) -> Result<Bytes, FetchFault> {
    let announced = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| usize::try_from(length).map_or(true, |length| length > max)) {
        return Err(FetchFault::TooLarge(max));
    }
    let (mut body, mut bytes) = (response.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(ConnectionFault::Http)?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > max {
            return Err(FetchFault::TooLarge(max));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::{EgressConfig, Insecure};

    const LIMITS: FetchLimits = FetchLimits { max_bytes: 100, timeout: Duration::from_secs(2), max_redirects: 3 };

    /// Answers every request by its path; returns the URL.
    async fn serve(answer: fn(&str) -> String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4_096];
                let length = stream.read(&mut request).await.unwrap();
                let text = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = text.split(' ').nth(1).unwrap_or_default();
                let _ = stream.write_all(answer(path).as_bytes()).await;
                if path == "/endless" {
                    // The body never ends: the client has to give up.
                    std::future::pending::<()>().await;
                }
            }
        });
        url
    }

    fn answer(path: &str) -> String {
        let redirect = |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        match path {
            "/short" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort".to_owned(),
            "/announced" => "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n".to_owned(),
            "/long" => format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(101)),
            "/endless" => "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nbegin".to_owned(),
            "/relative" => redirect("short"),
            "/loop" => redirect("/loop"),
            "/private" => redirect("http://10.0.0.1/"),
            "/metadata" => redirect("http://169.254.169.254/latest/meta-data"),
            "/file" => redirect("file:///etc/passwd"),
            "/nowhere" => "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
            _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        }
    }

    async fn fetch(path: &str) -> Result<Bytes, String> {
        let config = EgressConfig { insecure: Insecure::Allowed, ..EgressConfig::default() };
        let url = serve(answer).await;
        let limits =
            FetchLimits { timeout: Duration::from_millis(if path == "/endless" { 300 } else { 20_000 }), ..LIMITS };
        let fetched = Egress::new(&config).unwrap().fetch(&format!("{url}{path}"), limits).await;
        fetched.map_err(|fault| fault.to_string())
    }

    #[tokio::test]
    async fn redirects_are_followed_and_checked_like_the_first_url() {
        assert_eq!(fetch("/short").await.as_deref(), Ok(&b"short"[..]));
        assert_eq!(fetch("/relative").await.as_deref(), Ok(&b"short"[..]));
        let refused =
            "the URL must not have a private address, localhost or a name that can never be public as its host";
        for path in ["/private", "/metadata"] {
            assert_eq!(fetch(path).await, Err(refused.to_owned()), "{path}");
        }
        assert_eq!(fetch("/file").await, Err("the URL must begin with https://".to_owned()));
        assert_eq!(fetch("/loop").await, Err("the host redirects more than 3 times".to_owned()));
        assert!(fetch("/nowhere").await.unwrap_err().contains("not a URL"));
    }

    #[tokio::test]
    async fn bytes_time_and_status_are_limited() {
        for path in ["/announced", "/long"] {
            assert_eq!(fetch(path).await, Err("the response is larger than 100 bytes".to_owned()), "{path}");
        }
        assert!(fetch("/endless").await.unwrap_err().starts_with("no complete response"));
        assert_eq!(fetch("/other").await, Err("the host responded with status 404".to_owned()));
    }

    #[tokio::test]
    async fn without_the_option_for_tests_only_public_https_hosts_are_asked() {
        let (egress, url) = (Egress::new(&EgressConfig::default()).unwrap(), serve(answer).await);
        let fault = egress.fetch(&format!("{url}/short"), LIMITS).await.unwrap_err();
        assert_eq!(fault.to_string(), "the URL must begin with https://");
        let fault = egress.fetch("https://127.0.0.1/short", LIMITS).await.unwrap_err();
        assert!(fault.to_string().contains("can never be public"), "{fault}");
    }
}
