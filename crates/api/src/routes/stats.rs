use axum::extract::State;
use domain::{BlockRange, PageRequest, RecentGas, TransactionFilter};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadParameter, NoSuchBlock},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{FromQuery, Query, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_stats)).routes(routes!(list_days)).routes(routes!(get_gas))
}

/// Statistics of the whole chain
#[utoipa::path(
    get,
    path = "/stats",
    tag = "chain",
    responses((status = 200, description = "The statistics", body = wire::Stats))
)]
async fn get_stats(State(app): State<App>) -> Result<JsonResponse<wire::Stats>, ApiError> {
    let stats = wire::Stats::new(app.chain.stats().await?, app.chain.coverage().await?);
    Ok(JsonResponse::new(stats, Freshness::UntilNextBlock).cacheable())
}

const DEFAULT_DAYS: u32 = 30;
const MAX_DAYS: u32 = 366;

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListDaysParams {
    /// More than 366 is treated as 366.
    #[param(value_type = usize, required = false, minimum = 1, default = 30, example = 30)]
    days: u32,
}

impl FromQuery for ListDaysParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let field = "days";
        let days = query.find_whole_number(field)?.unwrap_or(u64::from(DEFAULT_DAYS));
        if days == 0 {
            return Err(ApiError::InvalidParameter { field, rule: "must be a whole number of at least 1" });
        }
        Ok(Self { days: u32::try_from(days).unwrap_or(MAX_DAYS).min(MAX_DAYS) })
    }
}

/// Statistics by day (UTC), the oldest first
///
/// Days before the first indexed block are left out.
#[utoipa::path(
    get,
    path = "/stats/days",
    tag = "chain",
    params(ListDaysParams),
    responses((status = 200, description = "The days", body = wire::DayList), BadParameter)
)]
async fn list_days(
    State(app): State<App>,
    ValidQuery(params): ValidQuery<ListDaysParams>,
) -> Result<JsonResponse<wire::DayList>, ApiError> {
    let days = app.chain.list_days(params.days).await?;
    let list = wire::DayList::new(days, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// What gas costs now
///
/// From the newest 500 transactions of the newest 20 blocks.
#[utoipa::path(
    get,
    path = "/stats/gas",
    tag = "chain",
    responses((status = 200, description = "The prices", body = wire::GasPrices), NoSuchBlock)
)]
async fn get_gas(State(app): State<App>) -> Result<JsonResponse<wire::GasPrices>, ApiError> {
    let blocks = app.chain.list_blocks(BlockRange::ALL, PageRequest::newest(RecentGas::BLOCKS)).await?.items;
    let newest = PageRequest::newest(RecentGas::MAX_TRANSACTIONS);
    let transactions = app.chain.list_transactions(&TransactionFilter::default(), newest).await?.items;
    let gas = RecentGas::of(&blocks, &transactions).ok_or(ApiError::BlockNotFound)?;
    Ok(JsonResponse::new(gas.into(), Freshness::UntilNextBlock).cacheable())
}
