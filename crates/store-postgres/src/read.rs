//! Queries. Each is one statement, or runs in a transaction that sees one state.

mod addresses;
mod approvals;
mod blocks;
mod days;
mod internal;
mod intersections;
mod known_addresses;
mod logs;
mod nfts;
mod pages;
mod select;
mod spans;
mod tokens;
mod trades;
mod transactions;
mod transfers;

pub(crate) use self::{
    addresses::{describe_addresses, find_address, find_address_overview, find_code, find_code_hash},
    approvals::list_approvals,
    blocks::{coverage, find_block, find_tip, list_blocks, list_gas_prices, list_mined_blocks, stats},
    days::list_days,
    internal::list_internal_transactions,
    intersections::Intersections,
    known_addresses::{count_transactions, find_address_position, list_known_addresses},
    logs::list_logs,
    nfts::{find_nft, list_held_nfts, list_nft_holders, list_nft_transfers, list_nfts},
    tokens::{find_token, find_token_balance, list_address_tokens, list_holders, list_tokens, search_tokens},
    trades::{combines_trade_lists, find_pool, list_trades},
    transactions::{combines_transaction_lists, find_transaction, find_transaction_events, list_transactions},
    transfers::{combines_transfer_lists, list_transfers},
};
