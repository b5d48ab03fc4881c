use std::time::Instant;

use axum::{extract::State, http::StatusCode};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    json_response::{Freshness, JsonResponse},
    state::App,
    wire::Health,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_health)).routes(routes!(get_health_live)).routes(routes!(get_health_ready))
}

/// Health of the service
#[utoipa::path(
    get,
    path = "/health",
    tag = "health",
    responses((status = 200, description = "The process is alive", body = Health))
)]
async fn get_health(State(app): State<App>) -> JsonResponse<Health> {
    response(health_of(&app))
}

/// Liveness: whether the process responds
#[utoipa::path(
    get,
    path = "/health/live",
    tag = "health",
    responses((status = 200, description = "The process is alive", body = Health))
)]
async fn get_health_live(State(app): State<App>) -> JsonResponse<Health> {
    response(health_of(&app))
}

/// Readiness: whether this process could answer now, from an index that is complete enough
#[utoipa::path(
    get,
    path = "/health/ready",
    tag = "health",
    responses(
        (status = 200, description = "Ready", body = Health),
        (status = 503, description = "Not ready", body = Health)
    )
)]
async fn get_health_ready(State(app): State<App>) -> (StatusCode, JsonResponse<Health>) {
    let health = health_of(&app);
    let status = if health.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, response(health))
}

fn health_of(app: &App) -> Health {
    let now = Instant::now();
    Health::new(&app.sync.borrow(), now, unix_time::now())
        .with_tasks(&app.tasks.borrow())
        .with_webhooks(app.webhooks.totals())
        .with_replica(app.replica.as_ref().map(|replica| replica.borrow().clone()))
        .with_database(app.database.as_ref().map(|database| *database.borrow()), now)
        .with_rejected_block(app.node.status().rejected_block)
}

fn response(health: Health) -> JsonResponse<Health> {
    JsonResponse::new(health, Freshness::Momentary)
}
