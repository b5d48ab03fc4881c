use axum::extract::State;
use domain::{Coverage, Page, PageRequest, Trade, TradeFilter};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::BadQuery,
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{QueryBody, Selection, TradeSelection, ValidBody},
    state::App,
    wire::{self, QueryRecord},
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(run_query))
}

/// Filters and lists any entity
///
/// Each entity has its own filters; tokens have none. A record must match all that are given.
#[utoipa::path(
    post,
    path = "/query",
    tag = "chain",
    request_body(
        content = QueryBody,
        description = "At most 64 KiB",
        examples(
            ("transfers" = (summary = "Transfers of a token by an address", value = json!({
                "entity": "token_transfers",
                "filter": {
                    "address": "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5",
                    "tokenAddress": "0x55d398326f99059ff775485246999027b3197955",
                    "blockFrom": 20_999_000
                },
                "limit": 50
            }))),
            ("trades" = (summary = "Trades on one exchange, oldest first", value = json!({
                "entity": "dex_trades",
                "filter": { "dex": "PancakeSwap v2", "blockFrom": 20_999_000, "blockTo": 21_000_000 },
                "orderBy": "asc"
            }))),
            ("logs" = (summary = "Approvals for an address", value = json!({
                "entity": "logs",
                "filter": {
                    "topic0": "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925",
                    "topic2": "0x00000000000000000000000095222290dd7278aa3ddd389cc1e1d165cc4bafe5"
                }
            }))),
            ("tokens" = (summary = "Tokens with the most holders", value = json!({ "entity": "tokens", "limit": 10 })))
        )
    ),
    responses(
        (status = 200, description = "The records", body = wire::QueryResponse),
        BadQuery
    )
)]
async fn run_query(
    State(app): State<App>,
    ValidBody(QueryBody { selection, window }): ValidBody<QueryBody>,
) -> Result<JsonResponse<wire::QueryResponse>, ApiError> {
    let entity = selection.entity().name();
    let coverage = app.chain.coverage().await?;
    let found = select(&app, selection, window, coverage).await?;
    let response = wire::QueryResponse::new(entity, found, window, coverage);
    Ok(JsonResponse::new(response, Freshness::Momentary).cacheable())
}

async fn select(
    app: &App,
    selection: Selection,
    window: PageRequest,
    coverage: Coverage,
) -> Result<Page<QueryRecord>, ApiError> {
    let (chain, prefix) = (&app.chain, app.token_prefix());
    Ok(match selection {
        Selection::Transactions(filter) => {
            let page = chain.list_transactions(&filter, window).await?;
            records(page, |transaction| QueryRecord::Transaction(transaction.into()))
        }
        Selection::Blocks(range) => {
            let page = chain.list_blocks(range, window).await?;
            records(page, |block| QueryRecord::Block(block.into()))
        }
        Selection::Tokens => {
            let page = chain.list_tokens(window).await?;
            let imitations = app.imitations.among(page.items.iter().collect()).await?;
            records(page, |token| QueryRecord::Token(wire::Token::new(token, prefix, coverage, &imitations)))
        }
        Selection::TokenTransfers(filter) => {
            let page = chain.list_transfers(&filter, window).await?;
            records(page, |transfer| QueryRecord::TokenTransfer(wire::TokenTransfer::new(transfer, prefix)))
        }
        Selection::Logs(filter) => {
            let page = chain.list_logs(&filter, window).await?.page;
            records(page, |log| QueryRecord::Log(log.into()))
        }
        Selection::DexTrades(selection) => {
            let page = list_trades(app, &selection, window).await?;
            let dexes = app.operator_names.dexes();
            records(page, |trade| QueryRecord::DexTrade(wire::DexTrade::new(trade, &dexes)))
        }
    })
}

fn records<T>(page: Page<T>, record: impl FnMut(T) -> QueryRecord) -> Page<QueryRecord> {
    Page { items: page.items.into_iter().map(record).collect(), total: page.total }
}

/// Several exchanges may have the same name, on this chain and on others.
async fn list_trades(app: &App, selection: &TradeSelection, window: PageRequest) -> Result<Page<Trade>, ApiError> {
    let TradeSelection { maker, dex, blocks } = selection;
    let (maker, blocks) = (*maker, *blocks);
    let exchanges = dex.as_ref().map(|dex| app.operator_names.dexes().exchanges(dex));
    Ok(app.chain.list_trades(&TradeFilter { maker, pool: None, exchanges, blocks }, window).await?)
}
