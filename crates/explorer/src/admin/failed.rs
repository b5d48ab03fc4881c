use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

/// A failed command, with all causes.
pub(super) struct Failed(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, format!("{:#}\n", self.0)).into_response()
    }
}
