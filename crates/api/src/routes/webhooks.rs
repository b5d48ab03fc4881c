use axum::{extract::State, http::StatusCode};
use domain::WebhookId;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{
        BadBody, BadParameter, NeedsKey, NoSuchDelivery, NoSuchWebhook, NotOwner, TooManyWebhooks, WebhookConflict,
        WebhookQuota,
    },
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    keys::OwnerGuard,
    params::{DeliveryPath, OwnerParams, Paging, ValidBody, ValidPath, ValidQuery, WebhookIdParam},
    state::App,
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

/// Rejects callers that do not own the webhook, as if it did not exist.
async fn must_own(app: &App, guard: &OwnerGuard, id: WebhookId) -> Result<(), ApiError> {
    guard.must_be_known()?;
    let webhook = app.webhooks.get(id).await?;
    if guard.hides(webhook.owner) { Err(ApiError::WebhookNotFound) } else { Ok(()) }
}

/// Webhooks of an owner
#[utoipa::path(
    get,
    path = "/webhooks",
    tag = "webhooks",
    params(OwnerParams),
    responses(
        (status = 200, description = "The webhooks", body = wire::WebhookList),
        BadParameter,
        NeedsKey,
        NotOwner
    )
)]
async fn list_webhooks(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidQuery(params): ValidQuery<OwnerParams>,
) -> Result<JsonResponse<wire::WebhookList>, ApiError> {
    guard.must_be(params.owner)?;
    let webhooks = app.webhooks.list(params.owner).await?;
    Ok(JsonResponse::new(webhooks.into(), Freshness::Momentary))
}

/// Creates a webhook
///
/// Sends signed messages to its URL for events of the watched address in blocks indexed from now on.
#[utoipa::path(
    post,
    path = "/webhooks",
    tag = "webhooks",
    request_body = wire::NewWebhookRequest,
    responses(
        (status = 201, description = "The webhook with its secret, which is shown only once", body = wire::CreatedWebhook),
        BadBody,
        NeedsKey,
        NotOwner,
        WebhookQuota,
        TooManyWebhooks
    )
)]
async fn create_webhook(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidBody(request): ValidBody<wire::NewWebhookRequest>,
) -> Result<(StatusCode, JsonResponse<wire::CreatedWebhook>), ApiError> {
    guard.must_be(request.owner_address)?;
    let registered = app.webhooks.register(request.registration()).await?;
    tracing::info!(id = registered.webhook.id, owner = %registered.webhook.owner, "webhook created");
    Ok((StatusCode::CREATED, JsonResponse::new(registered.into(), Freshness::Momentary)))
}

/// Changes a webhook
#[utoipa::path(
    patch,
    path = "/webhooks/{id}",
    tag = "webhooks",
    params(WebhookIdParam),
    request_body = wire::WebhookChangeRequest,
    responses(
        (status = 200, description = "The webhook", body = wire::Webhook),
        BadBody,
        NeedsKey,
        NoSuchWebhook
    )
)]
async fn change_webhook(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
    ValidBody(request): ValidBody<wire::WebhookChangeRequest>,
) -> Result<JsonResponse<wire::Webhook>, ApiError> {
    must_own(&app, &guard, id).await?;
    let webhook = app.webhooks.change(id, request.into()).await?;
    Ok(JsonResponse::new(webhook.into(), Freshness::Momentary))
}

/// Deletes a webhook and its queue
#[utoipa::path(
    delete,
    path = "/webhooks/{id}",
    tag = "webhooks",
    params(WebhookIdParam),
    responses(
        (status = 200, description = "The webhook is deleted", body = wire::DeletedWebhook),
        BadParameter,
        NeedsKey,
        NoSuchWebhook
    )
)]
async fn delete_webhook(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
) -> Result<JsonResponse<wire::DeletedWebhook>, ApiError> {
    must_own(&app, &guard, id).await?;
    app.webhooks.delete(id).await?;
    tracing::info!(id, "webhook deleted");
    Ok(JsonResponse::new(wire::DeletedWebhook::new(id), Freshness::Momentary))
}

/// Deliveries of the last 7 days and pending ones
#[utoipa::path(
    get,
    path = "/webhooks/{id}/deliveries",
    tag = "webhooks",
    params(WebhookIdParam, Paging),
    responses(
        (status = 200, description = "A page", body = wire::DeliveryList),
        BadParameter,
        NeedsKey,
        NoSuchWebhook
    )
)]
async fn list_deliveries(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::DeliveryList>, ApiError> {
    must_own(&app, &guard, id).await?;
    let page = app.webhooks.deliveries(id, paging.newest_first()).await?;
    Ok(JsonResponse::new(wire::DeliveryList::new(page, paging), Freshness::Momentary))
}

/// Sends a test message
#[utoipa::path(
    post,
    path = "/webhooks/{id}/ping",
    tag = "webhooks",
    params(WebhookIdParam),
    responses(
        (status = 202, description = "The message is queued", body = wire::QueuedDelivery),
        BadParameter,
        NeedsKey,
        NoSuchWebhook,
        WebhookConflict
    )
)]
async fn ping_webhook(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
) -> Result<(StatusCode, JsonResponse<wire::QueuedDelivery>), ApiError> {
    must_own(&app, &guard, id).await?;
    let delivery = app.webhooks.ping(id).await?;
    Ok((StatusCode::ACCEPTED, JsonResponse::new(delivery.into(), Freshness::Momentary)))
}

/// Sends a message again, with the same id and the same bytes
#[utoipa::path(
    post,
    path = "/webhooks/{id}/deliveries/{deliveryId}/redeliver",
    tag = "webhooks",
    params(
        WebhookIdParam,
        (
            "deliveryId" = String,
            Path,
            pattern = "^evt_[0-9a-fA-F]{32}$",
            example = "evt_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
        )
    ),
    responses(
        (status = 202, description = "The message is queued", body = wire::QueuedDelivery),
        BadParameter,
        NeedsKey,
        NoSuchDelivery,
        WebhookConflict
    )
)]
async fn redeliver(
    State(app): State<App>,
    guard: OwnerGuard,
    DeliveryPath { webhook, delivery }: DeliveryPath,
) -> Result<(StatusCode, JsonResponse<wire::QueuedDelivery>), ApiError> {
    must_own(&app, &guard, webhook).await?;
    let delivery = app.webhooks.redeliver(webhook, delivery).await?;
    Ok((StatusCode::ACCEPTED, JsonResponse::new(delivery.into(), Freshness::Momentary)))
}

/// Rotates the secret of a webhook; the old one remains valid for 24 hours
#[utoipa::path(
    post,
    path = "/webhooks/{id}/rotate-secret",
    tag = "webhooks",
    params(WebhookIdParam),
    responses(
        (status = 200, description = "The new secret, which is shown only once", body = wire::RotatedSecret),
        BadParameter,
        NeedsKey,
        NoSuchWebhook
    )
)]
async fn rotate_secret(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidPath(WebhookIdParam(id)): ValidPath<WebhookIdParam>,
) -> Result<JsonResponse<wire::RotatedSecret>, ApiError> {
    must_own(&app, &guard, id).await?;
    let (registered, until) = app.webhooks.rotate_secret(id).await?;
    tracing::info!(id, "secret rotated");
    Ok(JsonResponse::new(wire::RotatedSecret::new(registered, until), Freshness::Momentary))
}
