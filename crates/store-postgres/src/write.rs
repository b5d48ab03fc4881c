//! Commit and revert, and data from contracts. A revert removes exactly what the commit added.

mod approvals;
mod codes;
mod commit;
mod copy;
mod day;
mod holders;
mod internal;
mod log_packs;
mod log_source;
mod logs;
mod metadata;
mod nfts;
mod pairs;
mod prefetch;
mod ranks;
mod revert;
mod state;
mod step;
mod tails;

pub(crate) use self::{
    codes::list_pending_codes,
    copy::runs as copy_runs,
    holders::{list_audits, list_pending_balances, save_audits, save_balances},
    internal::{internal_frontier, skip_internal},
    metadata::save_token_metadata,
    ranks::rank_holders,
    state::WriteState,
};
