use axum::extract::State;
use domain::Address;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    document::{BadParameter, NotModified, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{AddressInPath, Paging, ValidPath, ValidQuery},
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_approvals))
}

/// Approvals that an address gave
///
/// Those that no event revoked: of amounts of BEP20 tokens, of single ids of BEP721 tokens, and of all ids of BEP721 and BEP1155
/// tokens. Those first given last come first. The contracts of a page are asked what they still allow, since events do not tell
/// how much was spent: `currentValue` and `isActive`, at `checkedBlock`. If the node does not answer, these are null.
#[utoipa::path(
    get,
    path = "/addresses/{address}/approvals",
    tag = "chain",
    params(AddressInPath, Paging),
    responses(
        (status = 200, description = "A page of approvals", body = wire::ApprovalList),
        NotModified,
        BadParameter,
        Unavailable
    )
)]
async fn list_approvals(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::ApprovalList>, ApiError> {
    let tip = app.chain.find_tip().await?;
    let page = app.chain.list_approvals(address, paging.newest_first()).await?;
    let checked = match tip {
        Some(tip) => app.allowances.check(address, &page.items, tip).await,
        None => return Ok(respond(wire::ApprovalList::new(page, None, app.token_prefix, paging))),
    };
    match checked {
        Ok(checked) => Ok(respond(wire::ApprovalList::new(page, Some(checked), app.token_prefix, paging)).cacheable()),
        // The index has what the events say. Not cached: the node may answer the next time.
        Err(cause) => {
            let error: &dyn std::error::Error = &cause;
            tracing::debug!(error, %address, "allowances were not checked: responding from the index alone");
            Ok(respond(wire::ApprovalList::new(page, None, app.token_prefix, paging)))
        }
    }
}

fn respond(body: wire::ApprovalList) -> JsonResponse<wire::ApprovalList> {
    JsonResponse::new(body, Freshness::UntilNextBlock)
}
