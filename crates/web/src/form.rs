//! Forms that are sent to a page: their fields and the answers to them.

pub(crate) mod fuzzing;

use std::convert::Infallible;

use admission::{PageBudget, long_bodies};
use askama::Template;
use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, RETRY_AFTER},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use url::form_urlencoded;

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::WebState,
};

/// The fields of a form, as browsers send them (`application/x-www-form-urlencoded`).
#[derive(Debug)]
pub(crate) struct FormFields(Vec<(String, String)>);

impl FormFields {
    pub(crate) fn parse(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// The value of a field without surrounding white space; empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The value of a field as it was sent; empty if it is missing.
    pub(crate) fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// The same as [`Self::text`], None if it is empty.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }
}

impl<S: Send + Sync> FromRequest<S> for FormFields {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let client = PageBudget::current_client();
        let too_many =
            || (StatusCode::TOO_MANY_REQUESTS, "Too many forms of this address are being read.").into_response();
        let is_long = long_bodies::may_be_long(request.headers());
        let read = Bytes::from_request(request, state);
        if !is_long {
            return Ok(Self::parse(&read.await.map_err(IntoResponse::into_response)?));
        }
        let slot = long_bodies::take_slot(client).map_err(|_| too_many())?;
        let body = tokio::select! {
            body = read => body.map_err(IntoResponse::into_response)?,
            () = slot.evicted() => return Err(too_many()),
        };
        let _permit = long_bodies::parsing(client).await.map_err(|_| too_many())?;
        Ok(Self::parse(&body))
    }
}

/// Who gets the answer to a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The script of the page, which shows the text.
    Script,
    /// A browser that shows the answer as a page.
    Browser,
}

impl<S: Sync> axum::extract::FromRequestParts<S> for Audience {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

impl Audience {
    fn of(headers: &HeaderMap) -> Self {
        let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        if accept.contains("text/html") { Self::Browser } else { Self::Script }
    }
}

/// The answer to a form.
pub(crate) struct FormAnswer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

#[derive(Template)]
#[template(path = "form_answer.html")]
struct AnswerPage {
    frame: Frame,
    title: &'static str,
    text: String,
    back: String,
}

impl FormAnswer {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn bad_input(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// As text for a script, and otherwise as a page with a link back to the form.
    pub(crate) async fn respond(
        self,
        app: &WebState,
        audience: Audience,
        title: &'static str,
        back: String,
    ) -> Result<Response, PageError> {
        let Self { status, text } = self;
        let body = match audience {
            Audience::Script => text.into_response(),
            Audience::Browser => page(&AnswerPage { frame: app.frame(title, Section::None).await, title, text, back })?,
        };
        let mut response = (status, body).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(RETRY_AFTER, axum::http::HeaderValue::from_static("10"));
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fields_are_decoded_and_trimmed() {
        let request = Request::new("a=+b%2Bc+&empty=&a=second".into());
        let fields = FormFields::from_request(request, &()).await.unwrap();
        assert_eq!((fields.text("a"), fields.raw("a")), ("b+c", " b+c "));
        assert_eq!((fields.find("empty"), fields.find("missing")), (None, None));
    }

    #[test]
    fn a_browser_prefers_html() {
        let audience = |accept: &'static str| {
            Audience::of(&HeaderMap::from_iter([(ACCEPT, axum::http::HeaderValue::from_static(accept))]))
        };
        assert_eq!(audience("text/html,application/xhtml+xml,*/*;q=0.8"), Audience::Browser);
        assert_eq!(audience("text/plain"), Audience::Script);
        assert_eq!(Audience::of(&HeaderMap::new()), Audience::Script);
    }
}
