//! Commit and revert. A revert removes exactly what the commit added.

mod addresses;
mod approvals;
mod blocks;
mod codes;
mod commit;
mod day;
mod dictionary;
mod holders;
mod internal;
mod logs;
mod metadata;
mod nfts;
mod numbered_rows;
mod overwrite;
mod ranks;
mod revert;
pub(crate) mod start_over;
mod state;
mod step;
mod sweeps;

pub(crate) use self::state::WriteState;
