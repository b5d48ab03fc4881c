//! Blocks, by a scan of all of them.

use domain::{Address, B256, Block, BlockId, BlockRange, Page, PageRequest};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, Subject,
    model::paginate,
    queries::{page, range},
};

impl Model {
    #[must_use]
    pub fn find_block(&self, id: BlockId) -> Option<Block> {
        let matches = |block: &Block| match id {
            BlockId::Number(number) => block.number == number,
            BlockId::Hash(hash) => block.hash == hash,
        };
        self.blocks.iter().map(|changes| &changes.block).find(|block| matches(block)).cloned()
    }

    #[must_use]
    pub fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Page<Block> {
        let all = self.blocks.iter().map(|changes| changes.block.clone());
        paginate(all.filter(|block| range.contains(block.number)).collect(), page)
    }

    #[must_use]
    pub fn list_mined_blocks(&self, miner: Address, range: BlockRange, page: PageRequest) -> Page<Block> {
        let all = self.blocks.iter().map(|changes| changes.block.clone());
        paginate(all.filter(|block| block.miner == miner && range.contains(block.number)).collect(), page)
    }
}

pub(super) async fn blocks(subject: &Subject, model: &Model, rng: &mut StdRng) {
    let height = model.tip().map_or(0, |tip| tip.number);
    for _ in 0..12 {
        let number = rng.random_range(0..height + 3);
        let expected = model.find_block(BlockId::Number(number));
        assert_eq!(subject.reader.find_block(BlockId::Number(number)).await.expect("block"), expected);
        if let Some(block) = expected {
            assert_eq!(subject.reader.find_block(BlockId::Hash(block.hash)).await.expect("block"), Some(block));
        }
        let (range, page) = (range(rng, height), page(rng, height + 1));
        let found = subject.reader.list_blocks(range, page).await.expect("blocks");
        assert_eq!(found, model.list_blocks(range, page), "blocks {range:?} {page:?}");
        let miner = model.find_block(BlockId::Number(number)).map_or(Address::repeat_byte(0xfe), |block| block.miner);
        let found = subject.reader.list_mined_blocks(miner, range, page).await.expect("mined blocks");
        assert_eq!(found, model.list_mined_blocks(miner, range, page), "blocks of {miner} {range:?} {page:?}");
    }
    assert_eq!(subject.reader.find_block(BlockId::Hash(B256::repeat_byte(1))).await.expect("block"), None);
}

/// The writer knows the hash of every indexed block, and of no other.
pub(super) async fn block_hashes(subject: &Subject, model: &Model) {
    let tip = model.tip().map_or(0, |tip| tip.number);
    for number in 0..tip + 3 {
        let expected = model.find_block(BlockId::Number(number)).map(|block| block.hash);
        assert_eq!(subject.writer.find_block_hash(number).await.expect("hash"), expected, "hash of block {number}");
    }
}
