//! Transactions: one by its hash, and lists by filter, by a scan of all of them.

use domain::{
    B256, Order, Page, PageRequest, TradeFilter, Transaction, TransactionEvents, TransactionFilter, TransferFilter,
};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject,
    model::paginate,
    queries::{ORDERS, page, range, some_address},
};

impl Model {
    #[must_use]
    pub fn find_transaction(&self, hash: B256) -> Option<Transaction> {
        self.transactions().find(|tx| tx.hash == hash).cloned()
    }

    /// Transfers and trades of a transaction, by a scan of all of them.
    #[must_use]
    pub fn find_transaction_events(&self, hash: B256, offset: u64, limit: u32) -> Option<TransactionEvents> {
        self.find_transaction(hash)?;
        let all = PageRequest { offset: 0, limit: u32::MAX, order: Order::OldestFirst };
        let mut transfers = self.list_transfers(&TransferFilter::default(), all).items;
        transfers.retain(|transfer| transfer.tx_hash == hash);
        let mut trades = self.list_trades(&TradeFilter::default(), all).items;
        trades.retain(|trade| trade.tx_hash == hash);
        let part = PageRequest { offset, limit, order: Order::OldestFirst };
        Some(TransactionEvents { transfers: paginate(transfers, part), trades: paginate(trades, part) })
    }

    #[must_use]
    pub fn list_transactions(&self, filter: &TransactionFilter, page: PageRequest) -> Page<Transaction> {
        paginate(self.transactions().filter(|tx| filter.matches(tx)).cloned().collect(), page)
    }
}

pub(super) async fn single_transactions(subject: &Subject, model: &Model, rng: &mut StdRng) {
    let known: Vec<B256> = model.transactions().map(|tx| tx.hash).collect();
    for _ in 0..12.min(known.len()) {
        let hash = known[rng.random_range(0..known.len())];
        let found = subject.reader.find_transaction(hash).await.expect("transaction");
        assert_eq!(found, model.find_transaction(hash));
        for offset in [0, 1, 1_000] {
            let events = subject.reader.find_transaction_events(hash, offset, 2).await.expect("events");
            assert_eq!(events, model.find_transaction_events(hash, offset, 2), "from {offset}");
        }
        // A hash with the same prefix as a known one is unknown.
        let mut twin = hash;
        twin[31] ^= 1;
        assert_eq!(subject.reader.find_transaction(twin).await.expect("transaction"), None);
    }
}

pub(super) async fn transactions(subject: &Subject, model: &Model, chain: &RandomChain, rng: &mut StdRng) {
    let height = model.tip().map_or(0, |tip| tip.number);
    let count = model.stats().total_transactions;
    for conditions in 0..8_u8 {
        for _ in 0..6 {
            let mut filter = TransactionFilter {
                address: (conditions & 1 != 0).then(|| some_address(chain, rng)),
                from: (conditions & 2 != 0).then(|| some_address(chain, rng)),
                to: (conditions & 4 != 0).then(|| some_address(chain, rng)),
                blocks: range(rng, height),
            };
            if rng.random_ratio(1, 4) {
                filter.address = filter.address.and(filter.from.or(filter.to));
                filter.to = filter.to.and(filter.from);
            }
            let page = page(rng, count);
            let found = subject.reader.list_transactions(&filter, page).await.expect("transactions");
            assert_eq!(found, model.list_transactions(&filter, page), "transactions {filter:?} {page:?}");
        }
    }
}

/// Pages through the longest lists from end to end, in both directions.
pub(super) async fn whole_lists(subject: &Subject, model: &Model, chain: &RandomChain) {
    let busiest = chain.addresses()[0];
    let next = chain.addresses()[1];
    let filters = [
        TransactionFilter::default(),
        TransactionFilter::touching(busiest),
        TransactionFilter { from: Some(busiest), ..TransactionFilter::default() },
        TransactionFilter { to: Some(next), ..TransactionFilter::default() },
        TransactionFilter { from: Some(busiest), to: Some(next), ..TransactionFilter::default() },
    ];
    for (filter, order) in filters.iter().flat_map(|filter| ORDERS.map(|order| (filter, order))) {
        let everything = PageRequest { offset: 0, limit: u32::MAX, order };
        let expected = model.list_transactions(filter, everything);
        let mut walked = Vec::new();
        while (walked.len() as u64) < expected.total {
            let page = PageRequest { offset: walked.len() as u64, limit: 97, order };
            let found = subject.reader.list_transactions(filter, page).await.expect("transactions");
            assert_eq!(found.total, expected.total, "total of {filter:?}");
            assert!(!found.items.is_empty(), "a page of {filter:?} before its end is empty");
            walked.extend(found.items);
        }
        assert_eq!(walked, expected.items, "walk of {filter:?} {order:?}");
    }
}
