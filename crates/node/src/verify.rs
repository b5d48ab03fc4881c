//! Verifies blocks against their hashes.
//!
//! The hash of a block commits to its header, and the header to everything else. So omitted or changed data is detected
//! from the block alone, without another node.

mod charges;
mod checks;
mod consistency;
mod evidence;
mod header;
mod receipt;
mod rlp;
#[cfg(test)]
mod tests;
mod transaction;
mod uncles;
mod withdrawals;

use std::{fmt, sync::Arc, time::Duration};

use alloy_primitives::{B256, Bloom};
use alloy_trie::{EMPTY_ROOT_HASH, root::ordered_trie_root_encoded};
pub(crate) use checks::Contradiction;
pub use checks::{BlockCheck, BlockChecks, BlockChecksError};
pub(crate) use consistency::{CheckError, Numbering, arrange_receipts, check_block, join_receipts};
use domain::BlockNumber;
pub(crate) use evidence::Evidence;
pub use evidence::RejectedBlock;
use header::HeaderProof;
pub(crate) use header::hash;
use rand::Rng;
use receipt::{Blooms, EncodedOutcome};
pub(crate) use rlp::list as rlp_list;
use transaction::{TxType, covered_by_roots};
pub(crate) use uncles::check_uncles;

use crate::decode::{RawBlock, RawReceipt, RawTransaction};

/// Distance from the head within which every block is fully checked: blocks arrive one by one there, so the cost is low.
const NEAR_HEAD: BlockNumber = 256;
/// Younger blocks count as near the head, whatever head the node reports.
const RECENT: Duration = Duration::from_secs(3_600);
/// One of this many older blocks, chosen at random, is fully checked, so that tampering that only the roots reveal is
/// detected soon.
const SAMPLE: u32 = 16;

/// Checks the blocks of one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct BlockVerifier {
    checks: BlockChecks,
    evidence: Arc<Evidence>,
    /// For messages.
    host: String,
}

