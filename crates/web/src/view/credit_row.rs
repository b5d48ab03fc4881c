use domain::{Credit, CreditSource};

use super::{AddressLink, Amount, BlockLink, Moment, PageNames, grouped};

/// What the protocol paid, in a table.
pub(crate) struct CreditRow {
    pub(crate) key: String,
    pub(crate) kind: &'static str,
    /// What it was paid for.
    pub(crate) reason: String,
    pub(crate) block: BlockLink,
    pub(crate) time: Moment,
    pub(crate) to: AddressLink,
    pub(crate) amount: Amount,
}

impl CreditRow {
    pub(crate) fn new(credit: &Credit, names: &PageNames) -> Self {
        let (kind, id, reason) = match credit.event.source {
            CreditSource::Withdrawal { index, validator } => {
                ("Withdrawal", index, format!("{} of validator {}", grouped(index), grouped(validator)))
            }
            CreditSource::BlockReward => ("Block reward", 0, String::new()),
            CreditSource::Genesis => ("Genesis", 0, String::new()),
            CreditSource::UncleReward { number, .. } => {
                ("Uncle reward", number, format!("a block of height {}", grouped(number)))
            }
            CreditSource::Mint { tx_index } => {
                ("Deposit", tx_index.into(), format!("transaction {} of the block", grouped(tx_index)))
            }
        };
        Self {
            key: format!("{}-{kind}-{id}-{:#x}", credit.block_number, credit.event.to),
            kind,
            reason,
            block: BlockLink::new(credit.block_number),
            time: Moment::of(credit.timestamp),
            to: names.address(credit.event.to),
            amount: names.coin(credit.event.amount),
        }
    }
}
