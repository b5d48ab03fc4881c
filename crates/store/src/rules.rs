//! The rules that all stores share: what a list is, how a block is walked, and when data of contracts is fetched. A store supplies
//! a [`BlockSink`].

mod approvals;
mod balances;
mod block_addresses;
mod block_order;
mod chain_totals;
mod current_day;
pub mod fetch_policy;
mod internal_walk;
mod list_entries;
mod lists;
mod sink;
mod walk;

pub use self::{
    approvals::{ApprovalKey, ApprovalState},
    balances::{BalanceChange, TokenState, count_amount, count_balance},
    block_addresses::addresses_of,
    block_order::check_order,
    chain_totals::ChainTotals,
    current_day::CurrentDay,
    internal_walk::{IndexedBlock, InternalIds, InternalSide, InternalSink, InternalWalk},
    list_entries::{
        LISTS_LAYOUT, lists_of_block, lists_of_credit, lists_of_involvement, lists_of_log, lists_of_nft,
        lists_of_nft_transfer, lists_of_parties, lists_of_trade, lists_of_transaction, lists_of_transfer,
    },
    lists::{Entries, ListKey, ListKind},
    sink::{BlockSink, Creation, Exchange, LogIds, MovedTransfer, NftKey, PoolIds, TransactionIds, TransferIds},
    walk::Walk,
};
