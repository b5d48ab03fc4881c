use axum::extract::State;
use domain::{Address, PageRequest, TransactionFilter};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    answer::{Answer, Freshness},
    document::{BadParameter, NoSuchAddress, NodeOrIndexUnavailable, NotModified, Unavailable},
    error::ApiError,
    params::{Paging, ValidPath, ValidQuery},
    wire,
};

const RECENT_TRANSACTIONS: u32 = 25;

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_address)).routes(routes!(list_address_tokens))
}

/// What is known of an address
#[utoipa::path(
    get,
    path = "/addresses/{address}",
    tag = "chain",
    params((
        "address" = String,
        Path,
        description = "The address in any letter case",
        pattern = "^0x[0-9a-fA-F]{40}$",
        example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5",
    )),
    responses(
        (status = 200, description = "The address", body = wire::AddressDetail),
        NotModified,
        BadParameter,
        NoSuchAddress,
        NodeOrIndexUnavailable
    )
)]
async fn get_address(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<Answer<wire::AddressDetail>, ApiError> {
    let facts = app.chain.find_address(address).await?.ok_or(ApiError::AddressNotFound)?;
    let tip = app.chain.find_tip().await?.ok_or(ApiError::NoTip)?;
    let filter = TransactionFilter::touching(address);
    let (account, recent) = tokio::try_join!(app.accounts.at(tip, address), async {
        Ok(app.chain.list_transactions(&filter, PageRequest::newest(RECENT_TRANSACTIONS)).await?)
    })?;
    let label = app.labels.find(&address);
    let token = app.chain.find_token(address).await?.map(|token| wire::Token::new(token, app.token_prefix));
    let detail = wire::AddressDetail::new(&facts, &account, label, recent.items, token);
    Ok(Answer::new(detail, Freshness::UntilNextBlock))
}

/// The tokens that an address holds
///
/// An address that holds none, or was never seen, has an empty list. Follows a moment behind the newest block.
#[utoipa::path(
    get,
    path = "/addresses/{address}/tokens",
    tag = "chain",
    params(
        (
            "address" = String,
            Path,
            description = "The address in any letter case",
            pattern = "^0x[0-9a-fA-F]{40}$",
            example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5",
        ),
        Paging
    ),
    responses(
        (status = 200, description = "A page of tokens with what is held of each", body = wire::TokenBalanceList),
        NotModified,
        BadParameter,
        Unavailable
    )
)]
async fn list_address_tokens(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<Answer<wire::TokenBalanceList>, ApiError> {
    let page = app.chain.list_address_tokens(address, paging.newest_first()).await?;
    Ok(Answer::new(wire::TokenBalanceList::new(page, app.token_prefix, paging), Freshness::UntilNextBlock))
}
