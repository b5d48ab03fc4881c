//! What the protocol paid, by block and by address.

use domain::{Address, Credit, CreditClass, CreditFilter, Order, Page, PageRequest};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject,
    model::paginate,
    queries::{ORDERS, page, range, some_address},
    walk::{in_order, walk},
};

impl Model {
    #[must_use]
    pub fn list_credits(&self, filter: &CreditFilter, page: PageRequest) -> Page<Credit> {
        let all = self.blocks.iter().flat_map(|changes| {
            let of_block = |event: &_| Credit {
                event: *event,
                block_number: changes.block.number,
                timestamp: changes.block.timestamp,
            };
            changes.credits.iter().map(of_block)
        });
        paginate(all.filter(|credit| filter.matches(credit)).collect(), page)
    }
}

pub(super) async fn credits(subject: &Subject, model: &Model, chain: &RandomChain, rng: &mut StdRng) {
    let all = PageRequest { offset: 0, limit: u32::MAX, order: Order::OldestFirst };
    let mut filters = vec![CreditFilter::default()];
    for class in CreditClass::ALL {
        let addresses = chain.addresses().iter().take(12).copied().chain([Address::repeat_byte(0xee)]);
        filters.extend(addresses.map(|to| CreditFilter::of(to, class)));
    }
    for filter in filters {
        let expected = model.list_credits(&filter, all).items;
        for order in ORDERS {
            let found = walk(order, 7, async |page| subject.reader.list_credits(&filter, page).await).await;
            assert_eq!(found, in_order(expected.clone(), order), "{filter:?}");
        }
    }
    let height = model.tip().map_or(0, |tip| tip.number);
    for number in 0..40 {
        let class = CreditClass::ALL[number % 3];
        let of = rng.random_bool(0.7).then(|| (some_address(chain, rng), class));
        let (filter, page) = (CreditFilter { of, blocks: range(rng, height) }, page(rng, height));
        let found = subject.reader.list_credits(&filter, page).await.expect("credits");
        assert_eq!(found, model.list_credits(&filter, page), "{filter:?} {page:?}");
    }
}