impl BlockVerifier {
    pub(crate) fn new(checks: BlockChecks, evidence: Arc<Evidence>, host: String) -> Self {
        Self { checks, evidence, host }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Block 0 shows how the chain hashes headers.
    pub(crate) fn see_genesis<T>(&self, block: &RawBlock<T>) {
        if proves_header(block) {
            self.evidence.header_proven();
        }
    }

    /// The receipts must be in the order of their transactions.
    pub(crate) fn verify_block(&self, block: &RawBlock, receipts: &[RawReceipt]) -> Result<(), Contradiction> {
        let checks = match self.checks {
            BlockChecks::Off => return Ok(()),
            BlockChecks::Cheap if self.is_near_head(block) || rand::rng().random_ratio(1, SAMPLE) => BlockChecks::Full,
            checks => checks,
        };
        self.verify_with(checks, block, receipts)
    }

    /// By the node's head or the block's timestamp: a forged head must not make new blocks look old.
    fn is_near_head(&self, block: &RawBlock) -> bool {
        let near_head = self.evidence.head().is_some_and(|head| block.number.0.saturating_add(NEAR_HEAD) >= head);
        near_head || block.timestamp.0.saturating_add(RECENT.as_secs()) >= unix_time::seconds()
    }

    fn verify_with(&self, checks: BlockChecks, block: &RawBlock, receipts: &[RawReceipt]) -> Result<(), Contradiction> {
        let mut blooms = Blooms::default();
        let (transactions, receipts_in_root) = covered_by_roots(block, receipts);
        let each: Vec<Bloom> = receipts_in_root.iter().map(|receipt| blooms.of(receipt)).collect();
        let mut logs = Bloom::ZERO;
        each.iter().for_each(|bloom| logs.accrue_bloom(bloom));
        let served = header::bloom(block);
        if served.is_some() {
            self.evidence.bloom_seen();
        }
        let header = header::prove(block, &served.unwrap_or(logs));
        if header == HeaderProof::Proven {
            self.evidence.header_proven();
        }

        self.enforce(block, check_empty(block, transactions))?;
        self.enforce(block, check_gas(block, receipts_in_root))?;
        if header != HeaderProof::Proven || served.is_some() {
            let mut with_beside = logs;
            receipts
                .iter()
                .skip(receipts_in_root.len())
                .for_each(|receipt| with_beside.accrue_bloom(&blooms.of(receipt)));
            self.enforce(block, self.check_bloom(served, &logs, &with_beside))?;
        }
        self.enforce(block, withdrawals::check(block))?;
        let encoded = self.check_transactions(checks, block, transactions)?;
        if checks == BlockChecks::Full {
            self.check_transactions_root(block, encoded.as_deref())?;
            self.check_receipts_root(block, receipts_in_root, &each)?;
            if transactions.len() < block.transactions.len() {
                self.unproven(block, "the last transaction is a state-sync transaction, which no root contains");
            }
        }
        self.check_header(block, header)
    }

    /// A contradiction is an error only on chains with Ethereum's headers: elsewhere the fields may have another meaning.
    fn enforce(&self, block: &RawBlock, checked: Result<(), Contradiction>) -> Result<(), Contradiction> {
        match checked {
            Err(contradiction) if !self.evidence.headers_are_hashed_as_ethereums() => {
                let check = contradiction.check;
                self.unproven(
                    block,
                    format_args!("the chain has a different header format: the {check} is not checked"),
                );
                Ok(())
            }
            checked => checked,
        }
    }

    fn unproven(&self, block: &RawBlock, why: impl fmt::Display) {
        self.evidence.unproven(block.number.0, &self.host, why.to_string());
    }

    /// A zero bloom is accepted if the chain has never shown another one, since some nodes omit it. Then the header hash must
    /// match with the bloom of the logs, or the header cannot be proven.
    fn check_bloom(&self, served: Option<Bloom>, logs: &Bloom, with_beside: &Bloom) -> Result<(), Contradiction> {
        let contradiction = |what: &str| Err(Contradiction { check: BlockCheck::LogsBloom, what: what.to_owned() });
        match served {
            None if logs.is_zero() => Ok(()),
            None if self.evidence.has_blooms() => {
                contradiction("the block has logs, but its bloom is empty or missing")
            }
            None => Ok(()),
            Some(served) if !served.contains(logs) => contradiction("the bloom does not contain a log of the block"),
            Some(served) if !with_beside.contains(&served) => contradiction("a log contained in the bloom is missing"),
            Some(_) => Ok(()),
        }
    }

    /// Returns the encodings for the root if all are known and requested.
    fn check_transactions(
        &self,
        checks: BlockChecks,
        block: &RawBlock,
        transactions: &[RawTransaction],
    ) -> Result<Option<Vec<Vec<u8>>>, Contradiction> {
        let mut encodings = (checks == BlockChecks::Full).then(|| Vec::with_capacity(transactions.len()));
        let mut encoding = Vec::new();
        for tx in transactions {
            let Some(tx_type) = TxType::of(tx) else {
                let number = tx.tx_type.map_or(0, |tx_type| tx_type.0);
                self.unproven(block, format_args!("unknown encoding of transaction type {number:#x}"));
                encodings = None;
                continue;
            };
            encoding.clear();
            let checked = match transaction::encode(tx, tx_type, &mut encoding) {
                Some(()) if transaction::hash_matches(tx, tx_type, &encoding) => {
                    self.evidence.type_proven(tx_type);
                    Ok(())
                }
                Some(()) => Err(format!("{:#x} is not the hash of the transaction's fields", tx.hash.0)),
                None if self.evidence.has_proven(tx_type) => Err(format!("{:#x} lacks a field of its type", tx.hash.0)),
                None => {
                    self.unproven(block, format_args!("a transaction of type {:#x} lacks a field", tx_type as u8));
                    encodings = None;
                    continue;
                }
            };
            let check = BlockCheck::TransactionHash;
            self.enforce(block, checked.map_err(|what| Contradiction { check, what }))?;
            if let Some(encodings) = &mut encodings {
                encodings.push(encoding.clone());
            }
        }
        Ok(encodings)
    }

    fn check_transactions_root(&self, block: &RawBlock, encodings: Option<&[Vec<u8>]>) -> Result<(), Contradiction> {
        match (encodings, header::trie_root(&block.transactions_root)) {
            (Some(encodings), Some(root)) => {
                let found = ordered_trie_root_encoded(encodings);
                let has_blobs = block.transactions.iter().any(|tx| TxType::of(tx) == Some(TxType::Eip4844));
                match (found == root, has_blobs) {
                    (true, true) => self.evidence.blob_root_proven(),
                    // Anvil includes blob sidecars, which no node returns, in the transactions root. A chain that has had
                    // one correct root with blobs does not.
                    (false, true) if !self.evidence.has_blob_roots() => {
                        self.unproven(block, "its transactions root seems to include blob sidecars");
                        return Ok(());
                    }
                    _ => {}
                }
                self.enforce(block, same_root(BlockCheck::TransactionsRoot, root, found))
            }
            // The reason was already reported.
            (None, _) => Ok(()),
            (_, None) => {
                self.unproven(block, "the block has no transactions root");
                Ok(())
            }
        }
    }

    fn check_receipts_root(
        &self,
        block: &RawBlock,
        receipts: &[RawReceipt],
        blooms: &[Bloom],
    ) -> Result<(), Contradiction> {
        let Some(root) = header::trie_root(&block.receipts_root) else {
            self.unproven(block, "the block has no receipts root");
            return Ok(());
        };
        let found = |outcome| {
            let encode = |(receipt, bloom): (&RawReceipt, &Bloom)| {
                let mut encoding = Vec::new();
                receipt::encode(receipt, bloom, outcome, &mut encoding).map(|()| encoding)
            };
            let encodings = receipts.iter().zip(blooms).map(encode).collect::<Option<Vec<_>>>();
            encodings.map(|encodings| ordered_trie_root_encoded(&encodings))
        };
        let has_status = receipts.iter().any(|receipt| receipt.status.is_some());
        let as_served = found(EncodedOutcome::AsServed);
        if as_served == Some(root) || has_status && found(EncodedOutcome::FailureIsZeroByte) == Some(root) {
            if has_status {
                self.evidence.status_proven(block.number.0);
            }
            return Ok(());
        }
        if has_status && found(EncodedOutcome::StateRoot) == Some(root) {
            return Ok(());
        }
        if self.may_precede_byzantium(block) {
            self.unproven(
                block,
                "the receipts may be older than Byzantium, and lack the roots of the state that their root covers",
            );
            return Ok(());
        }
        let Some(found) = as_served else {
            let what = "a receipt lacks a field that the root covers".to_owned();
            return self.enforce(block, Err(Contradiction { check: BlockCheck::ReceiptsRoot, what }));
        };
        if found != root && block.transactions.iter().any(|tx| TxType::of(tx).is_none()) {
            self.unproven(block, "a receipt of an unknown type may have another encoding");
            return Ok(());
        }
        self.enforce(block, same_root(BlockCheck::ReceiptsRoot, root, found))
    }

    /// Receipts before Byzantium contained the root of the state, which many nodes no longer have: they serve a status instead, which
    /// no hash covers. A chain that has shown a root over statuses in this block or before is past that fork, and so is one with
    /// base fees, withdrawals or typed transactions.
    fn may_precede_byzantium(&self, block: &RawBlock) -> bool {
        block.base_fee_per_gas.is_none()
            && block.withdrawals_root.is_none()
            && block.transactions.iter().all(|tx| TxType::of(tx) == Some(TxType::Legacy))
            && !self.evidence.has_status_at(block.number.0)
    }

    fn check_header(&self, block: &RawBlock, proof: HeaderProof) -> Result<(), Contradiction> {
        let what = match proof {
            HeaderProof::Proven => return Ok(()),
            HeaderProof::UnknownFields(names) => {
                self.unproven(block, format_args!("its header has unknown fields: {}", names.join(", ")));
                return Ok(());
            }
            HeaderProof::Differs => format!("{:#x} is not the hash of the header's fields", block.hash.0),
            HeaderProof::Missing(field) => format!("the header lacks {field}"),
        };
        self.enforce(block, Err(Contradiction { check: BlockCheck::HeaderHash, what }))
    }
}

/// Whether the hash of a block is that of its header.
pub(crate) fn proves_header<T>(block: &RawBlock<T>) -> bool {
    header::prove(block, &header::bloom(block).unwrap_or_default()) == HeaderProof::Proven
}

/// The roots must be empty exactly if there are no transactions. Zero roots are ignored.
fn check_empty(block: &RawBlock, transactions: &[RawTransaction]) -> Result<(), Contradiction> {
    let roots = [
        (BlockCheck::TransactionsRoot, header::trie_root(&block.transactions_root)),
        (BlockCheck::ReceiptsRoot, header::trie_root(&block.receipts_root)),
    ];
    for (check, root) in roots {
        let Some(root) = root.filter(|root| !root.is_zero()) else { continue };
        let what = match (root == EMPTY_ROOT_HASH, transactions.len()) {
            (false, 0) => "the block has no transactions, but its root is not the empty root".to_owned(),
            (true, count) if count > 0 => {
                format!("the block has {count} transactions, but its root is the empty root")
            }
            _ => continue,
        };
        return Err(Contradiction { check, what });
    }
    Ok(())
}

/// A block's gas used equals that of its transactions, except where blocks count refunded gas (EIP-7778), which came with
/// block access lists.
fn check_gas(block: &RawBlock, receipts: &[RawReceipt]) -> Result<(), Contradiction> {
    let used = match receipts.last() {
        Some(last) => last.cumulative_gas_used.map(|gas| gas.0),
        None => Some(0),
    };
    let what = match used {
        _ if block.block_access_list_hash.is_some() => return Ok(()),
        Some(used) if used == block.gas_used.0 => return Ok(()),
        Some(used) => format!("the header has {}, the last receipt {used}", block.gas_used.0),
        None => "the last receipt lacks cumulativeGasUsed".to_owned(),
    };
    Err(Contradiction { check: BlockCheck::GasUsed, what })
}

fn same_root(check: BlockCheck, expected: B256, found: B256) -> Result<(), Contradiction> {
    if expected == found {
        return Ok(());
    }
    Err(Contradiction { check, what: format!("the header has {expected:#x}, computed {found:#x}") })
}
