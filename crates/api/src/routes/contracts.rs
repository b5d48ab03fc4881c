use axum::extract::State;
use client_address::Client;
use contracts::calls::FunctionCall;
use domain::{Address, B256, BlockId, BlockRef};
use node::CallBlock;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    ApiState,
    document::{BadCall, BadParameter, CallFailed, NotVerified, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    node_call::NodeCall,
    params::{AddressInPath, Paging, ValidBody, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_contracts))
        .routes(routes!(get_contract))
        .routes(routes!(call_contract, call_contract_by_query))
}

/// Verified contracts
#[utoipa::path(
    get,
    path = "/contracts",
    tag = "contracts",
    params(Paging),
    responses(
        (status = 200, description = "A page", body = wire::ContractList),
        BadParameter
    )
)]
async fn list_contracts(
    State(app): State<App>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::ContractList>, ApiError> {
    let page = app.verified.list_verified(paging.newest_first()).await?;
    Ok(JsonResponse::new(wire::ContractList::new(page, paging), Freshness::UntilNextBlock).cacheable())
}

/// A verified contract with its sources and ABI
///
/// Also available if the same bytecode was verified at another address, which is then in `twinOf`.
#[utoipa::path(
    get,
    path = "/contracts/{address}",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The contract", body = wire::VerifiedContract),
        BadParameter,
        NotVerified,
        Unavailable
    )
)]
async fn get_contract(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    _permit: NodeCall,
) -> Result<JsonResponse<wire::VerifiedContract>, ApiError> {
    let hash = code_hash(&app, address).await?;
    let contract = app.verified_deployments.find(address, hash).await?.ok_or(ApiError::ContractNotVerified)?;
    // The sources are useful even if the node cannot resolve the proxy now, which the response says.
    let delegation = app.delegations.find_delegation(address).await;
    let delegation = delegation.inspect_err(|error| tracing::debug!(%error, "proxy unknown")).ok();
    Ok(JsonResponse::new(wire::VerifiedContract::new(contract, delegation.as_deref()), Freshness::UntilNextBlock))
}

/// The hash of the current code at an address.
pub(super) async fn code_hash(app: &ApiState, address: Address) -> Result<B256, ApiError> {
    let tip = app.chain.find_tip().await?.ok_or(ApiError::ContractNotVerified)?;
    app.accounts.get(tip, address).await?.code.hash().ok_or(ApiError::ContractNotVerified)
}

/// Calls a read-only function of a verified contract
///
/// A proxy is called with the ABI of its implementation, a diamond (EIP-2535) with the ABIs of its facets.
#[utoipa::path(
    post,
    path = "/contracts/{address}/call",
    tag = "contracts",
    params(AddressInPath),
    request_body = wire::CallRequest,
    responses(
        (status = 200, description = "The return value", body = wire::CallResponse),
        BadCall,
        NotVerified,
        CallFailed,
        Unavailable
    )
)]
async fn call_contract(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    client: Client,
    ValidBody(request): ValidBody<wire::CallRequest>,
) -> Result<JsonResponse<wire::CallResponse>, ApiError> {
    let _permit = NodeCall::by(&app, client).await?;
    call(&app, address, request).await
}

/// The same call with parameters in the URL
#[utoipa::path(
    get,
    path = "/contracts/{address}/call",
    tag = "contracts",
    params(
        AddressInPath,
        wire::CallRequest
    ),
    responses(
        (status = 200, description = "The return value", body = wire::CallResponse),
        BadCall,
        NotVerified,
        CallFailed,
        Unavailable
    )
)]
async fn call_contract_by_query(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(request): ValidQuery<wire::CallRequest>,
    _permit: NodeCall,
) -> Result<JsonResponse<wire::CallResponse>, ApiError> {
    call(&app, address, request).await
}

async fn call(
    app: &ApiState,
    address: Address,
    request: wire::CallRequest,
) -> Result<JsonResponse<wire::CallResponse>, ApiError> {
    let at = match request.block_number {
        None => CallBlock::Latest,
        Some(number) => {
            let block = app.chain.find_block(BlockId::Number(number)).await?.ok_or(ApiError::BlockNotFound)?;
            CallBlock::At(BlockRef { number: block.number, hash: block.hash })
        }
    };
    let arguments = request.args.iter().map(AsRef::as_ref).collect();
    let call = FunctionCall { address, function: &request.function_name, arguments, from: request.from, at };
    let result = app.calls.call(&call).await?;
    Ok(JsonResponse::new(wire::CallResponse { result }, Freshness::Momentary))
}
