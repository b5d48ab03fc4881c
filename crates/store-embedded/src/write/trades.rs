use domain::{BlockNumber, Pool, TradeEvent};
use store::StoreError;

use super::commit::Step;
use crate::{
    keys::{AddressId, Key, ListKind, Table, TxId},
    lists::{Entry, Roles},
    rows::{PoolRow, TradeRow, exchange_list},
};

impl Step<'_, '_> {
    /// Stores a pool, unless it is known.
    pub(super) fn add_pool(&mut self, pool: &Pool, block: BlockNumber) -> Result<(), StoreError> {
        let id = self.address_id(pool.address, block)?;
        if self.overwrites.get(Table::Pool, &Key::id(id))?.is_some() {
            return Ok(());
        }
        let row = PoolRow {
            style: pool.style,
            factory: self.address_id(pool.factory, block)?,
            token0: self.address_id(pool.token0, block)?,
            token1: self.address_id(pool.token1, block)?,
        };
        self.overwrites.put(Table::Pool, &Key::id(id), Some(row.to_row()))
    }

    pub(super) fn add_trade(
        &mut self,
        tx: TxId,
        maker: AddressId,
        event: &TradeEvent,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        let pool = self.address_id(event.pool, block)?;
        let row = self.overwrites.get(Table::Pool, &Key::id(pool))?;
        let row = PoolRow::from_row(row.ok_or(StoreError::UnknownPool { pool: event.pool })?)?;
        let id = self.totals.trades;
        self.totals.trades += 1;
        self.batch.put(Table::Trade, &Key::id(id), TradeRow::new(event, tx, pool).to_row());
        self.append(ListKind::MakerTrades.of(maker), Entry { id, roles: Roles::NONE })?;
        self.append(ListKind::PoolTrades.of(pool), Entry { id, roles: Roles::NONE })?;
        self.append(exchange_list(row.style).of(row.factory), Entry { id, roles: Roles::NONE })?;
        Ok(())
    }
}
