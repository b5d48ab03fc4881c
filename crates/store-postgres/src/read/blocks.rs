use async_trait::async_trait;
use domain::{Address, Block, BlockId, BlockRange, Order, Page, PageRequest};
use store::{BlockReader, StoreError};

use super::pages::{clamped_range, page_of};
use crate::{
    database::{Connection, find, query},
    reader::{PostgresReader, read_statement},
    rows::{clamped, int8},
    tables::{BLOCK, block_from_row},
};

#[async_trait]
impl BlockReader for PostgresReader {
    async fn find_block(&self, id: BlockId) -> Result<Option<Block>, StoreError> {
        read_statement!(self, |client| find_block(&client, id))
    }

    async fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Result<Page<Block>, StoreError> {
        read_statement!(self, |client| list_blocks(&client, range, page))
    }

    async fn list_mined_blocks(
        &self,
        miner: Address,
        range: BlockRange,
        page: PageRequest,
    ) -> Result<Page<Block>, StoreError> {
        read_statement!(self, |client| list_mined_blocks(&client, miner, range, page))
    }
}

pub(crate) async fn find_block(client: &dyn Connection, id: BlockId) -> Result<Option<Block>, StoreError> {
    let select = format!("select {BLOCK} from block b join address m on m.id = b.miner");
    let row = match id {
        BlockId::Number(number) => find(client, &format!("{select} where b.number = $1"), &[&int8(number)]).await?,
        BlockId::Hash(hash) => find(client, &format!("{select} where b.hash = $1"), &[&hash.as_slice()]).await?,
    };
    row.map(|row| block_from_row(&row, 0)).transpose()
}

/// The rows of a page of block numbers.
fn select_blocks(page: &str) -> String {
    format!(
        "with page as materialized ({page})
        select page.total, u.id, {BLOCK} from page
        left join lateral unnest(page.ids) with ordinality u(id, n) on true
        left join block b on b.number = u.id left join address m on m.id = b.miner order by u.n"
    )
}

pub(crate) async fn list_blocks(
    client: &dyn Connection,
    range: BlockRange,
    page: PageRequest,
) -> Result<Page<Block>, StoreError> {
    let sql = select_blocks(
        "select p.total, p.ids from chain c cross join lateral span_page(
            greatest($1, c.first_block), least($2, c.tip_number) + 1, $3, $4, $5
        ) p where c.tip_number is not null",
    );
    let (from, to) = clamped_range(range);
    let newest_first = page.order == Order::NewestFirst;
    let rows = query(client, &sql, &[&from, &to, &clamped(page.offset), &i64::from(page.limit), &newest_first]).await?;
    page_of(&rows, |row| block_from_row(row, 2))
}

pub(crate) async fn list_mined_blocks(
    client: &dyn Connection,
    miner: Address,
    range: BlockRange,
    page: PageRequest,
) -> Result<Page<Block>, StoreError> {
    let sql = select_blocks(
        "select p.total, p.ids from address a cross join chain c cross join lateral address_mined_page(
            a.id, 0, greatest($1, c.first_block), least($2, c.tip_number) + 1, $3, $4, $5
        ) p where a.address = $6 and c.tip_number is not null",
    );
    let (from, to) = clamped_range(range);
    let (offset, limit, newest_first) = (clamped(page.offset), i64::from(page.limit), page.order == Order::NewestFirst);
    let rows = query(client, &sql, &[&from, &to, &offset, &limit, &newest_first, &miner.as_slice()]).await?;
    page_of(&rows, |row| block_from_row(row, 2))
}
