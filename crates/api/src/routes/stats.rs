use axum::extract::State;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    answer::{Answer, Freshness},
    document::{NotModified, Unavailable},
    error::ApiError,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_stats))
}

/// Figures of the whole chain
#[utoipa::path(
    get,
    path = "/stats",
    tag = "chain",
    responses((status = 200, description = "The figures as of the newest indexed block", body = wire::Stats), NotModified, Unavailable)
)]
async fn get_stats(State(app): State<App>) -> Result<Answer<wire::Stats>, ApiError> {
    let stats = app.chain.stats().await?;
    Ok(Answer::new(stats.into(), Freshness::UntilNextBlock).of_the_index())
}
