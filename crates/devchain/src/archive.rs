//! Old blocks, in a temporary file instead of memory.

use std::{collections::BTreeSet, fs::File, io, os::unix::fs::FileExt, sync::Arc};

use alloy_consensus::{Eip658Value, Header, Receipt, TxEnvelope, transaction::Recovered};
use alloy_primitives::{Address, B256, Log};
use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use crate::block::{Inclusion, MinedBlock, MinedTransaction};

/// An old block that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("block {number} cannot be read from the temporary file of old blocks: {source}")]
pub struct ArchiveError {
    number: u32,
    source: io::Error,
}

/// The oldest blocks of the chain, from the genesis block on. A reorg never reaches them.
///
/// The file has no name, so that it disappears with the process, however that ends.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    /// Created with the first block.
    file: Option<File>,
    /// Where each block ends in the file.
    ends: Vec<u64>,
    /// The start of the hash of each transaction, its block and its index there: a third of the memory of a map of hashes.
    places: BTreeSet<(u64, u32, u32)>,
}

impl Archive {
    /// The number of blocks, which is also the number of the next one.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds the next block. After an error it is not in the archive.
    pub(crate) fn push(&mut self, block: &MinedBlock) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        let number = u32::try_from(self.ends.len()).map_err(io::Error::other)?;
        let start = self.ends.last().copied().unwrap_or_default();
        let bytes = alloy_rlp::encode(ArchivedBlock::from(block));
        file.write_all_at(&bytes, start)?;
        self.ends.push(start + bytes.len() as u64);
        self.places.extend((0..).zip(&block.transactions).map(|(index, mined)| (prefix(&mined.hash()), number, index)));
        Ok(())
    }

    /// A block; `None` if it is not in the archive.
    pub(crate) fn read(&self, number: u32) -> Result<Option<MinedBlock>, ArchiveError> {
        let position = number as usize;
        let (Some(file), Some(&end)) = (&self.file, self.ends.get(position)) else { return Ok(None) };
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        read_range(file, start, end).map(Some).map_err(|source| ArchiveError { number, source })
    }

    /// A transaction by its hash.
    pub(crate) fn find(&self, transaction: &B256) -> Result<Option<Inclusion>, ArchiveError> {
        let prefix = prefix(transaction);
        // Hashes with the same start are told apart by their transactions.
        for &(_, number, index) in self.places.range((prefix, 0, 0)..=(prefix, u32::MAX, u32::MAX)) {
            let (Some(block), index) = (self.read(number)?, index as usize) else { continue };
            if block.transactions.get(index).is_some_and(|mined| mined.hash() == *transaction) {
                return Ok(Some(Inclusion { block: Arc::new(block), index }));
            }
        }
        Ok(None)
    }
}

fn prefix(hash: &B256) -> u64 {
    u64::from_be_bytes(hash.0.first_chunk().copied().unwrap_or_default())
}

fn read_range(file: &File, start: u64, end: u64) -> io::Result<MinedBlock> {
    let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, start)?;
    let block = ArchivedBlock::decode(&mut bytes.as_slice());
    block.map(MinedBlock::from).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// What cannot be computed from the rest of a block. Senders can, but recovering them is slow.
