use crate::{BlockRef, UnixMillis};

/// What is known about the metadata of an NFT: the document that its contract names, or why it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NftMetadata {
    /// As the contract gave it, with the id filled in; None if it gave none. Shortened if it is long.
    pub uri: Option<String>,
    /// The block at which the contract was asked: if it is not canonical, nothing of this counts.
    pub block: BlockRef,
    pub fetched_at: UnixMillis,
    /// Or the reason in plain words.
    pub document: Result<NftDocument, String>,
}

/// The parts of a metadata document that are shown. They are untrusted texts of limited length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NftDocument {
    pub name: Option<String>,
    pub description: Option<String>,
    /// URI of the image.
    pub image: Option<String>,
    pub attributes: Vec<NftAttribute>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NftAttribute {
    /// What the value is of, such as a color.
    pub trait_type: Option<String>,
    pub value: String,
}
