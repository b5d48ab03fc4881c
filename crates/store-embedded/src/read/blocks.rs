use domain::{Block, BlockId, BlockNumber, BlockRange, Page, PageRequest};
use store::StoreError;

use super::ReadSnapshot;
use crate::{
    keys::{Key, Table, number_after_hash},
    rows::BlockRow,
};

impl ReadSnapshot {
    pub(crate) fn find_block(&self, id: BlockId) -> Result<Option<Block>, StoreError> {
        match id {
            BlockId::Number(number) => {
                self.find_block_row(number)?.map(|row| self.hydrate_block(number, &row)).transpose()
            }
            BlockId::Hash(hash) => {
                for key in self.view.prefix(Table::BlockByHash, &Key::hash_prefix(&hash)) {
                    let number = number_after_hash(&key?.0);
                    let row = self.block_row(number)?;
                    if row.hash == hash {
                        return self.hydrate_block(number, &row).map(Some);
                    }
                }
                Ok(None)
            }
        }
    }

    pub(crate) fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Result<Page<Block>, StoreError> {
        let span = self.block_span(range);
        let total = span.end - span.start;
        let items = page.ranks(total).map(|rank| {
            let number = span.start + rank;
            self.hydrate_block(number, &*self.block_row(number)?)
        });
        Ok(Page { items: items.collect::<Result<_, _>>()?, total })
    }

    fn hydrate_block(&self, number: BlockNumber, row: &BlockRow) -> Result<Block, StoreError> {
        let miner = self.address(row.miner)?;
        Ok(row.to_block(number, miner))
    }
}
