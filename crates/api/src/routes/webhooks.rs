use axum::{extract::State, http::StatusCode};
use domain::WebhookId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    OwnerAccess,
    document::{
        BadBody, BadParameter, NeedsKey, NoRoomForWebhooks, NoSuchDelivery, NoSuchWebhook, NotYours, Unavailable,
        WebhookConflict, WebhookQuota,
    },
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    keys::Caller,
    params::{DeliveryPath, OwnerParams, Paging, ValidBody, ValidPath, ValidQuery, WebhookIdParam},
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_webhooks, create_webhook))
        .routes(routes!(change_webhook, delete_webhook))
        .routes(routes!(list_deliveries))
        .routes(routes!(ping_webhook))
        .routes(routes!(redeliver))
        .routes(routes!(rotate_secret))
}

/// Whose the webhook is decides; of another owner's it is not even said that there is one.
async fn must_own(app: &App, caller: &Caller, id: WebhookId) -> Result<(), ApiError> {
    let asking = match app.access {
        OwnerAccess::Guarded => Some(caller.must_have_key()?),
        OwnerAccess::Open => None,
    };
    let webhook = app.webhooks.get(id).await?;
    if asking.is_some_and(|asking| asking != webhook.owner) { Err(ApiError::WebhookNotFound) } else { Ok(()) }
}

/// The webhooks of an owner
#[utoipa::path(
    get,
    path = "/webhooks",
    tag = "webhooks",
    params(OwnerParams),
    responses(
        (status = 200, description = "The webhooks, newest first", body = wire::WebhookList),
        BadParameter,
        NeedsKey,
        NotYours,
        Unavailable
    )
)]
async fn list_webhooks(
    State(app): State<App>,
    caller: Caller,
    ValidQuery(params): ValidQuery<OwnerParams>,
) -> Result<JsonResponse<wire::WebhookList>, ApiError> {
    caller.must_be(params.owner, app.access)?;
    let webhooks = app.webhooks.list(params.owner).await?;
    Ok(JsonResponse::new(webhooks.into(), Freshness::Momentary))
}

/// A new webhook
///
/// Signed messages are posted to its URL for what happens at the watched address in blocks indexed from now on.
#[utoipa::path(
    post,
    path = "/webhooks",
    tag = "webhooks",
    request_body = wire::NewWebhookRequest,
    responses(
        (status = 201, description = "The webhook, with its secret for the only time", body = wire::CreatedWebhook),
        BadBody,
        NeedsKey,
        NotYours,
        WebhookQuota,
        NoRoomForWebhooks
    )
)]
async fn create_webhook(
    State(app): State<App>,
    caller: Caller,
    ValidBody(request): ValidBody<wire::NewWebhookRequest>,
) -> Result<(StatusCode, JsonResponse<wire::CreatedWebhook>), ApiError> {
    caller.must_be(request.owner_address, app.access)?;
    let registered = app.webhooks.register(request.registration()).await?;
    tracing::info!(id = registered.webhook.id, owner = %registered.webhook.owner, "webhook made");
    Ok((StatusCode::CREATED, JsonResponse::new(registered.into(), Freshness::Momentary)))
}

/// Changes a webhook
#[utoipa::path(
    patch,
    path = "/webhooks/{id}",
    tag = "webhooks",
    params(("id" = usize, Path, description = "The webhook's number", minimum = 0, example = 3)),
    request_body = wire::WebhookChangeRequest,
    responses(
        (status = 200, description = "The webhook as it is now", body = wire::Webhook),
        BadBody,
        NeedsKey,
        NoSuchWebhook,
        Unavailable
    )
)]
async fn change_webhook(
    State(app): State<App>,
    caller: Caller,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
    ValidBody(request): ValidBody<wire::WebhookChangeRequest>,
) -> Result<JsonResponse<wire::Webhook>, ApiError> {
    must_own(&app, &caller, id).await?;
    let webhook = app.webhooks.change(id, request.into()).await?;
    Ok(JsonResponse::new(webhook.into(), Freshness::Momentary))
}

