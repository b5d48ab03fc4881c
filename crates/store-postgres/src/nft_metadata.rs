//! Metadata of NFTs, as hosts gave it.

use async_trait::async_trait;
use domain::{Address, BlockRef, NftAttribute, NftDocument, NftMetadata, U256};
use store::{CachedNftMetadata, StoreError};
use tokio_postgres::Row;

use crate::{
    database::{Database, execute, find},
    numeric::Numeric,
    rows::{RowExt, int8, pairs, to_text},
};

#[derive(Debug, Clone)]
pub(crate) struct PostgresNftMetadata(pub(crate) Database);

#[async_trait]
impl CachedNftMetadata for PostgresNftMetadata {
    async fn find_nft_metadata(&self, token: Address, id: U256) -> Result<Option<NftMetadata>, StoreError> {
        let client = self.0.connection().await?;
        let sql =
            "select block, block_hash, fetched_at, uri, failure, name, description, image, trait_types, trait_values
            from nft_metadata where token = $1 and token_id = $2";
        let row = find(&client, sql, &[&token.as_slice(), &Numeric::from(id)]).await?;
        row.map(|row| from_row(&row)).transpose()
    }

    async fn save_nft_metadata(&self, token: Address, id: U256, metadata: NftMetadata) -> Result<(), StoreError> {
        let client = self.0.connection().await?;
        let sql = "insert into nft_metadata values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            on conflict (token, token_id) do update set
            block = excluded.block, block_hash = excluded.block_hash, fetched_at = excluded.fetched_at,
            uri = excluded.uri, failure = excluded.failure, name = excluded.name,
            description = excluded.description, image = excluded.image, trait_types = excluded.trait_types,
            trait_values = excluded.trait_values";
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let (document, failure) = match &metadata.document {
            Ok(document) => (document, None),
            Err(reason) => (&NftDocument::default(), Some(reason.as_bytes())),
        };
        let types: Vec<Option<&[u8]>> =
            document.attributes.iter().map(|attribute| attribute.trait_type.as_ref().map(String::as_bytes)).collect();
        let values: Vec<&[u8]> = document.attributes.iter().map(|attribute| attribute.value.as_bytes()).collect();
        execute(
            &client,
            sql,
            &[
                &token.as_slice(),
                &Numeric::from(id),
                &int8(metadata.block.number),
                &metadata.block.hash.as_slice(),
                &int8(metadata.fetched_at),
                &bytes(&metadata.uri),
                &failure,
                &bytes(&document.name),
                &bytes(&document.description),
                &bytes(&document.image),
                &types,
                &values,
            ],
        )
        .await?;
        Ok(())
    }
}

fn from_row(row: &Row) -> Result<NftMetadata, StoreError> {
    let document = match row.option_text(4)? {
        Some(reason) => Err(reason),
        None => Ok(document(row)?),
    };
    let block = BlockRef { number: row.u64(0)?, hash: row.hash(1)? };
    Ok(NftMetadata { uri: row.option_text(3)?, block, fetched_at: row.u64(2)?, document })
}

fn document(row: &Row) -> Result<NftDocument, StoreError> {
    let (types, values): (Vec<Option<&[u8]>>, Vec<&[u8]>) = (row.value(8)?, row.value(9)?);
    let attribute = |(trait_type, value): (Option<&[u8]>, &[u8])| {
        Ok(NftAttribute { trait_type: trait_type.map(to_text).transpose()?, value: to_text(value)? })
    };
    Ok(NftDocument {
        name: row.option_text(5)?,
        description: row.option_text(6)?,
        image: row.option_text(7)?,
        attributes: pairs(types, values)?.map(attribute).collect::<Result<_, StoreError>>()?,
    })
}
