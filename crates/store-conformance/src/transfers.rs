//! Token transfers, by a scan of all of them.

use domain::{Address, Page, PageRequest, Transfer, TransferFilter};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject,
    model::{paginate, transaction},
    queries::{page, range, some_address},
};

impl Model {
    #[must_use]
    pub fn list_transfers(&self, filter: &TransferFilter, page: PageRequest) -> Page<Transfer> {
        let all = self.blocks.iter().flat_map(|changes| {
            let matching = changes.transfers.iter().filter(|event| filter.matches(event, changes.block.number));
            matching.map(|event| {
                let metadata = self.metadata_of(event.token);
                Transfer {
                    event: *event,
                    tx_hash: transaction(changes, event.tx_index).hash,
                    block_number: changes.block.number,
                    timestamp: changes.block.timestamp,
                    token_name: metadata.known_name().map(str::to_owned),
                    token_symbol: metadata.known_symbol().map(str::to_owned),
                    token_decimals: metadata.decimals,
                }
            })
        });
        paginate(all.collect(), page)
    }
}

pub(super) async fn transfers(subject: &Subject, model: &Model, chain: &RandomChain, rng: &mut StdRng) {
    let height = model.tip().map_or(0, |tip| tip.number);
    let tokens: Vec<Address> = chain.tokens().collect();
    let count = model.list_transfers(&TransferFilter::default(), PageRequest::newest(1)).total;
    for conditions in 0..16_u8 {
        for _ in 0..4 {
            let filter = TransferFilter {
                address: (conditions & 1 != 0).then(|| some_address(chain, rng)),
                from: (conditions & 2 != 0).then(|| some_address(chain, rng)),
                to: (conditions & 4 != 0).then(|| some_address(chain, rng)),
                token: (conditions & 8 != 0).then(|| tokens[rng.random_range(0..tokens.len())]),
                blocks: range(rng, height),
            };
            let page = page(rng, count);
            let found = subject.reader.list_transfers(&filter, page).await.expect("transfers");
            assert_eq!(found, model.list_transfers(&filter, page), "transfers {filter:?} {page:?}");
        }
    }
}
