//! The header of a block: what the index does not have, from the node.

use alloy_primitives::{B256, Bytes, hex};
use domain::{BlockHeader, BlockRef};

use crate::{
    state::WebState,
    view::{grouped, readable_text},
};

/// The protocol limits extra data to 32 bytes; other chains put the signatures of validators there.
const SHOWN_EXTRA_DATA: usize = 4 * 1024;

/// The header, or why it is not shown.
pub(super) enum HeaderView {
    Found(Box<HeaderFields>),
    Missing(&'static str),
}

pub(super) struct HeaderFields {
    pub(super) extra_data: Option<ExtraData>,
    pub(super) fields: Vec<Field>,
    pub(super) uncles: Vec<B256>,
    pub(super) blob_count: String,
    /// The versioned hashes of all blobs, in the order of the transactions.
    pub(super) blob_hashes: Vec<B256>,
}

pub(super) struct ExtraData {
    pub(super) bytes: String,
    pub(super) is_cut: bool,
    /// If all of it is readable.
    pub(super) text: Option<String>,
}

pub(super) struct Field {
    pub(super) name: &'static str,
    /// None if the header has no such field.
    pub(super) value: Option<String>,
}

pub(super) async fn block_header(app: &WebState, block: BlockRef) -> HeaderView {
    match app.node_calls.run(app.node.find_block_header(block)).await {
        Some(Ok(Some(header))) => HeaderView::Found(Box::new(header.into())),
        Some(Ok(None)) => {
            HeaderView::Missing("The node has another block at this height, as in a reorg: try again shortly.")
        }
        Some(Err(error)) => {
            tracing::debug!(%error, "header unavailable");
            HeaderView::Missing(NO_ANSWER)
        }
        None => HeaderView::Missing(NO_ANSWER),
    }
}

const NO_ANSWER: &str = "The header is not available: there is no answer from the node. Try again shortly.";

impl From<BlockHeader> for HeaderFields {
    fn from(header: BlockHeader) -> Self {
        let hash = |hash: Option<B256>| hash.map(|hash| hash.to_string());
        let fields = [
            ("Difficulty", header.difficulty.map(|difficulty| grouped(difficulty.to_string()))),
            ("Nonce", header.nonce.map(hex::encode_prefixed)),
            ("Mix hash", hash(header.mix_hash)),
            ("State root", hash(header.state_root)),
            ("Transactions root", hash(header.transactions_root)),
            ("Receipts root", hash(header.receipts_root)),
            ("Uncles hash", hash(header.uncles_hash)),
            ("Withdrawals root", hash(header.withdrawals_root)),
            ("Requests hash", hash(header.requests_hash)),
            ("Access list hash", hash(header.block_access_list_hash)),
            ("Parent beacon root", hash(header.parent_beacon_block_root)),
            ("Blob gas used", header.blob_gas_used.map(grouped)),
            ("Excess blob gas", header.excess_blob_gas.map(grouped)),
        ];
        Self {
            extra_data: header.extra_data.as_ref().map(ExtraData::new),
            fields: fields.map(|(name, value)| Field { name, value }).into(),
            uncles: header.uncles,
            blob_count: grouped(header.blob_hashes.len() as u64),
            blob_hashes: header.blob_hashes,
        }
    }
}

impl ExtraData {
    fn new(bytes: &Bytes) -> Self {
        let shown = bytes.get(..SHOWN_EXTRA_DATA).unwrap_or(bytes);
        Self {
            bytes: hex::encode_prefixed(shown),
            is_cut: shown.len() < bytes.len(),
            text: readable_text(bytes, SHOWN_EXTRA_DATA),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> BlockHeader {
        BlockHeader {
            extra_data: None,
            difficulty: None,
            nonce: None,
            mix_hash: None,
            state_root: None,
            transactions_root: None,
            receipts_root: None,
            withdrawals_root: None,
            requests_hash: None,
            block_access_list_hash: None,
            parent_beacon_block_root: None,
            uncles_hash: None,
            uncles: Vec::new(),
            blob_gas_used: None,
            excess_blob_gas: None,
            blob_hashes: Vec::new(),
        }
    }

    #[test]
    fn a_field_that_the_header_does_not_have_has_no_value() {
        let found = HeaderFields::from(BlockHeader { blob_gas_used: Some(0), ..header() });
        let with_value: Vec<&str> =
            found.fields.iter().filter(|field| field.value.is_some()).map(|field| field.name).collect();
        assert_eq!(with_value, ["Blob gas used"], "zero is a value");
    }

    #[test]
    fn extra_data_is_shown_as_text_if_all_of_it_is_text() {
        let shown = |bytes: &'static [u8]| ExtraData::new(&Bytes::from_static(bytes)).text;
        assert_eq!(shown(b"beaverbuild.org").as_deref(), Some("beaverbuild.org"));
        assert_eq!(shown(b"\xd8\x83\x01\x0a\x04\x84geth"), None);
        assert_eq!(shown(b""), None);
    }

    #[test]
    fn long_extra_data_is_cut() {
        let long = ExtraData::new(&Bytes::from(vec![7; SHOWN_EXTRA_DATA + 1]));
        assert!(long.is_cut && long.bytes.len() == 2 + 2 * SHOWN_EXTRA_DATA);
    }
}
