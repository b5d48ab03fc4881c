//! JSON bodies: read within bounds, and refused with the place at fault.

mod fault;
mod json;
mod receive;
#[cfg(test)]
mod tests;

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, header::CONTENT_TYPE},
};

use crate::error::ApiError;

pub(crate) use fault::BodyFault;
pub(crate) use json::{JsonObject, JsonValue};
pub(crate) use receive::MAX_BODY_BYTES;

/// What knows how to read itself from the members of a JSON object.
pub(crate) trait FromJson: Sized {
    fn from_json(body: &JsonObject<'_>) -> Result<Self, BodyFault>;
}

/// Extracts a route's JSON body.
#[derive(Debug)]
pub(crate) struct ValidBody<T>(pub(crate) T);

impl<S: Sync, T: FromJson> FromRequest<S> for ValidBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let declared = is_declared_json(request.headers());
        // Read even where the type is wrong: a client that is still writing would miss the answer.
        let body = receive::receive(request).await?;
        if !declared {
            return Err(BodyFault::NotDeclaredJson.into());
        }
        let text = std::str::from_utf8(&body).map_err(|_| BodyFault::NotUtf8)?;
        Ok(Self(T::from_json(&JsonObject::parse(text)?)?))
    }
}

/// `application/json`, or a type that is JSON by its suffix; parameters such as the charset say nothing new.
fn is_declared_json(headers: &HeaderMap) -> bool {
    let Some(declared) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}
