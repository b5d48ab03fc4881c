//! Metadata and images of NFTs: untrusted texts and files.

use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use domain::{Address, Nft, NftMetadata, U256};
use enrichment::{FoundMetadata, ImageUnavailable, NftMetadataFetcher};
use store::StoreError;

use super::id::parse_id;
use crate::{
    error::PageError,
    state::{App, WebState},
    view::{Moment, NftLink, sanitize_name, sanitize_text},
};

const MAX_DESCRIPTION: usize = 2_000;
const MAX_URI: usize = 200;
/// What a fetch counts for in the budget: a call of the contract, and a request to a host.
const CALLS_PER_FETCH: u32 = 4;

/// The metadata of an id, as its page shows it.
pub(super) struct MetadataView {
    pub(super) name: String,
    pub(super) description: String,
    /// Names and values.
    pub(super) attributes: Vec<(String, String)>,
    pub(super) has_image: bool,
    /// Where it comes from, and when it was read; None while unknown.
    pub(super) source: Option<(String, Moment)>,
    /// Why there is nothing to show.
    pub(super) note: Option<String>,
}

/// None if this explorer does not fetch metadata.
pub(super) async fn show_metadata(app: &WebState, nft: &Nft) -> Result<Option<MetadataView>, StoreError> {
    let Some(fetcher) = &app.nft_metadata else { return Ok(None) };
    let found = match fetcher.find_stored(nft).await? {
        Some(known) if known.document.is_ok() => FoundMetadata::Known(known),
        _ if app.budget.allows_node_calls(CALLS_PER_FETCH) => fetcher.find(nft).await?,
        Some(known) => FoundMetadata::Known(known),
        None => FoundMetadata::Pending,
    };
    Ok(Some(MetadataView::new(found)))
}

/// With a thumbnail, if the image is in memory: a list must not cause requests to other hosts.
pub(in crate::pages) fn nft_link(app: &WebState, token: Address, id: U256) -> NftLink {
    let has_image = app.nft_metadata.as_ref().is_some_and(|fetcher| fetcher.has_image(token, id));
    NftLink::new(token, id).with_thumbnail(has_image)
}

async fn find_image(app: &WebState, fetcher: &NftMetadataFetcher, nft: &Nft) -> Result<Response, ImageUnavailable> {
    if !fetcher.has_image(nft.token, nft.id) && !app.budget.allows_node_calls(CALLS_PER_FETCH) {
        return Err(ImageUnavailable::Pending);
    }
    let image = fetcher.image(nft).await?;
    Ok((image.headers(), image.bytes).into_response())
}

impl MetadataView {
    fn new(found: FoundMetadata) -> Self {
        let unknown = Self {
            name: String::new(),
            description: String::new(),
            attributes: Vec::new(),
            has_image: false,
            source: None,
            note: None,
        };
        let FoundMetadata::Known(NftMetadata { uri, fetched_at, document, .. }) = found else {
            return Self { note: Some("not fetched yet: reload the page in a moment".to_owned()), ..unknown };
        };
        let source = uri.map(|uri| (sanitize_text(&uri, MAX_URI), Moment::of(fetched_at / 1_000)));
        match document {
            Err(reason) => Self { source, note: Some(sanitize_text(&reason, MAX_URI)), ..unknown },
            Ok(document) => Self {
                name: sanitize_text(&document.name.unwrap_or_default(), MAX_URI),
                description: sanitize_text(&document.description.unwrap_or_default(), MAX_DESCRIPTION),
                attributes: document
                    .attributes
                    .iter()
                    .map(|attribute| {
                        let name = sanitize_name(attribute.trait_type.as_deref().unwrap_or_default());
                        (name, sanitize_text(&attribute.value, MAX_URI))
                    })
                    .collect(),
                has_image: document.image.is_some(),
                source,
                note: None,
            },
        }
    }
}

/// The image of an id, for the pages.
pub(in crate::pages) async fn show_image(
    State(app): State<App>,
    Path((address, id)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let (Some(fetcher), Ok(address), Some(id)) = (&app.nft_metadata, address.parse(), parse_id(&id)) else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let Some(nft) = app.chain.find_nft(address, id).await? else { return Ok(StatusCode::NOT_FOUND.into_response()) };
    match find_image(&app, fetcher, &nft).await {
        Ok(image) => Ok(image),
        Err(ImageUnavailable::Store(error)) => Err(error.into()),
        Err(ImageUnavailable::Pending) => Ok(StatusCode::SERVICE_UNAVAILABLE.into_response()),
        Err(ImageUnavailable::NoImage(_)) => Ok(StatusCode::NOT_FOUND.into_response()),
    }
}
