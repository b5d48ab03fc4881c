use std::any::Any;

use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

/// A panic costs one request its answer, not the service its life.
pub(super) fn answer_panic(payload: Box<dyn Any + Send>) -> Response {
    let message = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(text) => (*text).to_owned(),
            Err(_) => "a value that is no text".to_owned(),
        },
    };
    ApiError::Panicked { message }.into_response()
}
