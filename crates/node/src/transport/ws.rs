use std::time::Duration;

use alloy_primitives::bytes::Bytes;
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::{Sink, SinkExt, Stream, StreamExt, stream};
use tokio_tungstenite::{
    connect_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest,
        http::{HeaderValue, Request, header::AUTHORIZATION},
        protocol::WebSocketConfig,
    },
};
use url::Url;

use super::link::Link;
use crate::error::BoxError;

/// A node that pushes heads is never silent this long; if it does not answer a ping either, the connection is dead.
const PING_AFTER: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
#[error("the node stopped responding")]
struct Silent;

pub(super) async fn open(url: &Url, max_response_bytes: usize) -> Result<Link, BoxError> {
    let config =
        WebSocketConfig::default().max_message_size(Some(max_response_bytes)).max_frame_size(Some(max_response_bytes));
    let (socket, _) = connect_async_with_config(request(url)?, Some(config), true).await?;
    let (write, read) = socket.split();
    let (pings, pinged) = tokio::sync::mpsc::channel::<()>(1);
    Ok(Link::over(Box::pin(messages(read, pings)), Box::pin(requests(write, pinged))))
}

/// User and password of the URL are sent as a basic authorization header.
fn request(url: &Url) -> Result<Request<()>, BoxError> {
    let mut bare = url.clone();
    // Neither fails for a URL with a host, which ws and wss URLs always have.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    let mut request = bare.as_str().into_client_request()?;
    if !url.username().is_empty() || url.password().is_some() {
        let credentials = format!("{}:{}", url.username(), url.password().unwrap_or_default());
        let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(credentials)))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

/// Messages of the node without control frames.
fn messages<S>(read: S, pings: tokio::sync::mpsc::Sender<()>) -> impl Stream<Item = Result<Bytes, BoxError>> + Send
where
    S: Stream<Item = Result<Message, tungstenite::Error>> + Send + Unpin,
{
    stream::unfold((read, pings), |(mut read, pings)| async move {
        let mut ping_sent = false;
        loop {
            let message = match tokio::time::timeout(PING_AFTER, read.next()).await {
                Ok(message) => message?,
                Err(_) if ping_sent => return Some((Err(Silent.into()), (read, pings))),
                Err(_) => {
                    ping_sent = true;
                    let _ = pings.try_send(());
                    continue;
                }
            };
            match message {
                Ok(Message::Text(text)) => return Some((Ok(text.into()), (read, pings))),
                Ok(Message::Binary(bytes)) => return Some((Ok(bytes), (read, pings))),
                Ok(Message::Close(_)) => return None,
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => ping_sent = false,
                Err(error) => return Some((Err(error.into()), (read, pings))),
            }
        }
    })
}

/// Writes requests, with pings in between when the reader requests one.
fn requests<S>(write: S, pinged: tokio::sync::mpsc::Receiver<()>) -> impl Sink<String, Error = BoxError> + Send
where
    S: Sink<Message, Error = tungstenite::Error> + Send + Unpin + 'static,
{
    let (outgoing, requested) = tokio::sync::mpsc::channel::<String>(1);
    tokio::spawn(write_all(write, requested, pinged));
    futures::sink::unfold(outgoing, |outgoing, request: String| async move {
        outgoing.send(request).await.map_err(BoxError::from)?;
        Ok(outgoing)
    })
}

async fn write_all<S>(
    mut write: S,
    mut requested: tokio::sync::mpsc::Receiver<String>,
    mut pinged: tokio::sync::mpsc::Receiver<()>,
) where
    S: Sink<Message, Error = tungstenite::Error> + Send + Unpin,
{
    loop {
        let message = tokio::select! {
            request = requested.recv() => match request {
                Some(request) => Message::text(request),
                None => break,
            },
            Some(()) = pinged.recv() => Message::Ping(Bytes::new()),
        };
        if write.send(message).await.is_err() {
            return;
        }
    }
    let _ = write.close().await;
}
