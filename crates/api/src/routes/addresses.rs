use axum::extract::State;
use domain::{Address, AddressOverview, Code};
use store::VerifiedContracts;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    accounts::{Told, ToldWhen},
    answer::{Answer, Freshness},
    document::{BadParameter, NoSuchAddress, NodeOrIndexUnavailable, NotModified, Unavailable},
    error::ApiError,
    params::{AddressInPath, Paging, ValidPath, ValidQuery},
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
    params(AddressInPath),
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
    let overview = app.chain.find_address_overview(address, RECENT_TRANSACTIONS).await?;
    let AddressOverview { tip, facts, recent, token } = overview.ok_or(ApiError::AddressNotFound)?;
    let Told { account, when } = app.accounts.told_at(tip, address).await?;
    let label = app.labels.find(&address);
    let token = token.map(|token| wire::Token::new(token, app.token_prefix));
    let source = find_source(&*app.verified, address, account.code).await?;
    let detail = wire::AddressDetail::new(&facts, &account, label, recent, token).with_source(source);
    let answer = Answer::new(detail, Freshness::UntilNextBlock);
    Ok(match when {
        // What the node says of an account at a block is as settled as the block.
        ToldWhen::OfTheTip => answer.of_the_index(),
        // Told again only until the node answers.
        ToldWhen::Earlier => answer,
    })
}

/// The tokens that an address holds
///
/// An address that holds none, or was never seen, has an empty list. Follows a moment behind the newest block.
#[utoipa::path(
    get,
    path = "/addresses/{address}/tokens",
    tag = "chain",
    params(
        AddressInPath,
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
    Ok(Answer::new(wire::TokenBalanceList::new(page, app.token_prefix, paging), Freshness::UntilNextBlock)
        .of_the_index())
}

/// The source code that is known of the code at an address.
async fn find_source(
    verified: &dyn VerifiedContracts,
    address: Address,
    code: Code,
) -> Result<Option<wire::KnownSource>, ApiError> {
    let Some(hash) = code.hash() else { return Ok(None) };
    let summary = verified.find_verified_summary(address, hash).await?;
    Ok(summary.map(|summary| wire::KnownSource { name: summary.name, twin_of: summary.twin_of }))
}
