use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Method, Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
    header::{HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};
use tokio_util::task::AbortOnDropHandle;

use super::{ConnectionFault, Target};

/// Maximum bytes of a response body that are read.
const MAX_BODY: usize = 16 * 1024;
/// Maximum bytes of a response body that are stored.
const STORED_BODY: usize = 1_024;
const MAX_HEAD: usize = 32 * 1024;

/// An open connection.
#[expect(missing_debug_implementations, reason = "a task and a channel")]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// The connection's task; aborted when the connection is dropped.
    _driver: AbortOnDropHandle<()>,
    pub last_used: Instant,
}

/// A receiver's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverResponse {
    pub status: u16,
    pub retry_after: Option<String>,
    /// The first bytes of the body.
    pub body: String,
}

impl Connection {
    pub(super) async fn open(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self, ConnectionFault> {
        let (sender, connection) = http1::Builder::new()
            .title_case_headers(true)
            .max_buf_size(MAX_HEAD)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(ConnectionFault::Http)?;
        let driver = tokio::spawn(async move {
            // The sender sees the same error.
            let _ = connection.await;
        });
        Ok(Self { sender, _driver: AbortOnDropHandle::new(driver), last_used: Instant::now() })
    }

    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Posts a body and reads the response. Returns the connection if it can be reused.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn post<'a>(
        mut self,
        target: &'a Target,
        headers: &'a HeaderMap,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(ReceiverResponse, Option<Self>), ConnectionFault>> {
        Box::pin(async move {
            self.sender.ready().await.map_err(ConnectionFault::Http)?;
            let request = request(Method::POST, target, headers, body);
            let response = self.sender.send_request(request).await.map_err(ConnectionFault::Http)?;
            let (response, complete) = read(response).await?;
            self.last_used = Instant::now();
            Ok((response, complete.then_some(self)))
        })
    }

    /// Requests a resource. The body is not read yet; it ends when the connection is dropped.
    pub(crate) async fn get(
        &mut self,
        target: &Target,
        headers: &HeaderMap,
    ) -> Result<Response<Incoming>, ConnectionFault> {
        self.sender.ready().await.map_err(ConnectionFault::Http)?;
        let request = request(Method::GET, target, headers, Bytes::new());
        self.sender.send_request(request).await.map_err(ConnectionFault::Http)
    }
}

fn request(method: Method, target: &Target, headers: &HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    // The path of a parsed URL is a valid URI; the fallback is the root of the host.
    *request.uri_mut() = target.path.parse().unwrap_or_default();
    *request.headers_mut() = headers.clone();
    if let Ok(host) = HeaderValue::try_from(&target.authority) {
        request.headers_mut().insert(HOST, host);
    }
    request
}

/// Reads a response; the flag says whether its body was read to the end.
async fn read(response: Response<Incoming>) -> Result<(ReceiverResponse, bool), ConnectionFault> {
    let (head, mut body) = response.into_parts();
    let (mut start, mut length, mut complete) = (Vec::new(), 0, true);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(ConnectionFault::Http)?;
        let Some(bytes) = frame.data_ref() else { continue };
        length += bytes.len();
        start.extend(bytes.iter().take(STORED_BODY - start.len()));
        if length > MAX_BODY {
            complete = false;
            break;
        }
    }
    let retry_after = head.headers.get(hyper::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let body = String::from_utf8_lossy(&start).into_owned();
    Ok((ReceiverResponse { status: head.status.as_u16(), retry_after: retry_after.map(str::to_owned), body }, complete))
}
