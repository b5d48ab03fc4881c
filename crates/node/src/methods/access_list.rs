//! Block access lists (EIP-7928): what a block changed, as the hash of the list in its header proves.

use std::sync::atomic::Ordering;

use alloy_primitives::{U256, keccak256};
use alloy_rlp::Encodable;
use domain::{Address, BlockRef};
use futures::future::BoxFuture;
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    client::NodeClient,
    decode::{Account20, HexBytes, Quantity, RawBlock, Wide},
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
    verify::{hash, proves_header, rlp_list},
};

/// The changes of one account. Clients name the fields differently; what is misread does not have the right hash.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAccountChanges {
    address: Account20,
    storage_changes: Option<Vec<RawSlotChanges>>,
    storage_reads: Option<Vec<Wide>>,
    balance_changes: Option<Vec<RawChange<Wide>>>,
    nonce_changes: Option<Vec<RawChange<Wide>>>,
    code_changes: Option<Vec<RawChange<HexBytes>>>,
}

#[derive(Debug, Deserialize)]
struct RawSlotChanges {
    #[serde(alias = "slot")]
    key: Wide,
    #[serde(alias = "slotChanges")]
    changes: Vec<RawChange<Wide>>,
}

/// A value after the transaction with this index.
#[derive(Debug, Deserialize)]
struct RawChange<T> {
    #[serde(alias = "blockAccessIndex", alias = "txIndex")]
    index: Quantity,
    #[serde(
        alias = "postBalance",
        alias = "newNonce",
        alias = "postNonce",
        alias = "code",
        alias = "newCode",
        alias = "newValue",
        alias = "postValue"
    )]
    value: T,
}

/// Accounts with their balances.
type Balances = Vec<(Address, U256)>;

impl NodeClient {
    /// The balances that a block changed, after it; None if the node does not serve its access list, or a wrong one.
    pub fn find_balance_changes(&self, block: BlockRef) -> BoxFuture<'_, Result<Option<Balances>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch(&upstream, block).await };
            self.with_retries(Operation::Balances, self.tries(), request).await
        })
    }
}

async fn fetch(upstream: &Upstream, block: BlockRef) -> Result<Option<Balances>, NodeError> {
    let lacks_method = &upstream.capabilities().lacks_access_lists;
    if lacks_method.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let call = Call::new(RpcMethod::GetBlockByNumber, format!(r#"["{:#x}",false]"#, block.number));
    let header = upstream.call::<RawBlock<IgnoredAny>>(&call).await?.filter(|header| header.hash.0 == block.hash);
    let Some(expected) = header.filter(proves_header).and_then(|header| hash(&header.block_access_list_hash)) else {
        return Ok(None);
    };
    let call = Call::new(RpcMethod::GetBlockAccessList, format!(r#"["{:#x}"]"#, block.hash));
    let list = match upstream.call::<Vec<RawAccountChanges>>(&call).await {
        Ok(Some(list)) => list,
        Ok(None) => return Ok(None),
        Err(error) if error.lacks_method() => {
            lacks_method.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        // The list of an old block may be pruned.
        Err(NodeError::Rpc { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if keccak256(encode(&list)) != expected {
        tracing::warn!(endpoint = upstream.name(), block = block.number, "a block access list does not have its hash");
        return Ok(None);
    }
    let newest = |account: &RawAccountChanges| {
        let last = account.balance_changes.iter().flatten().max_by_key(|change| change.index.0)?;
        Some((account.address.0, last.value.0))
    };
    Ok(Some(list.iter().filter_map(newest).collect()))
}

fn encode(list: &[RawAccountChanges]) -> Vec<u8> {
    let mut out = Vec::new();
    rlp_list(&mut out, |out| {
        for account in list {
            rlp_list(out, |out| {
                account.address.0.encode(out);
                rlp_list(out, |out| {
                    for slot in account.storage_changes.iter().flatten() {
                        rlp_list(out, |out| {
                            slot.key.0.encode(out);
                            changes(Some(&slot.changes), out, |value| &value.0);
                        });
                    }
                });
                rlp_list(out, |out| account.storage_reads.iter().flatten().for_each(|slot| slot.0.encode(out)));
                changes(account.balance_changes.as_deref(), out, |value| &value.0);
                changes(account.nonce_changes.as_deref(), out, |value| &value.0);
                changes(account.code_changes.as_deref(), out, |code| &code.0);
            });
        }
    });
    out
}

fn changes<T, V: Encodable>(list: Option<&[RawChange<T>]>, out: &mut Vec<u8>, value: impl Fn(&T) -> &V) {
    rlp_list(out, |out| {
        for change in list.into_iter().flatten() {
            rlp_list(out, |out| {
                change.index.0.encode(out);
                value(&change.value).encode(out);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    /// The names of fields that clients have used.
    #[test]
    fn a_list_has_one_encoding_whatever_its_fields_are_called() {
        let lists = [
            r#"[{"address":"0x00000000000000000000000000000000000000a1",
                "storageChanges":[{"key":"0x01","changes":[{"index":"0x1","value":"0x2a"}]}],
                "storageReads":["0x0000000000000000000000000000000000000000000000000000000000000002"],
                "balanceChanges":[{"index":"0x1","value":"0x5"},{"index":"0x2","value":"0x0"}],
                "nonceChanges":[{"index":"0x1","value":"0x1"}],"codeChanges":[{"index":"0x1","code":"0x6001"}]}]"#,
            r#"[{"address":"0x00000000000000000000000000000000000000a1",
                "storageChanges":[{"slot":"0x1","slotChanges":[{"blockAccessIndex":"0x1","newValue":"0x2a"}]}],
                "storageReads":["0x2"],
                "balanceChanges":[{"blockAccessIndex":"0x1","postBalance":"0x5"},{"blockAccessIndex":"0x2","postBalance":"0x0"}],
                "nonceChanges":[{"blockAccessIndex":"0x1","newNonce":"0x1"}],
                "codeChanges":[{"blockAccessIndex":"0x1","newCode":"0x6001"}]}]"#,
        ];
        let encoded = lists.map(|list| encode(&serde_json::from_str::<Vec<RawAccountChanges>>(list).unwrap()));
        let expected = hex!(
            "f0ef9400000000000000000000000000000000000000a1 c6c501c3c2012a c102 c6c20105c20280 c3c20101 c5c401826001"
        );
        assert_eq!(encoded, [expected.to_vec(), expected.to_vec()]);
        let empty = serde_json::from_str::<Vec<RawAccountChanges>>(
            r#"[{"address":"0x00000000000000000000000000000000000000a1",
            "storageChanges":null,"balanceChanges":[]}]"#,
        );
        let nothing = hex!("dbda9400000000000000000000000000000000000000a1c0c0c0c0c0");
        assert_eq!(encode(&empty.unwrap()), nothing);
    }
}
