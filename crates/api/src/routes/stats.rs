use axum::extract::State;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    document::{NotModified, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_stats))
}

/// Statistics of the whole chain
#[utoipa::path(
    get,
    path = "/stats",
    tag = "chain",
    responses((status = 200, description = "The statistics at the newest indexed block", body = wire::Stats), NotModified, Unavailable)
)]
async fn get_stats(State(app): State<App>) -> Result<JsonResponse<wire::Stats>, ApiError> {
    let stats = wire::Stats::new(app.chain.stats().await?, app.chain.coverage().await?);
    Ok(JsonResponse::new(stats, Freshness::UntilNextBlock).cacheable())
}
