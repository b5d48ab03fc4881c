//! Trades, by a scan of all of them.

use domain::{Address, Exchange, Page, PageRequest, PoolStyle, Trade, TradeDirection, TradeFilter, TradedToken};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject,
    model::{paginate, transaction},
    queries::{page, range, some_address},
};

impl Model {
    #[must_use]
    pub fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Page<Trade> {
        let all = self.blocks.iter().filter(|changes| filter.blocks.contains(changes.block.number));
        let all = all.flat_map(|changes| {
            changes.trades.iter().map(|event| {
                let pool = self.find_pool(event.pool).expect("a trade's pool is known");
                let tx = transaction(changes, event.tx_index);
                let (token_in, token_out) = match event.direction {
                    TradeDirection::ZeroForOne => (pool.token0, pool.token1),
                    TradeDirection::OneForZero => (pool.token1, pool.token0),
                };
                Trade {
                    event: *event,
                    pool,
                    maker: tx.from,
                    tx_hash: tx.hash,
                    block_number: changes.block.number,
                    timestamp: changes.block.timestamp,
                    token_in: self.traded(token_in),
                    token_out: self.traded(token_out),
                }
            })
        });
        let matching = all.filter(|trade| {
            let exchange = Exchange { style: trade.pool.style, factory: trade.pool.factory };
            filter.maker.is_none_or(|maker| trade.maker == maker)
                && filter.pool.is_none_or(|pool| trade.pool.address == pool)
                && filter.exchanges.as_ref().is_none_or(|matching| matching.contains(&exchange))
        });
        paginate(matching.collect(), page)
    }

    fn traded(&self, address: Address) -> TradedToken {
        let metadata = self.metadata_of(address);
        TradedToken { address, symbol: metadata.known_symbol().map(str::to_owned), decimals: metadata.decimals }
    }
}

pub(super) async fn trades(subject: &Subject, model: &Model, chain: &RandomChain, rng: &mut StdRng) {
    let height = model.tip().map_or(0, |tip| tip.number);
    let count = model.list_trades(&TradeFilter::default(), PageRequest::newest(1)).total;
    for pool in chain.pools() {
        assert_eq!(subject.reader.find_pool(pool.address).await.expect("pool"), model.find_pool(pool.address));
    }
    for conditions in 0..8_u8 {
        for _ in 0..6 {
            let filter = TradeFilter {
                maker: (conditions & 1 != 0).then(|| some_address(chain, rng)),
                pool: (conditions & 4 != 0).then(|| some_pool(chain, rng)),
                exchanges: (conditions & 2 != 0).then(|| exchanges(chain, rng)),
                blocks: range(rng, height),
            };
            let page = page(rng, count);
            let found = subject.reader.list_trades(&filter, page).await.expect("trades");
            assert_eq!(found, model.list_trades(&filter, page), "trades {filter:?} {page:?}");
        }
    }
}

/// Mostly a pool, at times another address.
fn some_pool(chain: &RandomChain, rng: &mut StdRng) -> Address {
    if rng.random_bool(0.2) {
        return some_address(chain, rng);
    }
    chain.pools()[rng.random_range(0..chain.pools().len())].address
}

/// Mostly one exchange, at times several or none.
fn exchanges(chain: &RandomChain, rng: &mut StdRng) -> Vec<Exchange> {
    let factories = [chain.pools()[0].factory, chain.pools()[1].factory, Address::repeat_byte(0xee)];
    let all = factories.iter().flat_map(|factory| PoolStyle::ALL.map(|style| Exchange { style, factory: *factory }));
    let mut all: Vec<Exchange> = all.collect();
    if rng.random_bool(0.5) {
        return vec![all.swap_remove(rng.random_range(0..4))];
    }
    all.retain(|_| rng.random_bool(0.6));
    all
}
