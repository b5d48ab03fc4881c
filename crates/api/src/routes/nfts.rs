use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use domain::{Address, Nft};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    ApiState,
    document::{BadParameter, ImagePending, NoImage, NoSuchToken, NoSuchTokenId},
    error::ApiError,
    json_response::{Freshness, JsonResponse, entity_tag},
    params::{AddressInPath, Paging, TokenIdPath, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_token_ids))
        .routes(routes!(get_token_id))
        .routes(routes!(refresh_token_id_metadata))
        .routes(routes!(get_token_id_image))
        .routes(routes!(list_token_id_holders))
        .routes(routes!(list_token_id_transfers))
        .routes(routes!(list_address_nfts))
}

/// Ids of a BEP721 or BEP1155 token
///
/// Every id that was ever transferred, also burned ones; those that were first transferred last come first.
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids",
    tag = "chain",
    params(AddressInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::NftList),
        BadParameter,
        NoSuchToken
    )
)]
async fn list_token_ids(
    State(app): State<App>,
    ValidPath(token): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::NftList>, ApiError> {
    let page = app.chain.list_nfts(token, paging.newest_first()).await?.ok_or(ApiError::TokenNotFound)?;
    let list = wire::NftList::new(page, app.token_prefix(), paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// One id of a BEP721 or BEP1155 token
///
/// If the operator turned it on, with the metadata that its contract names. It is fetched when somebody asks for it; if that takes
/// longer than a few seconds, its state is `pending`.
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids/{id}",
    tag = "chain",
    params(TokenIdPath),
    responses(
        (status = 200, description = "The id", body = wire::NftDetail),
        BadParameter,
        NoSuchTokenId
    )
)]
async fn get_token_id(State(app): State<App>, path: TokenIdPath) -> Result<JsonResponse<wire::NftDetail>, ApiError> {
    let nft = find_nft(&app, path).await?;
    let Some(fetcher) = &app.nft_metadata else {
        let body = wire::NftDetail::new(&nft, None, app.token_prefix());
        return Ok(JsonResponse::new(body, Freshness::UntilNextBlock).cacheable());
    };
    let metadata = fetcher.find(&nft).await?;
    Ok(JsonResponse::new(wire::NftDetail::new(&nft, Some(metadata), app.token_prefix()), Freshness::UntilNextBlock))
}

/// Fetches the metadata of an id again
///
/// Not within five seconds. If it cannot be read now, metadata that was read before stays.
#[utoipa::path(
    post,
    path = "/tokens/{address}/ids/{id}/metadata",
    tag = "chain",
    params(TokenIdPath),
    responses(
        (status = 200, description = "The id", body = wire::NftDetail),
        BadParameter,
        NoSuchTokenId
    )
)]
async fn refresh_token_id_metadata(
    State(app): State<App>,
    path: TokenIdPath,
) -> Result<JsonResponse<wire::NftDetail>, ApiError> {
    let nft = find_nft(&app, path).await?;
    let metadata = match &app.nft_metadata {
        Some(fetcher) => Some(fetcher.refresh(&nft).await?),
        None => None,
    };
    Ok(JsonResponse::new(wire::NftDetail::new(&nft, metadata, app.token_prefix()), Freshness::Momentary))
}

/// Image of an id
///
/// Up to 2 MiB. Fetched when somebody asks for it, from the host that the metadata names.
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids/{id}/image",
    tag = "chain",
    params(TokenIdPath),
    responses(
        (status = 200, description = "The image", content(
            (wire::ImageFile = "image/png"),
            (wire::ImageFile = "image/jpeg"),
            (wire::ImageFile = "image/gif"),
            (wire::ImageFile = "image/webp"),
            (wire::ImageFile = "image/avif")
        )),
        BadParameter,
        NoImage,
        ImagePending
    )
)]
async fn get_token_id_image(State(app): State<App>, path: TokenIdPath) -> Result<Response, ApiError> {
    let nft = find_nft(&app, path).await?;
    let fetcher = app.nft_metadata.as_ref();
    let fetcher = fetcher.ok_or_else(|| ApiError::NoImage("this explorer does not fetch images".to_owned()))?;
    let image = fetcher.image(&nft).await?;
    let headers = [(header::CACHE_CONTROL, "no-cache".to_owned()), (header::ETAG, entity_tag(&image.bytes))];
    Ok((headers, image.headers(), image.bytes).into_response())
}

async fn find_nft(app: &ApiState, path: TokenIdPath) -> Result<Nft, ApiError> {
    app.chain.find_nft(path.token, path.id).await?.ok_or(ApiError::TokenIdNotFound)
}

/// Holders of an id, largest amount first
///
/// For a BEP721 id, its owner.
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids/{id}/holders",
    tag = "chain",
    params(TokenIdPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::HolderList),
        BadParameter,
        NoSuchTokenId
    )
)]
async fn list_token_id_holders(
    State(app): State<App>,
    path: TokenIdPath,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::HolderList>, ApiError> {
    let page = app.chain.list_nft_holders(path.token, path.id, paging.newest_first()).await?;
    let page = page.ok_or(ApiError::TokenIdNotFound)?;
    let list = wire::HolderList::new(page, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// Transfers of an id, newest first
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids/{id}/transfers",
    tag = "chain",
    params(TokenIdPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::NftTransferList),
        BadParameter,
        NoSuchTokenId
    )
)]
async fn list_token_id_transfers(
    State(app): State<App>,
    path: TokenIdPath,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::NftTransferList>, ApiError> {
    let page = app.chain.list_nft_transfers(path.token, path.id, paging.newest_first()).await?;
    let page = page.ok_or(ApiError::TokenIdNotFound)?;
    let list = wire::NftTransferList::new(page, app.token_prefix(), paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// Ids of BEP721 and BEP1155 tokens held by an address
///
/// Those that were first transferred last come first.
#[utoipa::path(
    get,
    path = "/addresses/{address}/nfts",
    tag = "chain",
    params(AddressInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::HeldNftList),
        BadParameter
    )
)]
async fn list_address_nfts(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::HeldNftList>, ApiError> {
    let page = app.chain.list_held_nfts(address, paging.newest_first()).await?;
    let list = wire::HeldNftList::new(page, app.token_prefix(), paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}
