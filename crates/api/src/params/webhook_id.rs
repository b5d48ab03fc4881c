use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use domain::{DeliveryId, WebhookId};
use utoipa::IntoParams;

use super::{path::FromPathSegment, whole_number::parse_whole_number};
use crate::error::ApiError;

/// The id of a webhook in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoParams)]
#[into_params(names("id"), parameter_in = Path)]
pub(crate) struct WebhookIdParam(#[param(value_type = usize, minimum = 0, example = 3)] pub(crate) WebhookId);

impl FromPathSegment for WebhookIdParam {
    const FIELD: &'static str = "id";

    fn from_segment(segment: &str) -> Result<Self, ApiError> {
        let id = parse_whole_number(segment);
        id.map(Self).ok_or(ApiError::InvalidParameter { field: Self::FIELD, rule: "must be a whole number" })
    }
}

/// The ids of a webhook and its delivery in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeliveryPath {
    pub(crate) webhook: WebhookId,
    pub(crate) delivery: DeliveryId,
}

impl<S: Send + Sync> FromRequestParts<S> for DeliveryPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Ok(Path((webhook, delivery))) = Path::<(String, String)>::from_request_parts(parts, state).await else {
            return Err(ApiError::MalformedUrl { field: None });
        };
        let WebhookIdParam(webhook) = WebhookIdParam::from_segment(&webhook)?;
        let rule = "must be evt_ and 32 hexadecimal digits";
        let delivery = delivery.parse().map_err(|_| ApiError::InvalidParameter { field: "deliveryId", rule })?;
        Ok(Self { webhook, delivery })
    }
}
