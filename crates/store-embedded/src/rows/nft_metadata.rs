use domain::{BlockRef, NftAttribute, NftDocument, NftMetadata};
use store::StoreError;

use crate::codec::{RowReader, RowWriter};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

const FAILED: u8 = 0;
const DOCUMENT: u8 = 1;

pub(crate) fn nft_metadata_to_row(metadata: &NftMetadata) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(256);
    row.varint(metadata.block.number);
    row.bytes(metadata.block.hash.as_slice());
    row.varint(metadata.fetched_at);
    put_option(&mut row, metadata.uri.as_deref());
    match &metadata.document {
        Err(reason) => {
            row.byte(FAILED);
            row.text(reason);
        }
        Ok(document) => {
            row.byte(DOCUMENT);
            for text in [&document.name, &document.description, &document.image] {
                put_option(&mut row, text.as_deref());
            }
            for attribute in &document.attributes {
                put_option(&mut row, attribute.trait_type.as_deref());
                row.text(&attribute.value);
            }
        }
    }
    row.finish()
}

pub(crate) fn nft_metadata_from_row(row: &[u8]) -> Result<NftMetadata, StoreError> {
    let mut row = RowReader::new(row);
    let block = BlockRef { number: row.varint()?, hash: row.hash()? };
    let fetched_at = row.varint()?;
    let uri = option(&mut row)?;
    let document = match row.byte()? {
        FAILED => Err(row.text()?),
        DOCUMENT => Ok(document(&mut row)?),
        _ => return Err(StoreError::Corrupt("NFT metadata of an unknown kind")),
    };
    Ok(NftMetadata { uri, block, fetched_at, document })
}

fn document(row: &mut RowReader<'_>) -> Result<NftDocument, StoreError> {
    let (name, description, image) = (option(row)?, option(row)?, option(row)?);
    let mut attributes = Vec::new();
    while !row.is_empty() {
        attributes.push(NftAttribute { trait_type: option(row)?, value: row.text()? });
    }
    Ok(NftDocument { name, description, image, attributes })
}

/// 0 for none, 1 before a text.
fn put_option(row: &mut RowWriter, text: Option<&str>) {
    row.byte(u8::from(text.is_some()));
    if let Some(text) = text {
        row.text(text);
    }
}

fn option(row: &mut RowReader<'_>) -> Result<Option<String>, StoreError> {
    match row.byte()? {
        0 => Ok(None),
        1 => row.text().map(Some),
        _ => Err(StoreError::Corrupt("an optional text of an unknown kind")),
    }
}