#[derive(RlpEncodable, RlpDecodable)]
struct ArchivedBlock {
    header: Header,
    transactions: Vec<ArchivedTransaction>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct ArchivedTransaction {
    transaction: TxEnvelope,
    sender: Address,
    succeeded: bool,
    cumulative_gas_used: u64,
    logs: Vec<Log>,
}

impl From<&MinedBlock> for ArchivedBlock {
    fn from(block: &MinedBlock) -> Self {
        let transactions = block.transactions.iter().map(|mined| ArchivedTransaction {
            transaction: mined.transaction.inner().clone(),
            sender: mined.sender(),
            succeeded: mined.succeeded(),
            cumulative_gas_used: mined.receipt.cumulative_gas_used(),
            logs: mined.receipt.logs().to_vec(),
        });
        Self { header: block.header.inner().clone(), transactions: transactions.collect() }
    }
}

impl From<ArchivedBlock> for MinedBlock {
    fn from(block: ArchivedBlock) -> Self {
        let base_fee = block.header.base_fee_per_gas.unwrap_or_default();
        let mut transactions = Vec::with_capacity(block.transactions.len());
        for archived in block.transactions {
            let receipt = Receipt {
                status: Eip658Value::Eip658(archived.succeeded),
                cumulative_gas_used: archived.cumulative_gas_used,
                logs: archived.logs,
            };
            let transaction = Recovered::new_unchecked(archived.transaction, archived.sender);
            transactions.push(MinedTransaction::new(transaction, receipt, transactions.last(), base_fee));
        }
        Self::new(block.header, transactions)
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::{SignableTransaction, TxLegacy};
    use alloy_primitives::Signature;

    use super::*;

    fn empty_block(number: u64) -> MinedBlock {
        MinedBlock::new(Header { number, ..Header::default() }, Vec::new())
    }

    /// A block with one transaction for each nonce.
    fn block_of(number: u64, nonces: std::ops::Range<u64>) -> MinedBlock {
        let mut transactions = Vec::new();
        for nonce in nonces {
            let signed = TxLegacy { nonce, ..TxLegacy::default() }.into_signed(Signature::test_signature());
            let receipt = Receipt { cumulative_gas_used: 21_000, ..Receipt::default() };
            let transaction = Recovered::new_unchecked(signed.into(), Address::ZERO);
            transactions.push(MinedTransaction::new(transaction, receipt, None, 0));
        }
        MinedBlock::new(Header { number, ..Header::default() }, transactions)
    }

    #[test]
    fn blocks_are_read_back_by_number() {
        let mut archive = Archive::default();
        for number in 0..3 {
            archive.push(&empty_block(number)).unwrap();
        }
        for number in 0..3 {
            assert_eq!(archive.read(number).unwrap().unwrap().hash(), empty_block(number.into()).hash());
        }
        assert!(archive.read(3).unwrap().is_none());
    }

    #[test]
    fn transactions_are_found_also_if_their_hashes_start_alike() {
        let mut archive = Archive::default();
        let blocks = [block_of(0, 0..2), block_of(1, 2..4)];
        for block in &blocks {
            archive.push(block).unwrap();
        }
        let wanted = blocks[1].transactions[0].hash();
        archive.places.extend([(prefix(&wanted), 0, 0), (prefix(&wanted), 0, 1), (prefix(&wanted), 1, 9)]);
        let found = archive.find(&wanted).unwrap().unwrap();
        assert_eq!((found.block.hash(), found.index), (blocks[1].hash(), 0));
        let mut absent = wanted;
        absent[31] ^= 1;
        assert!(archive.find(&absent).unwrap().is_none());
    }

    #[test]
    fn a_damaged_block_is_an_error_and_the_others_are_read() {
        let mut archive = Archive::default();
        for number in 0..3 {
            archive.push(&empty_block(number)).unwrap();
        }
        archive.file.as_ref().unwrap().write_all_at(&[0; 4], archive.ends[0]).unwrap();
        let error = archive.read(1).unwrap_err().to_string();
        assert!(error.starts_with("block 1 cannot be read from the temporary file of old blocks: "), "{error}");
        assert_eq!(archive.read(2).unwrap().unwrap().number(), 2);
    }

    #[test]
    fn a_block_that_was_not_written_can_be_added_again() {
        let mut archive = Archive { file: Some(File::open("/dev/null").unwrap()), ..Archive::default() };
        assert!(archive.push(&block_of(0, 0..1)).is_err(), "opened for reading only");
        assert_eq!((archive.len(), archive.places.len()), (0, 0));
        archive.file = None;
        archive.push(&block_of(0, 0..1)).unwrap();
        assert_eq!(archive.read(0).unwrap().unwrap().hash(), block_of(0, 0..1).hash());
    }
}
