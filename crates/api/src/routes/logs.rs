use axum::extract::State;
use domain::{Address, B256, LogFilter};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::BadParameter,
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{Blocks, FromQuery, Paging, Query, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_logs))
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListLogsParams {
    #[param(ignore)]
    paging: Paging,
    /// The contract that emitted them.
    #[param(value_type = Option<wire::AnyCaseAddress>)]
    address: Option<Address>,
    /// The hash of the event's signature, unless the event is anonymous.
    #[param(value_type = Option<wire::AnyCaseHash>, example = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")]
    topic0: Option<B256>,
    #[param(value_type = Option<wire::AnyCaseHash>)]
    topic1: Option<B256>,
    #[param(value_type = Option<wire::AnyCaseHash>)]
    topic2: Option<B256>,
    #[param(value_type = Option<wire::AnyCaseHash>)]
    topic3: Option<B256>,
    #[param(ignore)]
    blocks: Blocks,
}

impl FromQuery for ListLogsParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self {
            paging: Paging::from_query(query)?,
            address: query.find_address()?,
            topic0: query.find_hash("topic0")?,
            topic1: query.find_hash("topic1")?,
            topic2: query.find_hash("topic2")?,
            topic3: query.find_hash("topic3")?,
            blocks: Blocks::from_query(query)?,
        })
    }
}

impl ListLogsParams {
    fn filter(&self) -> LogFilter {
        LogFilter {
            address: self.address,
            topics: [self.topic0, self.topic1, self.topic2, self.topic3],
            blocks: self.blocks.range(),
        }
    }
}

/// Logs, newest first
///
/// A log must match all that are given.
#[utoipa::path(
    get,
    path = "/logs",
    tag = "chain",
    params(Paging, ListLogsParams, Blocks),
    responses(
        (status = 200, description = "A page", body = wire::LogList),
        BadParameter
    )
)]
async fn list_logs(
    State(app): State<App>,
    ValidQuery(params): ValidQuery<ListLogsParams>,
) -> Result<JsonResponse<wire::LogList>, ApiError> {
    let found = app.chain.list_logs(&params.filter(), params.paging.newest_first()).await?;
    let list = wire::LogList::new(found, params.paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}
