//! User operations of account abstraction (ERC-4337): what bundlers executed through the known entry points, from the logs of these.

mod event;
mod merged;

use domain::{Address, B256, BlockNumber, BlockRange, IndexedLog, LogFilter, Order, Page, PageRequest, U256};
use futures::future::{BoxFuture, try_join_all};
use store::{ChainReader, StoreError};

use self::{
    event::{ENTRY_POINTS, EXECUTED, REVERTED, executed, reason_of},
    merged::merged_page,
};

/// Logs that are read at once.
const PART: u32 = 1_000;

/// What an account asked a bundler to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserOperation {
    pub hash: B256,
    pub entry_point: Address,
    pub sender: Address,
    /// None if the sender paid by itself.
    pub paymaster: Option<Address>,
    /// Who sent the transaction.
    pub bundler: Address,
    pub nonce: U256,
    pub succeeded: bool,
    /// What the paymaster or the sender paid, in wei.
    pub gas_cost: U256,
    pub gas_used: U256,
    /// Why it failed, if the entry point says so.
    pub reason: Option<String>,
    pub tx_hash: B256,
    pub block_number: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
    pub log_index: u32,
}

/// What an account is to user operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserOperationRole {
    #[default]
    Sender,
    Paymaster,
}

/// Whether the index has any user operation. Three lookups, whatever there is.
pub fn has_user_operations(chain: &dyn ChainReader) -> BoxFuture<'_, Result<bool, StoreError>> {
    Box::pin(async move {
        for entry_point in ENTRY_POINTS {
            let filter = LogFilter { topics: [Some(EXECUTED), None, None, None], ..LogFilter::of(entry_point) };
            if chain.list_logs(&filter, PageRequest::newest(0)).await?.page.total > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// The user operations of an account, in the order of the chain.
pub fn list_user_operations<'a>(
    chain: &'a dyn ChainReader,
    account: Address,
    role: UserOperationRole,
    page: PageRequest,
) -> BoxFuture<'a, Result<Page<UserOperation>, StoreError>> {
    Box::pin(async move {
        let account = Some(account.into_word());
        let (sender, paymaster) = match role {
            UserOperationRole::Sender => (account, None),
            UserOperationRole::Paymaster => (None, account),
        };
        let filters = ENTRY_POINTS.map(|entry_point| LogFilter {
            topics: [Some(EXECUTED), None, sender, paymaster],
            ..LogFilter::of(entry_point)
        });
        let Page { items, total } = merged_page(chain, &filters, page).await?;
        let items = try_join_all(items.into_iter().map(|log| complete(chain, log))).await?;
        // A log of another form is no operation: the known entry points emit none.
        Ok(Page { items: items.into_iter().flatten().collect(), total })
    })
}

/// The user operations of a transaction in a block, in log order.
pub fn user_operations_of(
    chain: &dyn ChainReader,
    tx: B256,
    block: BlockNumber,
) -> BoxFuture<'_, Result<Vec<UserOperation>, StoreError>> {
    Box::pin(async move {
        let mut found = Vec::new();
        for entry_point in ENTRY_POINTS {
            let filter = LogFilter {
                topics: [Some(EXECUTED), None, None, None],
                blocks: BlockRange::only(block),
                ..LogFilter::of(entry_point)
            };
            for offset in (0..).step_by(PART as usize) {
                let page = PageRequest { offset, limit: PART, order: Order::OldestFirst };
                let Page { items, total } = chain.list_logs(&filter, page).await?.page;
                for log in items.into_iter().filter(|log| log.tx_hash == tx) {
                    found.extend(complete(chain, log).await?);
                }
                if offset + u64::from(PART) >= total {
                    break;
                }
            }
        }
        found.sort_by_key(|operation| operation.log_index);
        Ok(found)
    })
}

/// Adds what other logs and the transaction say.
async fn complete(chain: &dyn ChainReader, log: IndexedLog) -> Result<Option<UserOperation>, StoreError> {
    let Some(bundler) = chain.find_transaction(log.tx_hash).await?.map(|tx| tx.from) else { return Ok(None) };
    let Some(mut operation) = executed(&log, bundler) else { return Ok(None) };
    if !operation.succeeded {
        let filter = LogFilter {
            topics: [Some(REVERTED), Some(operation.hash), None, None],
            blocks: BlockRange::only(operation.block_number),
            ..LogFilter::of(operation.entry_point)
        };
        let found = chain.list_logs(&filter, PageRequest::newest(1)).await?.page.items;
        operation.reason = found.first().and_then(|log| reason_of(&log.event));
    }
    Ok(Some(operation))
}
