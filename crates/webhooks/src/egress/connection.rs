use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Method, Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
    header::{HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{SendFault, Target};

/// Of an answer, so much is read.
const MAX_ANSWER: usize = 16 * 1024;
/// Of an answer, so much is kept.
const KEPT_ANSWER: usize = 1_024;
const MAX_HEAD: usize = 32 * 1024;

/// An open connection to a receiver.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// What moves the bytes; it ends with the connection.
    _driver: AbortOnDropHandle<()>,
    pub(crate) last_used: Instant,
}

/// What a receiver said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    /// The beginning of the body.
    pub(crate) body: String,
}

impl Connection {
    pub(super) async fn open(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<Self, SendFault> {
        let (sender, connection) = http1::Builder::new()
            .title_case_headers(true)
            .max_buf_size(MAX_HEAD)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(SendFault::Http)?;
        let driver = tokio::spawn(async move {
            // How it ended is told to whoever sends.
            let _ = connection.await;
        });
        Ok(Self { sender, _driver: AbortOnDropHandle::new(driver), last_used: Instant::now() })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Posts a body and reads the answer. The connection comes back if another message may go by it.
    pub(crate) async fn post(
        mut self,
        target: &Target,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<(Answer, Option<Self>), SendFault> {
        self.sender.ready().await.map_err(SendFault::Http)?;
        let response = self.sender.send_request(request(target, headers, body)).await.map_err(SendFault::Http)?;
        let (answer, complete) = read(response).await?;
        self.last_used = Instant::now();
        Ok((answer, complete.then_some(self)))
    }
}

fn request(target: &Target, headers: &HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    // A path out of a URL is a URI; should it ever not be one, the receiver's root is the next best.
    *request.uri_mut() = target.path.parse().unwrap_or_default();
    *request.headers_mut() = headers.clone();
    if let Ok(host) = HeaderValue::try_from(&target.authority) {
        request.headers_mut().insert(HOST, host);
    }
    request
}

/// Reads an answer, and whether to its end.
async fn read(response: Response<Incoming>) -> Result<(Answer, bool), SendFault> {
    let (head, mut body) = response.into_parts();
    let (mut kept, mut length, mut complete) = (Vec::new(), 0, true);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(SendFault::Http)?;
        let Some(bytes) = frame.data_ref() else { continue };
        length += bytes.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(KEPT_ANSWER - kept.len())]);
        if length > MAX_ANSWER {
            complete = false;
            break;
        }
    }
    let retry_after = head.headers.get(hyper::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let body = String::from_utf8_lossy(&kept).into_owned();
    Ok((Answer { status: head.status.as_u16(), retry_after: retry_after.map(str::to_owned), body }, complete))
}
