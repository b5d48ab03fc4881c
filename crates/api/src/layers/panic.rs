use std::any::Any;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use tower_http::catch_panic::ResponseForPanic;

use crate::error::ApiError;

/// Responds with 500 to a request whose handler panicked.
#[derive(Debug, Clone, Copy)]
pub(super) struct PanicResponse;

impl ResponseForPanic for PanicResponse {
    type ResponseBody = Body;

    fn response_for_panic(&mut self, payload: Box<dyn Any + Send + 'static>) -> Response {
        let message = match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => match payload.downcast::<&'static str>() {
                Ok(text) => (*text).to_owned(),
                Err(_) => "panic payload is not a string".to_owned(),
            },
        };
        ApiError::Panicked { message }.into_response()
    }
}
