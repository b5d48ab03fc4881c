use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::error::ApiError;

/// A type that can be parsed from a path segment.
pub(crate) trait FromPathSegment: Sized {
    /// The name of the parameter.
    const FIELD: &'static str;

    fn from_segment(segment: &str) -> Result<Self, ApiError>;
}

/// Extractor of the only parameter of a path.
#[derive(Debug)]
pub(crate) struct ValidPath<T>(pub(crate) T);

impl<S: Send + Sync, T: FromPathSegment> FromRequestParts<S> for ValidPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(segment)) => T::from_segment(&segment).map(Self),
            Err(_) => Err(ApiError::MalformedUrl { field: Some(T::FIELD.to_owned()) }),
        }
    }
}
