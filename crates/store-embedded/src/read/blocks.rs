use async_trait::async_trait;
use domain::{Address, Block, BlockId, BlockNumber, BlockRange, Page, PageRequest};
use store::{BlockReader, StoreError};

use super::{select::seek_page, snapshot::ReadSnapshot};
use crate::{
    keys::{Key, ListKind, Table, number_after_hash},
    lists::{List, Role},
    reader::EmbeddedReader,
    rows::BlockRow,
};

#[async_trait]
impl BlockReader for EmbeddedReader {
    async fn find_block(&self, id: BlockId) -> Result<Option<Block>, StoreError> {
        self.read(move |index| index.find_block(id)).await
    }

    async fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Result<Page<Block>, StoreError> {
        self.read(move |index| index.list_blocks(range, page)).await
    }

    async fn list_mined_blocks(
        &self,
        miner: Address,
        range: BlockRange,
        page: PageRequest,
    ) -> Result<Page<Block>, StoreError> {
        self.read(move |index| index.list_mined_blocks(miner, range, page)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn find_block(&self, id: BlockId) -> Result<Option<Block>, StoreError> {
        match id {
            BlockId::Number(number) => {
                self.find_block_row(number)?.map(|row| self.hydrate_block(number, &row)).transpose()
            }
            BlockId::Hash(hash) => {
                for key in self.view.prefix(Table::BlockByHash, &Key::hash_prefix(&hash)) {
                    let number = number_after_hash(&key?.0)?;
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

    pub(crate) fn list_mined_blocks(
        &self,
        miner: Address,
        range: BlockRange,
        page: PageRequest,
    ) -> Result<Page<Block>, StoreError> {
        let Some(id) = self.address_id(&miner)? else { return Ok(Page::empty(0)) };
        let span = self.block_span(range);
        if span.is_empty() {
            return Ok(Page::empty(0));
        }
        let mined = List::open(&self.view, ListKind::Mined.of(id))?;
        let Page { items, total } = seek_page(&mined, Role::Any, span, page)?;
        let blocks = items.into_iter().map(|number| self.hydrate_block(number, &*self.block_row(number)?));
        Ok(Page { items: blocks.collect::<Result<_, _>>()?, total })
    }

    fn hydrate_block(&self, number: BlockNumber, row: &BlockRow) -> Result<Block, StoreError> {
        let miner = self.address(row.miner)?;
        Ok(row.to_block(number, miner))
    }
}
