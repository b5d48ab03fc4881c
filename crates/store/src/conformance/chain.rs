use domain::{Address, B256, Block, BlockChanges, Involvement, Transaction, U256};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Makes blocks that no node made, with the traits that trip an index up: a few very busy addresses, many quiet ones,
/// transfers to oneself, creations, empty blocks, blocks of the same second.
#[derive(Debug)]
pub struct RandomChain {
    rng: StdRng,
    people: Vec<Address>,
}

impl RandomChain {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x0005_eed0_fb10_c4e5);
        let people = (0..40).map(|_| Address::new(rng.random())).collect();
        Self { rng, people }
    }

    /// Every address that may have been used so far, the busiest first.
    #[must_use]
    pub fn people(&self) -> &[Address] {
        &self.people
    }

    /// A child of the parent, unlike any other; without one, block 0.
    pub fn next_block(&mut self, parent: Option<&Block>) -> BlockChanges {
        let count = match self.rng.random_range(0..10) {
            0..2 => 0,
            2..9 => self.rng.random_range(1..8),
            _ => self.rng.random_range(8..40),
        };
        let block = Block {
            number: parent.map_or(0, |parent| parent.number + 1),
            hash: self.rng.random::<[u8; 32]>().into(),
            parent_hash: parent.map_or(B256::ZERO, |parent| parent.hash),
            timestamp: parent.map_or(1_700_000_000, |parent| parent.timestamp + self.rng.random_range(0..5)),
            miner: self.people[self.rng.random_range(0..3)],
            tx_count: count,
            gas_used: self.rng.random_range(0..30_000_000),
            gas_limit: 30_000_000,
            base_fee_per_gas: self.rng.random_bool(0.8).then(|| self.rng.random_range(0..1 << 40)),
            size: self.rng.random_range(500..100_000),
        };
        let transactions: Vec<_> = (0..count).map(|index| self.transaction(&block, index)).collect();
        let mut involved: Vec<_> = transactions.iter().flat_map(|tx| self.involved(tx)).collect();
        involved.sort_unstable();
        involved.dedup();
        BlockChanges { block, transactions, involved, transfers: Vec::new(), trades: Vec::new(), pools: Vec::new() }
    }

    fn transaction(&mut self, block: &Block, index: u32) -> Transaction {
        let from = self.person();
        let creates = self.rng.random_ratio(1, 15);
        let to = match self.rng.random_range(0..20) {
            _ if creates => None,
            0 => Some(from),
            1 => Some(self.newcomer()),
            _ => Some(self.person()),
        };
        let succeeded = self.rng.random_bool(0.9);
        Transaction {
            hash: self.rng.random::<[u8; 32]>().into(),
            block_number: block.number,
            block_hash: block.hash,
            index,
            timestamp: block.timestamp,
            from,
            to,
            created: (creates && succeeded).then(|| self.newcomer()),
            value: U256::from_limbs(self.rng.random()) >> self.rng.random_range(0..257_usize),
            nonce: self.rng.random_range(0..1 << 34),
            gas_used: self.rng.random_range(21_000..10_000_000),
            gas_price: self.rng.random_range(0..1 << 80),
            succeeded,
            method: (!creates && self.rng.random_bool(0.6)).then(|| self.rng.random()),
        }
    }

    fn involved(&mut self, tx: &Transaction) -> Vec<Involvement> {
        let emitters = self.rng.random_range(0..3);
        (0..emitters)
            .map(|_| self.person())
            .chain(tx.created)
            .filter(|address| !tx.touches(address))
            .map(|address| Involvement { tx_index: tx.index, address })
            .collect()
    }

    /// The first ones come up far more often than the last.
    fn person(&mut self) -> Address {
        let skewed = self.rng.random::<f64>().powi(4);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index, far below 2^52")]
        let index = (skewed * self.people.len() as f64) as usize;
        self.people[index.min(self.people.len() - 1)]
    }

    fn newcomer(&mut self) -> Address {
        let address = Address::new(self.rng.random());
        self.people.push(address);
        address
    }
}
