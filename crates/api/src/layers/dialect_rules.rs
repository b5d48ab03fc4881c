use admission::Area;
use axum::{http::header::RETRY_AFTER, response::Response};

use crate::wire::Problem;

/// How the layers treat the requests of a dialect.
#[derive(Debug, Clone, Copy)]
pub struct DialectRules {
    /// Whether a path belongs to the dialect.
    pub owns: fn(&str) -> bool,
    pub admission: DialectAdmission,
    /// Writes an error in the format of the dialect.
    pub write_problem: fn(&Problem) -> Response,
}

/// Who identifies and counts the requests of a dialect.
#[derive(Debug, Clone, Copy)]
pub enum DialectAdmission {
    /// As those of the API, with the prices of this area.
    Header(Area),
    /// The handler calls [`Gate::check`](crate::dialect::Gate::check): the key may be in the body.
    Handler,
}

impl DialectRules {
    /// The response in the format of the dialect, if it is an error of a layer.
    pub(crate) fn translate(&self, mut response: Response) -> Response {
        let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
        let retry_after = response.headers_mut().remove(RETRY_AFTER);
        let mut translated = (self.write_problem)(&problem);
        if let Some(retry_after) = retry_after {
            translated.headers_mut().insert(RETRY_AFTER, retry_after);
        }
        translated
    }
}
