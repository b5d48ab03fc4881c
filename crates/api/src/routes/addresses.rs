use axum::extract::State;
use domain::{Address, AddressOverview, Code};
use enrichment::{AccountSource, SourcedAccount};
use store::VerifiedContracts;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    ApiState,
    document::{BadParameter, NoSuchAddress, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    node_call::NodeCall,
    params::{AddressInPath, Paging, ValidPath, ValidQuery},
    state::App,
    wire,
};

const RECENT_TRANSACTIONS: u32 = 25;

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_address)).routes(routes!(list_address_tokens))
}

/// One address
///
/// An address that no indexed block contains is found if the node knows a balance, a nonce or code. If the node does not answer,
/// the last known balance is returned, or 503 `node_unavailable`.
#[utoipa::path(
    get,
    path = "/addresses/{address}",
    tag = "chain",
    params(AddressInPath),
    responses(
        (status = 200, description = "The address", body = wire::AddressDetail),
        BadParameter,
        NoSuchAddress,
        Unavailable
    )
)]
async fn get_address(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    _permit: NodeCall,
) -> Result<JsonResponse<wire::AddressDetail>, ApiError> {
    let Some(overview) = app.chain.find_address_overview(address, RECENT_TRANSACTIONS).await? else {
        return get_unindexed(&app, address).await;
    };
    let AddressOverview {
        tip,
        summary,
        transfer_count,
        trade_count,
        internal_tx_count,
        log_count,
        traced_range,
        recent,
        token,
    } = overview;
    // The index has everything except the balance and the code. Without these, the request is refused: their types have no
    // value for "unknown".
    let SourcedAccount { account, source } = app.accounts.get_with_source(tip, address).await?;
    let coverage = app.chain.coverage().await?;
    let labels = app.operator_names.labels();
    let label = labels.find(&address);
    let imitations = app.imitations.among(token.iter().collect()).await?;
    let token = token.map(|token| wire::Token::new(token, app.token_prefix(), coverage, &imitations));
    let verified = find_source(&*app.verified, address, account.code).await?;
    let delegates_since = app.delegation_starts.find(address, &account, &|| true).await;
    let detail = wire::AddressDetail::new(&summary, &account, label, recent, token)
        .with_delegation_since(delegates_since)
        .with_counts(transfer_count, trade_count, log_count)
        .with_internal(internal_tx_count, traced_range)
        .with_source(verified);
    let response = JsonResponse::new(detail.with_coverage(coverage), Freshness::UntilNextBlock);
    // An account at the tip is valid until the tip changes; an older one only until the node responds again.
    Ok(match source {
        AccountSource::Node => response.cacheable(),
        AccountSource::Store => response,
    })
}

/// An address that no indexed block contains: found if the node knows a balance, a nonce or code.
async fn get_unindexed(app: &ApiState, address: Address) -> Result<JsonResponse<wire::AddressDetail>, ApiError> {
    let tip = app.chain.find_tip().await?.ok_or(ApiError::AddressNotFound)?;
    let account = app.accounts.find_unindexed(tip, address, &|| true).await?.ok_or(ApiError::AddressNotFound)?;
    let source = find_source(&*app.verified, address, account.code).await?;
    let labels = app.operator_names.labels();
    let delegates_since = app.delegation_starts.find(address, &account, &|| true).await;
    let detail = wire::AddressDetail::unindexed(address, &account, labels.find(&address))
        .with_source(source)
        .with_delegation_since(delegates_since);
    let response = JsonResponse::new(detail.with_coverage(app.chain.coverage().await?), Freshness::UntilNextBlock);
    Ok(if account.block == tip.number { response.cacheable() } else { response })
}

/// Tokens held by an address
///
/// In the order of their first appearance on the chain. May lag the newest block by a moment.
#[utoipa::path(
    get,
    path = "/addresses/{address}/tokens",
    tag = "chain",
    params(
        AddressInPath,
        Paging
    ),
    responses(
        (status = 200, description = "A page", body = wire::TokenBalanceList),
        BadParameter
    )
)]
async fn list_address_tokens(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::TokenBalanceList>, ApiError> {
    let page = app.chain.list_address_tokens(address, paging.newest_first()).await?;
    let imitations = app.imitations.among(page.items.iter().map(|held| &held.token).collect()).await?;
    let list = wire::TokenBalanceList::new(page, app.token_prefix(), paging, app.chain.coverage().await?, &imitations);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// The verified source of the code at an address.
async fn find_source(
    verified: &dyn VerifiedContracts,
    address: Address,
    code: Code,
) -> Result<Option<wire::KnownSource>, ApiError> {
    let Some(hash) = code.hash() else { return Ok(None) };
    let summary = verified.find_verified_summary(address, hash).await?;
    Ok(summary.map(|summary| wire::KnownSource { name: summary.name, twin_of: summary.twin_of }))
}
