//! Which ids a range of blocks has.

use domain::BlockRange;
use store::StoreError;

use super::pages::clamped_range;
use crate::{
    database::{Connection, find},
    rows::RowExt,
};

/// The kind of ids in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    Transactions,
    Transfers,
    Trades,
    Logs,
    Credits,
}

impl Numbering {
    /// The names of its columns in `span_of_blocks`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transaction",
            Self::Transfers => "transfer",
            Self::Trades => "trade",
            Self::Logs => "log",
            Self::Credits => "credit",
        }
    }
}

/// The ids assigned in a range of blocks; None for an empty index.
pub(super) async fn span(
    client: &dyn Connection,
    numbering: Numbering,
    blocks: BlockRange,
) -> Result<Option<(i64, i64)>, StoreError> {
    let (from, to) = clamped_range(blocks);
    let name = numbering.name();
    let sql = format!("select low_{name}, high_{name} from span_of_blocks($1, $2)");
    let row = find(client, &sql, &[&from, &to]).await?;
    row.map(|row| Ok((row.value(0)?, row.value(1)?))).transpose()
}
