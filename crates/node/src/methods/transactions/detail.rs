//! Transactions with their call data, fees and logs.

use std::collections::BTreeMap;

use domain::{B256, BlobFields, Bytes, Log, TransactionDetail};
use serde::Deserialize;
use serde_json::Value;

use super::authorization::authorization;
use crate::{
    decode::{Hash, HexBytes, Present, Price, Quantity, RawAuthorization, RawLog},
    endpoint::{call::Call, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDetail {
    block_hash: Option<Hash>,
    input: HexBytes,
    gas: Quantity,
    #[serde(rename = "type")]
    tx_type: Option<Quantity>,
    max_fee_per_gas: Option<Price>,
    max_priority_fee_per_gas: Option<Price>,
    access_list: Option<Vec<Present>>,
    authorization_list: Option<Vec<RawAuthorization>>,
    max_fee_per_blob_gas: Option<Price>,
    blob_versioned_hashes: Option<Vec<Hash>>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Of the types that every chain has: legacy, access list, EIP-1559, blobs and delegation.
const LAST_COMMON_TYPE: u64 = 4;

/// Fields of all types, which the index has or nobody needs beside the hash that covers them.
const COMMON_FIELDS: [&str; 14] = [
    "hash",
    "from",
    "to",
    "value",
    "nonce",
    "gasPrice",
    "blockNumber",
    "blockTimestamp",
    "transactionIndex",
    "chainId",
    "v",
    "r",
    "s",
    "yParity",
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDetailReceipt {
    transaction_hash: Hash,
    transaction_index: Quantity,
    block_hash: Hash,
    cumulative_gas_used: Option<Quantity>,
    logs: Vec<RawLog>,
    blob_gas_used: Option<Quantity>,
    blob_gas_price: Option<Price>,
}

/// None: the node does not have the transaction in a block.
pub(crate) async fn fetch_transaction(upstream: &Upstream, hash: B256) -> Result<Option<TransactionDetail>, NodeError> {
    let params = format!(r#"["{hash:#x}"]"#);
    let (transaction, receipt) = (
        Call::new(RpcMethod::GetTransactionByHash, params.clone()),
        Call::new(RpcMethod::GetTransactionReceipt, params),
    );
    let (transaction, receipt) =
        tokio::join!(upstream.call::<RawDetail>(&transaction), upstream.call::<RawDetailReceipt>(&receipt));
    join(hash, transaction?, receipt?)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawInput {
    hash: Hash,
    block_hash: Option<Hash>,
    input: HexBytes,
}

/// The inputs of many transactions, with the hashes of their blocks.
pub(crate) async fn fetch_inputs(
    upstream: &Upstream,
    hashes: &[B256],
) -> Result<Vec<Option<(B256, Bytes)>>, NodeError> {
    let call = |hash: &B256| Call::new(RpcMethod::GetTransactionByHash, format!(r#"["{hash:#x}"]"#));
    let calls: Vec<Call> = hashes.iter().map(call).collect();
    let found = upstream.call_many::<RawInput>(&calls).await?;
    let input = |(hash, found): (&B256, Result<Option<RawInput>, NodeError>)| {
        let found = found?.filter(|found| found.hash.0 == *hash);
        Ok(found.and_then(|found| Some((found.block_hash?.0, found.input.0))))
    };
    hashes.iter().zip(found).map(input).collect()
}

fn join(
    hash: B256,
    transaction: Option<RawDetail>,
    receipt: Option<RawDetailReceipt>,
) -> Result<Option<TransactionDetail>, NodeError> {
    let (Some(transaction), Some(receipt)) = (transaction, receipt) else { return Ok(None) };
    if transaction.block_hash.map(|hash| hash.0) != Some(receipt.block_hash.0) || receipt.transaction_hash.0 != hash {
        // The transaction moved to another block between the two responses; a repeated call is consistent.
        return Ok(None);
    }
    let tx_index = u32::try_from(receipt.transaction_index.0)
        .map_err(|error| NodeError::invalid_response(RpcMethod::GetTransactionReceipt, error))?;
    let logs = receipt.logs.into_iter().map(|log| {
        Ok(Log {
            tx_index,
            log_index: u32::try_from(log.log_index.0)
                .map_err(|error| NodeError::invalid_response(RpcMethod::GetTransactionReceipt, error))?,
            address: log.address.0,
            topics: log.topics.into_iter().map(|topic| topic.0).collect(),
            data: log.data.0,
        })
    });
    let blobs = transaction.blob_versioned_hashes.filter(|hashes| !hashes.is_empty()).map(|hashes| BlobFields {
        hashes: hashes.into_iter().map(|hash| hash.0).collect(),
        max_fee_per_gas: transaction.max_fee_per_blob_gas.map(|price| price.0),
        gas_used: receipt.blob_gas_used.map(|gas| gas.0),
        gas_price: receipt.blob_gas_price.map(|price| price.0),
    });
    let tx_type = transaction.tx_type.map_or(0, |tx_type| tx_type.0);
    let others = transaction.others.into_iter();
    let others = others.filter(|(name, value)| !COMMON_FIELDS.contains(&name.as_str()) && !value.is_null());
    let text = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(Some(TransactionDetail {
        other_fields: others.filter(|_| tx_type > LAST_COMMON_TYPE).map(|(name, value)| (name, text(value))).collect(),
        block_hash: receipt.block_hash.0,
        input: transaction.input.0,
        gas_limit: transaction.gas.0,
        tx_type,
        max_fee_per_gas: transaction.max_fee_per_gas.map(|price| price.0),
        max_priority_fee_per_gas: transaction.max_priority_fee_per_gas.map(|price| price.0),
        cumulative_gas_used: receipt.cumulative_gas_used.map(|gas| gas.0),
        access_list_length: transaction.access_list.map(|list| list.len()),
        authorizations: transaction.authorization_list.map(|list| list.iter().map(authorization).collect()),
        blobs,
        logs: logs.collect::<Result<_, NodeError>>()?,
    }))
}
