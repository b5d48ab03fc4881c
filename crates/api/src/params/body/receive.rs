use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderMap, header},
};
use std::{future::poll_fn, pin::pin};

use super::BodyFault;

/// No honest body comes near.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;
/// What is read and thrown away of a body that is too large, so that a client which reads only after it has written
/// gets to see why it was refused.
const MAX_DISCARDED_BYTES: usize = 4 * 1024 * 1024;

/// The whole body, if it is not too large.
pub(super) async fn receive(request: Request) -> Result<Bytes, BodyFault> {
    let declared = declared_length(request.headers());
    let waits_for_leave = request.headers().contains_key(header::EXPECT);
    if waits_for_leave && declared.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(BodyFault::TooLarge);
    }
    let mut kept = Vec::with_capacity(declared.unwrap_or_default().min(MAX_BODY_BYTES));
    let mut received = 0;
    let mut body = pin!(request.into_body());
    while let Some(chunk) = next_chunk(body.as_mut()).await? {
        received += chunk.len();
        if received <= MAX_BODY_BYTES {
            kept.extend_from_slice(&chunk);
        } else if received > MAX_DISCARDED_BYTES {
            break;
        }
    }
    if received > MAX_BODY_BYTES { Err(BodyFault::TooLarge) } else { Ok(kept.into()) }
}

async fn next_chunk(mut body: std::pin::Pin<&mut Body>) -> Result<Option<Bytes>, BodyFault> {
    loop {
        match poll_fn(|context| body.as_mut().poll_frame(context)).await {
            None => return Ok(None),
            Some(Err(_)) => return Err(BodyFault::Incomplete),
            // Trailers say nothing here.
            Some(Ok(frame)) => {
                if let Ok(chunk) = frame.into_data() {
                    return Ok(Some(chunk));
                }
            }
        }
    }
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