/// Deletes a webhook, with all that is queued for it
#[utoipa::path(
    delete,
    path = "/webhooks/{id}",
    tag = "webhooks",
    params(("id" = usize, Path, description = "The webhook's number", minimum = 0, example = 3)),
    responses(
        (status = 200, description = "The webhook is deleted", body = wire::DeletedWebhook),
        BadParameter,
        NeedsKey,
        NoSuchWebhook,
        Unavailable
    )
)]
async fn delete_webhook(
    State(app): State<App>,
    caller: Caller,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
) -> Result<JsonResponse<wire::DeletedWebhook>, ApiError> {
    must_own(&app, &caller, id).await?;
    app.webhooks.delete(id).await?;
    tracing::info!(id, "webhook deleted");
    Ok(JsonResponse::new(wire::DeletedWebhook::new(id), Freshness::Momentary))
}

/// What was sent to a webhook in the last 7 days, or is to be
#[utoipa::path(
    get,
    path = "/webhooks/{id}/deliveries",
    tag = "webhooks",
    params(("id" = usize, Path, description = "The webhook's number", minimum = 0, example = 3), Paging),
    responses(
        (status = 200, description = "A page of deliveries, newest first", body = wire::DeliveryList),
        BadParameter,
        NeedsKey,
        NoSuchWebhook,
        Unavailable
    )
)]
async fn list_deliveries(
    State(app): State<App>,
    caller: Caller,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::DeliveryList>, ApiError> {
    must_own(&app, &caller, id).await?;
    let page = app.webhooks.deliveries(id, paging.newest_first()).await?;
    Ok(JsonResponse::new(wire::DeliveryList::new(page, paging), Freshness::Momentary))
}

/// Sends a trial message
#[utoipa::path(
    post,
    path = "/webhooks/{id}/ping",
    tag = "webhooks",
    params(("id" = usize, Path, description = "The webhook's number", minimum = 0, example = 3)),
    responses(
        (status = 202, description = "The message is queued", body = wire::QueuedDelivery),
        BadParameter,
        NeedsKey,
        NoSuchWebhook,
        WebhookConflict,
        Unavailable
    )
)]
async fn ping_webhook(
    State(app): State<App>,
    caller: Caller,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
) -> Result<(StatusCode, JsonResponse<wire::QueuedDelivery>), ApiError> {
    must_own(&app, &caller, id).await?;
    let delivery = app.webhooks.ping(id).await?;
    Ok((StatusCode::ACCEPTED, JsonResponse::new(delivery.into(), Freshness::Momentary)))
}

/// Sends a message again, with the same id and the same bytes
#[utoipa::path(
    post,
    path = "/webhooks/{id}/deliveries/{deliveryId}/redeliver",
    tag = "webhooks",
    params(
        ("id" = usize, Path, description = "The webhook's number", minimum = 0, example = 3),
        (
            "deliveryId" = String,
            Path,
            description = "The delivery's id",
            pattern = "^evt_[0-9a-fA-F]{32}$",
            example = "evt_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
        )
    ),
    responses(
        (status = 202, description = "The message is queued", body = wire::QueuedDelivery),
        BadParameter,
        NeedsKey,
        NoSuchDelivery,
        WebhookConflict,
        Unavailable
    )
)]
async fn redeliver(
    State(app): State<App>,
    caller: Caller,
    DeliveryPath { webhook, delivery }: DeliveryPath,
) -> Result<(StatusCode, JsonResponse<wire::QueuedDelivery>), ApiError> {
    must_own(&app, &caller, webhook).await?;
    let delivery = app.webhooks.redeliver(webhook, delivery).await?;
    Ok((StatusCode::ACCEPTED, JsonResponse::new(delivery.into(), Freshness::Momentary)))
}

/// Gives a webhook a new secret; the old one signs beside it for 24 hours
#[utoipa::path(
    post,
    path = "/webhooks/{id}/rotate-secret",
    tag = "webhooks",
    params(("id" = usize, Path, description = "The webhook's number", minimum = 0, example = 3)),
    responses(
        (status = 200, description = "The new secret, for the only time", body = wire::RotatedSecret),
        BadParameter,
        NeedsKey,
        NoSuchWebhook,
        Unavailable
    )
)]
async fn rotate_secret(
    State(app): State<App>,
    caller: Caller,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
) -> Result<JsonResponse<wire::RotatedSecret>, ApiError> {
    must_own(&app, &caller, id).await?;
    let (registered, until) = app.webhooks.rotate_secret(id).await?;
    tracing::info!(id, "secret rotated");
    Ok(JsonResponse::new(wire::RotatedSecret::new(registered, until), Freshness::Momentary))
}
