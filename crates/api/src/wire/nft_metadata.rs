use domain::TokenPrefix;
use enrichment::FoundMetadata;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Nft, Timestamp};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NftDetail {
    #[serde(flatten)]
    pub nft: Nft,
    /// Whether this explorer fetches metadata.
    pub metadata_enabled: bool,
    /// Null if it does not.
    #[schema(required = true)]
    pub metadata: Option<NftMetadata>,
}

/// All texts come from a host that the contract names, and may contain anything.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NftMetadata {
    pub state: MetadataState,
    /// Where the contract says the metadata is; long ones are cut. Null while unknown, and if the contract gives none.
    #[schema(required = true, example = "https://kittens.example/7.json")]
    pub uri: Option<String>,
    #[schema(required = true)]
    pub name: Option<String>,
    #[schema(required = true)]
    pub description: Option<String>,
    pub attributes: Vec<NftAttribute>,
    /// Path in this API; null if the metadata names no image.
    #[schema(required = true, example = "/api/v1/tokens/0x7e5f4552091a69125d5dfcb7b8c2659029395bdf/ids/7/image")]
    pub image_url: Option<String>,
    /// Why there is no metadata; null if there is, and while that is unknown.
    #[schema(required = true)]
    pub error: Option<String>,
    /// When it was read; null while unknown.
    #[schema(required = true)]
    pub fetched_at: Option<Timestamp>,
}

/// `pending`: it is being fetched, or will be at a later request. `unavailable`: it could not be read; it is fetched again at a
/// request an hour later, or when asked for with POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MetadataState {
    Available,
    Pending,
    Unavailable,
}

#[derive(Debug, ToSchema)]
#[schema(value_type = String, format = Binary)]
pub struct ImageFile(pub Vec<u8>);

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NftAttribute {
    #[schema(required = true, example = "color")]
    pub trait_type: Option<String>,
    #[schema(example = "red")]
    pub value: String,
}

impl NftDetail {
    /// Without metadata, if it is not fetched.
    #[must_use]
    pub fn new(nft: &domain::Nft, metadata: Option<FoundMetadata>, prefix: TokenPrefix) -> Self {
        Self {
            nft: Nft::new(nft, prefix),
            metadata_enabled: metadata.is_some(),
            metadata: metadata.map(|metadata| NftMetadata::new(nft, metadata)),
        }
    }
}

impl NftMetadata {
    fn new(nft: &domain::Nft, metadata: FoundMetadata) -> Self {
        let unknown = Self {
            state: MetadataState::Pending,
            uri: None,
            name: None,
            description: None,
            attributes: Vec::new(),
            image_url: None,
            error: None,
            fetched_at: None,
        };
        let FoundMetadata::Known(known) = metadata else { return unknown };
        let fetched_at = Some(Timestamp::from_unix_millis(known.fetched_at));
        match known.document {
            Err(reason) => {
                Self { state: MetadataState::Unavailable, uri: known.uri, error: Some(reason), fetched_at, ..unknown }
            }
            Ok(document) => Self {
                state: MetadataState::Available,
                uri: known.uri,
                name: document.name,
                description: document.description,
                attributes: document.attributes.into_iter().map(NftAttribute::from).collect(),
                image_url: document.image.map(|_| format!("/api/v1/tokens/{:#x}/ids/{}/image", nft.token, nft.id)),
                fetched_at,
                ..unknown
            },
        }
    }
}

impl From<domain::NftAttribute> for NftAttribute {
    fn from(attribute: domain::NftAttribute) -> Self {
        Self { trait_type: attribute.trait_type, value: attribute.value }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, BlockRef, NftDocument, TokenKind, U256};

    use super::*;

    #[test]
    fn an_id_with_metadata_has_the_documented_names_and_types() {
        let nft = domain::Nft {
            token: Address::repeat_byte(0xdd),
            id: U256::from(7),
            kind: TokenKind::Bep721,
            owner: None,
            holder_count: 0,
            transfer_count: 2,
        };
        let known = domain::NftMetadata {
            uri: Some("https://kittens.example/7.json".to_owned()),
            block: BlockRef { number: 1, hash: B256::ZERO },
            fetched_at: 1_794_700_860_000,
            document: Ok(NftDocument {
                name: Some("Kitten 7".to_owned()),
                description: None,
                image: Some("ipfs://QmHash".to_owned()),
                attributes: vec![domain::NftAttribute { trait_type: None, value: "red".to_owned() }],
            }),
        };
        let failed = domain::NftMetadata { document: Err("no such host".to_owned()), ..known.clone() };
        let found =
            [None, Some(FoundMetadata::Pending), Some(FoundMetadata::Known(known)), Some(FoundMetadata::Known(failed))];
        insta::assert_json_snapshot!(found.map(|found| NftDetail::new(&nft, found, TokenPrefix::Bep)));
    }
}
