//! One transaction with its call data and logs.

use domain::{B256, Log, TransactionDetail};
use serde::Deserialize;

use crate::{
    NodeError,
    decode::{Hash, HexBytes, Quantity, RawReceipt},
    upstream::{Call, Upstream},
};

const TRANSACTION: &str = "eth_getTransactionByHash";
const RECEIPT: &str = "eth_getTransactionReceipt";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDetail {
    block_hash: Option<Hash>,
    input: HexBytes,
    gas: Quantity,
    #[serde(rename = "type")]
    form: Option<Quantity>,
}

/// None: the node does not have the transaction in a block.
pub(crate) async fn fetch_transaction(upstream: &Upstream, hash: B256) -> Result<Option<TransactionDetail>, NodeError> {
    let params = format!(r#"["{hash:#x}"]"#);
    let (transaction, receipt) = (Call::new(TRANSACTION, params.clone()), Call::new(RECEIPT, params));
    let (transaction, receipt) =
        tokio::join!(upstream.call::<RawDetail>(&transaction), upstream.call::<RawReceipt>(&receipt));
    let (Some(transaction), Some(receipt)) = (transaction?, receipt?) else { return Ok(None) };
    if transaction.block_hash.map(|hash| hash.0) != Some(receipt.block_hash.0) || receipt.transaction_hash.0 != hash {
        // The transaction moved to another block between the two responses; a repeated call is consistent.
        return Ok(None);
    }
    let tx_index = u32::try_from(receipt.transaction_index.0).map_err(|error| NodeError::invalid_response(RECEIPT, error))?;
    let logs = receipt.logs.into_iter().map(|log| {
        Ok(Log {
            tx_index,
            log_index: u32::try_from(log.log_index.0).map_err(|error| NodeError::invalid_response(RECEIPT, error))?,
            address: log.address.0,
            topics: log.topics.into_iter().map(|topic| topic.0).collect(),
            data: log.data.0,
        })
    });
    Ok(Some(TransactionDetail {
        block_hash: receipt.block_hash.0,
        input: transaction.input.0,
        gas_limit: transaction.gas.0,
        form: transaction.form.map_or(0, |form| form.0),
        logs: logs.collect::<Result<_, NodeError>>()?,
    }))
}
