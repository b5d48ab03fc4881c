use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::error::ApiError;

/// A value that names a resource in a path.
pub(crate) trait FromPathSegment: Sized {
    /// The parameter's name in the path.
    const FIELD: &'static str;

    fn from_segment(segment: &str) -> Result<Self, ApiError>;
}

/// Extracts the one parameter of a route's path.
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
