use domain::Exchange;
use enrichment::Dexes;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Timestamp};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DexTrade {
    pub tx_hash: Hash,
    /// In the block, from 0.
    pub log_index: u32,
    pub block_number: u64,
    pub timestamp: Timestamp,
    /// The name of the exchange; without a name, its style and factory, such as
    /// `v2-0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5`.
    #[schema(example = "PancakeSwap v2")]
    pub dex: String,
    /// The pool.
    pub pair_address: Address,
    /// The sender of the transaction.
    pub maker: Address,
    /// The sold token.
    pub token_in: Address,
    /// The bought token.
    pub token_out: Address,
    /// In the token's smallest unit.
    pub amount_in: Decimal,
    /// In the token's smallest unit.
    pub amount_out: Decimal,
    pub factory: Address,
    /// Null until it is read, also if no transfer of the token is indexed; empty if the contract has none.
    #[schema(required = true)]
    pub token_in_symbol: Option<String>,
    #[schema(required = true)]
    pub token_out_symbol: Option<String>,
    /// Null until they are read, and if the contract has none.
    #[schema(required = true)]
    pub token_in_decimals: Option<u8>,
    #[schema(required = true)]
    pub token_out_decimals: Option<u8>,
}

impl DexTrade {
    #[must_use]
    pub fn new(trade: domain::Trade, dexes: &Dexes) -> Self {
        let (pool, event) = (trade.pool, trade.event);
        Self {
            tx_hash: trade.tx_hash.into(),
            log_index: event.log_index,
            block_number: trade.block_number,
            timestamp: Timestamp::from_unix_seconds(trade.timestamp),
            dex: dexes.name(Exchange { style: pool.style, factory: pool.factory }).into_owned(),
            pair_address: pool.address.into(),
            maker: trade.maker.into(),
            token_in: trade.token_in.address.into(),
            token_out: trade.token_out.address.into(),
            amount_in: event.amount_in.into(),
            amount_out: event.amount_out.into(),
            factory: pool.factory.into(),
            token_in_symbol: trade.token_in.symbol,
            token_out_symbol: trade.token_out.symbol,
            token_in_decimals: trade.token_in.decimals,
            token_out_decimals: trade.token_out.decimals,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, Pool, PoolStyle, TradeDirection, TradeEvent, TradedToken, U256};

    use super::*;

    fn trade(factory: Address) -> domain::Trade {
        let (token0, token1) = (Address::repeat_byte(0x10), Address::repeat_byte(0x11));
        let pool = Pool { address: Address::repeat_byte(0x99), style: PoolStyle::V2, factory, token0, token1 };
        domain::Trade {
            event: TradeEvent {
                tx_index: 2,
                log_index: 43,
                pool: pool.address,
                direction: TradeDirection::OneForZero,
                amount_in: U256::MAX,
                amount_out: U256::from(7),
            },
            pool,
            maker: Address::repeat_byte(0xaa),
            tx_hash: B256::repeat_byte(0xcc),
            block_number: 17,
            timestamp: 1_794_700_800,
            token_in: TradedToken { address: token1, symbol: Some("COIN".to_owned()), decimals: Some(6) },
            token_out: TradedToken { address: token0, symbol: None, decimals: None },
        }
    }

    #[test]
    fn a_trade_has_the_documented_names_and_types() {
        let pancake = "0xcA143Ce32Fe78f1f7019d7d551a6402fC5350c73".parse().unwrap();
        insta::assert_json_snapshot!(DexTrade::new(trade(pancake), &Dexes::default()));
    }

    #[test]
    fn a_trade_on_an_unknown_exchange_has_its_factory_as_name() {
        let trade = DexTrade::new(trade(Address::repeat_byte(0xAB)), &Dexes::default());
        assert_eq!(trade.dex, format!("v2-0x{}", "ab".repeat(20)));
    }
}
