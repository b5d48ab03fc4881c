use std::any::Any;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use tower_http::catch_panic::ResponseForPanic;

use crate::error::ApiError;

/// A panic costs one request its answer, not the service its life.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerPanic;

impl ResponseForPanic for AnswerPanic {
    type ResponseBody = Body;

    fn response_for_panic(&mut self, payload: Box<dyn Any + Send + 'static>) -> Response {
        let message = match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => match payload.downcast::<&'static str>() {
                Ok(text) => (*text).to_owned(),
                Err(_) => "a value that is no text".to_owned(),
            },
        };
        ApiError::Panicked { message }.into_response()
    }
}
