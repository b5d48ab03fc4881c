use std::{fmt, str::FromStr};

use serde::Deserialize;

/// How thoroughly blocks are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockChecks {
    /// Only that block and receipts belong together.
    Off,
    /// Cheap checks: header hash, transaction hashes, gas used, logs bloom, and empty roots for blocks without transactions.
    /// Blocks near the head, and one of sixteen older ones, are fully checked.
    #[default]
    Cheap,
    /// Also the roots of transactions and receipts of every block.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected off, cheap or full")]
pub struct BlockChecksError;

impl FromStr for BlockChecks {
    type Err = BlockChecksError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "cheap" => Ok(Self::Cheap),
            "full" => Ok(Self::Full),
            _ => Err(BlockChecksError),
        }
    }
}

/// A check of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockCheck {
    HeaderHash,
    TransactionsRoot,
    ReceiptsRoot,
    GasUsed,
    LogsBloom,
    TransactionHash,
    WithdrawalsRoot,
    UnclesHash,
}

impl fmt::Display for BlockCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HeaderHash => "header hash",
            Self::TransactionsRoot => "transactions root",
            Self::ReceiptsRoot => "receipts root",
            Self::GasUsed => "gas used",
            Self::LogsBloom => "logs bloom",
            Self::TransactionHash => "transaction hash",
            Self::WithdrawalsRoot => "withdrawals root",
            Self::UnclesHash => "hash of uncles",
        })
    }
}

/// A failed check: two parts of a block contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contradiction {
    pub(crate) check: BlockCheck,
    pub(crate) what: String,
}
