use axum::extract::State;
use contracts::{UserOperationRole, list_user_operations, user_operations_of};
use domain::{Address, B256, Page};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadParameter, NoSuchTransaction},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{AddressInPath, FromQuery, Paging, Query, TransactionInPath, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_user_operations_of_address))
        .routes(routes!(list_user_operations_of_transaction))
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct UserOperationParams {
    #[param(ignore)]
    paging: Paging,
    /// `sender` by default.
    #[param(value_type = Option<String>, pattern = "^(sender|paymaster)$", example = "sender")]
    role: UserOperationRole,
}

impl FromQuery for UserOperationParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let role = match query.find("role")? {
            None | Some("sender") => UserOperationRole::Sender,
            Some("paymaster") => UserOperationRole::Paymaster,
            Some(_) => {
                return Err(ApiError::InvalidParameter { field: "role", rule: "must be sender or paymaster" });
            }
        };
        Ok(Self { paging: Paging::from_query(query)?, role })
    }
}

/// User operations of an account, newest first
///
/// What it asked bundlers to execute (ERC-4337), or paid for as a paymaster, through the entry points of the versions 0.6, 0.7
/// and 0.8.
#[utoipa::path(
    get,
    path = "/addresses/{address}/user-operations",
    tag = "chain",
    params(AddressInPath, Paging, UserOperationParams),
    responses((status = 200, description = "A page", body = wire::UserOperationList), BadParameter)
)]
async fn list_user_operations_of_address(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(params): ValidQuery<UserOperationParams>,
) -> Result<JsonResponse<wire::UserOperationList>, ApiError> {
    let page = list_user_operations(&*app.chain, address, params.role, params.paging.newest_first()).await?;
    let list = wire::UserOperationList::new(page, params.paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// User operations of a transaction, in log order
#[utoipa::path(
    get,
    path = "/transactions/{hash}/user-operations",
    tag = "chain",
    params(TransactionInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::UserOperationList),
        BadParameter,
        NoSuchTransaction
    )
)]
async fn list_user_operations_of_transaction(
    State(app): State<App>,
    ValidPath(hash): ValidPath<B256>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::UserOperationList>, ApiError> {
    let transaction = app.chain.find_transaction(hash).await?.ok_or(ApiError::TransactionNotFound)?;
    let all = user_operations_of(&*app.chain, hash, transaction.block_number).await?;
    let (request, total) = (paging.newest_first(), all.len() as u64);
    let skip = usize::try_from(request.offset).unwrap_or(usize::MAX);
    let items = all.into_iter().skip(skip).take(request.limit as usize).collect();
    let list = wire::UserOperationList::new(Page { items, total }, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}
