use domain::{Address, Page, PageRequest, Pool, Trade, TradeDirection, TradeEvent, TradeFilter, TradedToken};
use store::StoreError;

use super::Reading;
use crate::keys::{AddressId, Key, ListKind, Table, TradeId};
use crate::lists::Role;
use crate::rows::{PoolRow, TradeRow, exchange_list};

impl Reading {
    pub(crate) fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Result<Page<Trade>, StoreError> {
        let maker = filter.maker.map(|maker| (maker, ListKind::MakerTrades));
        let exchange = filter.exchange.map(|exchange| (exchange.factory, exchange_list(exchange.style)));
        let mut conditions = Vec::new();
        for (owner, kind) in [maker, exchange].into_iter().flatten() {
            match self.condition(owner, kind, Role::Any)? {
                Some(condition) => conditions.push(condition),
                None => return Ok(Page::empty(0)),
            }
        }
        let Page { items, total } = self.select(&conditions, filter.blocks, |totals| totals.trades, page)?;
        let items = items.into_iter().map(|id| self.hydrate_trade(self.trade_row(id)?));
        Ok(Page { items: items.collect::<Result<_, _>>()?, total })
    }

    pub(crate) fn find_pool(&self, address: Address) -> Result<Option<Pool>, StoreError> {
        let Some(id) = self.address_id(&address)? else { return Ok(None) };
        self.pool_row(id)?.map(|row| self.hydrate_pool(address, row)).transpose()
    }

    fn pool_row(&self, id: AddressId) -> Result<Option<PoolRow>, StoreError> {
        self.view.get(Table::Pool, &Key::id(id))?.map(|row| PoolRow::from_row(&row)).transpose()
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
        let place = self.place_of(row.tx)?;
        let pool_row = self.pool_row(row.pool)?.ok_or(StoreError::Corrupt("a trade without a pool"))?;
        let pool = self.hydrate_pool(self.address(row.pool)?, pool_row)?;
        let (token_in, token_out) = match row.direction {
            TradeDirection::ZeroForOne => (pool_row.token0, pool_row.token1),
            TradeDirection::OneForZero => (pool_row.token1, pool_row.token0),
        };
        Ok(Trade {
            event: TradeEvent {
                tx_index: place.tx_index,
                log_index: row.log_index,
                pool: pool.address,
                direction: row.direction,
                amount_in: row.amount_in,
                amount_out: row.amount_out,
            },
            pool,
            maker: self.address(place.from)?,
            tx_hash: place.tx_hash,
            block_number: place.block_number,
            timestamp: place.timestamp,
            token_in: self.traded_token(token_in)?,
            token_out: self.traded_token(token_out)?,
        })
    }

    fn traded_token(&self, id: AddressId) -> Result<TradedToken, StoreError> {
        let facts = self.token_facts(id)?;
        Ok(TradedToken { address: self.address(id)?, symbol: facts.symbol, decimals: facts.decimals })
    }
}
