//! Entry points of the fuzz targets: metadata of NFTs of arbitrary bytes.

pub use crate::nft_metadata::fuzzing::nft_document;
