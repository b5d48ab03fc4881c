//! Requests take turns with those of other clients whenever they need a processor: while they are answered, and while a body that is
//! made as it is sent goes on.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use admission::Turn;
use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tower::ServiceExt;

/// The response to a request.
pub(super) async fn respond(router: Router, request: Request, mut turn: Turn) -> Result<Response, Infallible> {
    let response = {
        let mut response = pin!(router.oneshot(request));
        poll_fn(|context| {
            let _permit = ready!(turn.poll_permit(context));
            response.as_mut().poll(context)
        })
        .await?
    };
    Ok(response.map(|body| match body.size_hint().exact() {
        // It is there already.
        Some(_) => body,
        None => Body::new(BodyInTurns { body, turn }),
    }))
}

struct BodyInTurns {
    body: Body,
    turn: Turn,
}

impl HttpBody for BodyInTurns {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.get_mut();
        let _permit = ready!(this.turn.poll_permit(context));
        Pin::new(&mut this.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
