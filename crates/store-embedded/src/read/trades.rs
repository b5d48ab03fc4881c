use std::ops::Range;

use async_trait::async_trait;
use domain::{Address, BlockRange, Order, Page, PageRequest, Pool, Trade, TradeDirection, TradeFilter, TradedToken};
use store::{StoreError, TradeReader};

use super::{
    conditions::{Condition, ReadError},
    snapshot::ReadSnapshot,
};
use crate::{
    keys::{AddressId, Key, ListKind, Table, TradeId},
    lists::Role,
    reader::EmbeddedReader,
    rows::{PoolRow, TradeRow},
};

#[async_trait]
impl TradeReader for EmbeddedReader {
    async fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Result<Page<Trade>, StoreError> {
        let filter = filter.clone();
        self.read_list(move |index| index.list_trades(&filter, page)).await
    }

    async fn find_pool(&self, address: Address) -> Result<Option<Pool>, StoreError> {
        self.read(move |index| index.find_pool(address)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Result<Page<Trade>, ReadError> {
        let mut conditions = Vec::new();
        for (address, list) in [(filter.maker, ListKind::MakerTrades), (filter.pool, ListKind::PoolTrades)] {
            let Some(address) = address else { continue };
            match self.condition(address, list, Role::Any)? {
                Some(condition) => conditions.push(condition),
                None => return Ok(Page::empty(0)),
            }
        }
        let Page { items, total } = match &filter.exchanges {
            Some(exchanges) => {
                let mut alternatives = Vec::new();
                for exchange in exchanges {
                    let list = ListKind::of_exchange(exchange.style);
                    if let Some(condition) = self.condition(exchange.factory, list, Role::Any)? {
                        alternatives.push([conditions.as_slice(), &[condition]].concat());
                    }
                }
                self.select_any(alternatives, filter.blocks, page)?
            }
            None => self.select(&conditions, filter.blocks, |totals| totals.trades, page)?,
        };
        let rows = self.rows(Table::Trade, &items)?;
        let rows = rows.iter().map(|row| TradeRow::from_row(row)).collect::<Result<Vec<_>, _>>()?;
        self.read_positions(rows.iter().map(|row| row.tx))?;
        let items = rows.into_iter().map(|row| self.hydrate_trade(row));
        Ok(Page { items: items.collect::<Result<_, StoreError>>()?, total })
    }

    /// A page of the entries that satisfy all conditions of one alternative. No entry satisfies two alternatives: a
    /// trade belongs to one exchange.
    fn select_any(
        &self,
        alternatives: Vec<Vec<Condition>>,
        blocks: BlockRange,
        page: PageRequest,
    ) -> Result<Page<TradeId>, ReadError> {
        let span = self.id_span(blocks, |totals| totals.trades)?;
        let settled = self.settled_totals()?.trades;
        let mut matching = Vec::new();
        for alternative in alternatives {
            let found = self.select_within(&alternative, span.clone(), settled, page)?;
            if found.total > 0 {
                matching.push((alternative, found));
            }
        }
        // The usual case: exchanges that share a name are on different chains.
        if matching.len() <= 1 {
            return Ok(matching.pop().map_or(Page::empty(0), |(_, found)| found));
        }
        let total = matching.iter().map(|(_, found)| found.total).sum();
        let alternatives: Vec<Vec<Condition>> = matching.into_iter().map(|(alternative, _)| alternative).collect();
        let rest = self.span_after(&alternatives, span, settled, page)?;
        let mut items = Vec::new();
        for alternative in &alternatives {
            let page = PageRequest { offset: 0, ..page };
            items.extend(self.select_within(alternative, rest.clone(), settled, page)?.items);
        }
        items.sort_unstable();
        if page.order == Order::NewestFirst {
            items.reverse();
        }
        items.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
        Ok(Page { items, total })
    }

    /// The rest of a span after skipping the page's offset. Found by binary search, since counting an alternative
    /// within a span is cheap.
    fn span_after(
        &self,
        alternatives: &[Vec<Condition>],
        span: Range<TradeId>,
        settled: TradeId,
        page: PageRequest,
    ) -> Result<Range<TradeId>, ReadError> {
        let rest_from = |skipped: u64| match page.order {
            Order::OldestFirst => span.start + skipped..span.end,
            Order::NewestFirst => span.start..span.end - skipped,
        };
        let skipped_count = |skipped: u64| -> Result<u64, ReadError> {
            let part = match page.order {
                Order::OldestFirst => span.start..span.start + skipped,
                Order::NewestFirst => span.end - skipped..span.end,
            };
            let count = |conditions: &Vec<Condition>| {
                let none = PageRequest { offset: 0, limit: 0, ..page };
                Ok(self.select_within(conditions, part.clone(), settled, none)?.total)
            };
            alternatives.iter().map(count).sum()
        };
        // The shortest part that contains as many entries as the offset.
        let (mut low, mut high) = (0, span.end - span.start);
        while low < high {
            let middle = low + (high - low) / 2;
            if skipped_count(middle)? < page.offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(rest_from(low))
    }

    pub(crate) fn find_pool(&self, address: Address) -> Result<Option<Pool>, StoreError> {
        let Some(id) = self.address_id(&address)? else { return Ok(None) };
        self.pool_row(id)?.map(|row| self.hydrate_pool(address, row)).transpose()
    }

    fn pool_row(&self, id: AddressId) -> Result<Option<PoolRow>, StoreError> {
        if let Some(pool) = self.pools.borrow().get(&id) {
            return Ok(Some(*pool));
        }
        let Some(row) = self.view.get(Table::Pool, &Key::id(id))? else { return Ok(None) };
        let pool = PoolRow::from_row(&row)?;
        self.pools.borrow_mut().insert(id, pool);
        Ok(Some(pool))
    }

    fn hydrate_pool(&self, address: Address, row: PoolRow) -> Result<Pool, StoreError> {
        Ok(Pool {
            address,
            style: row.style,
            factory: self.address(row.factory)?,
            token0: self.address(row.token0)?,
            token1: self.address(row.token1)?,
        })
    }

    pub(super) fn trade_row(&self, id: TradeId) -> Result<TradeRow, StoreError> {
        let row = self.view.get(Table::Trade, &Key::id(id))?;
        TradeRow::from_row(&row.ok_or(StoreError::Corrupt("a trade is missing"))?)
    }

    pub(super) fn hydrate_trade(&self, row: TradeRow) -> Result<Trade, StoreError> {
        let position = self.transaction_position(row.tx)?;
        let pool_row = self.pool_row(row.pool)?.ok_or(StoreError::Corrupt("a trade without a pool"))?;
        let pool = self.hydrate_pool(self.address(row.pool)?, pool_row)?;
        let (token_in, token_out) = match row.direction {
            TradeDirection::ZeroForOne => (pool_row.token0, pool_row.token1),
            TradeDirection::OneForZero => (pool_row.token1, pool_row.token0),
        };
        Ok(Trade {
            event: row.to_event(position.tx_index, pool.address),
            pool,
            maker: self.address(position.from)?,
            tx_hash: position.tx_hash,
            block_number: position.block_number,
            timestamp: position.timestamp,
            token_in: self.traded_token(token_in)?,
            token_out: self.traded_token(token_out)?,
        })
    }

    fn traded_token(&self, id: AddressId) -> Result<TradedToken, StoreError> {
        let metadata = self.token_metadata(id)?;
        let symbol = metadata.known_symbol().map(str::to_owned);
        Ok(TradedToken { address: self.address(id)?, symbol, decimals: metadata.decimals })
    }
}
