use axum::extract::State;
use domain::Address;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::BadParameter,
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    node_call::NodeCall,
    params::{AddressInPath, Paging, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_approvals))
}

/// Approvals that an address gave
///
/// Those that no event revoked: of amounts of BEP20 tokens, of single ids of BEP721 tokens, and of all ids of BEP721 and BEP1155
/// tokens. Those first given last come first. Events do not tell how much was spent: `currentValue` and `isActive` are from the
/// contracts, at `checkedBlock`.
#[utoipa::path(
    get,
    path = "/addresses/{address}/approvals",
    tag = "chain",
    params(AddressInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::ApprovalList),
        BadParameter
    )
)]
async fn list_approvals(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
    _permit: NodeCall,
) -> Result<JsonResponse<wire::ApprovalList>, ApiError> {
    let tip = app.chain.find_tip().await?;
    let page = app.chain.list_approvals(address, paging.newest_first()).await?;
    let checked = match tip {
        Some(tip) => match app.allowances.check(address, &page.items, tip).await {
            Ok(checked) => Some(checked),
            Err(cause) => {
                let error: &dyn std::error::Error = &cause;
                tracing::debug!(error, %address, "allowances were not checked: responding from the index alone");
                None
            }
        },
        None => None,
    };
    let is_checked = checked.is_some();
    let list = wire::ApprovalList::new(page, checked, app.token_prefix(), paging, app.chain.coverage().await?);
    let response = JsonResponse::new(list, Freshness::UntilNextBlock);
    // What the events alone say is not cached: the node may answer the next time.
    Ok(if is_checked { response.cacheable() } else { response })
}
