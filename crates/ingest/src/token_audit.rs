//! Compares the largest holders of a token, and its supply, with its contract.

use domain::{Address, Balance, BlockNumber, PageRequest, U256};
use futures::future::BoxFuture;
use node::{CallBlock, NodeClient};
use store::ChainReader;

use crate::{CompareError, contract_data};

/// How often the comparison begins again because the index has moved on.
const ATTEMPTS: usize = 5;

/// What a comparison at one block has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAudit {
    pub block: BlockNumber,
    /// The number of holders that were compared, the largest first.
    pub compared: usize,
    pub holders: u64,
    /// Balances that the contract does not confirm.
    pub differing: Vec<HolderDifference>,
    /// That which the index has read from the contract, and that of the contract now; None if it has none.
    pub supply: (Option<U256>, Option<U256>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderDifference {
    pub holder: Address,
    pub indexed: Balance,
    pub contract: U256,
}

/// Compares at most this many holders of a token; None if the index has no such token. A call that fails is no difference.
///
/// # Errors
/// If the node or the store fails, or if new blocks come faster than the comparison.
pub fn audit_token<'a>(
    node: &'a NodeClient,
    reader: &'a dyn ChainReader,
    token: Address,
    holders: u32,
) -> BoxFuture<'a, Result<Option<TokenAudit>, CompareError>> {
    Box::pin(async move {
        for _ in 0..ATTEMPTS {
            let (Some(tip), Some(found)) = (reader.find_tip().await?, reader.find_token(token).await?) else {
                return Ok(None);
            };
            let Some(page) = reader.list_holders(token, PageRequest::newest(holders)).await? else { return Ok(None) };
            let balances = page.items.iter().map(|holder| contract_data::balance_call(token, holder.address));
            let calls = balances.chain([contract_data::supply_call(token)]).collect();
            let called = node.calls(calls, CallBlock::At(tip)).await?;
            let differing = page.items.iter().zip(&called.results).filter_map(|(holder, result)| {
                let contract = contract_data::read_number(result)?;
                let difference = HolderDifference { holder: holder.address, indexed: holder.balance, contract };
                (Balance::from(contract) != holder.balance).then_some(difference)
            });
            let audit = TokenAudit {
                block: tip.number,
                compared: page.items.len(),
                holders: page.total,
                differing: differing.collect(),
                supply: (found.metadata.total_supply, called.results.last().and_then(contract_data::read_number)),
            };
            // Otherwise, a part of it is that of another block.
            if called.block == Some(tip.number) && reader.find_tip().await? == Some(tip) {
                return Ok(Some(audit));
            }
        }
        Err(CompareError::Moving)
    })
}
