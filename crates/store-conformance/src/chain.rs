use domain::{
    Address, ApprovalEvent, ApprovalScope, B256, Block, BlockChanges, Charges, CreditEvent, CreditSource, DAY,
    InnerCreation, InternalBlock, InternalEvent, InternalKind, Involvement, LogEvent, Outcome, Payment, Pool,
    PoolStyle, TokenKind, TouchedHolder, TradeDirection, TradeEvent, Transaction, TransferEvent, U256,
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::random_logs::RandomLogs;

/// Generates random blocks with the traits that are hard for an index: a few very busy addresses, many quiet ones,
/// transfers to self, creations, empty blocks, equal timestamps, tokens whose events do not add up.
#[derive(Debug)]
pub struct RandomChain {
    rng: StdRng,
    addresses: Vec<Address>,
    tokens: Vec<(Address, TokenKind)>,
    pools: Vec<Pool>,
    logs: RandomLogs,
}

impl RandomChain {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x0005_eed0_fb10_c4e5);
        let addresses: Vec<Address> = (0..40).map(|_| Address::new(rng.random())).collect();
        let kinds = TokenKind::ALL;
        // One token is also an address that sends and receives.
        let token_addresses = std::iter::once(addresses[5]).chain((0..30).map(|_| Address::new(rng.random())));
        let tokens: Vec<_> = token_addresses.zip(kinds.into_iter().cycle()).collect();
        let factories = [Address::new(rng.random()), addresses[7]];
        let pools = (0..6).map(|number| Pool {
            address: Address::new(rng.random()),
            style: if number % 3 == 0 { PoolStyle::V3 } else { PoolStyle::V2 },
            factory: factories[number % 2],
            token0: tokens[number].0,
            token1: Address::new(rng.random()),
        });
        let pools = pools.collect();
        Self { rng, addresses, tokens, pools, logs: RandomLogs::new(seed) }
    }

    /// Every token that may have transfers.
    pub fn tokens(&self) -> impl Iterator<Item = Address> {
        self.tokens.iter().map(|(address, _)| *address)
    }

    /// Every pool that may have trades.
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// Every address that may have been used so far, the busiest first.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// A new child of the parent; block 0 without a parent.
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
            timestamp: parent.map_or(1_700_000_000, |parent| self.next_timestamp(parent.timestamp)),
            miner: self.addresses[self.rng.random_range(0..3)],
            tx_count: count,
            gas_used: self.rng.random_range(0..30_000_000),
            gas_limit: 30_000_000,
            base_fee_per_gas: self.rng.random_bool(0.8).then(|| self.rng.random_range(0..1 << 40)),
            size: self.rng.random_range(500..100_000),
        };
        let transactions: Vec<_> = (0..count).map(|index| self.transaction(&block, index)).collect();
        let inner_creations: Vec<_> = transactions.iter().filter_map(|tx| self.inner_creation(tx)).collect();
        // At times creations inside calls are unknown, as on a node without traces.
        let inner_creations = self.rng.random_bool(0.8).then_some(inner_creations);
        let mut involved: Vec<_> = transactions.iter().flat_map(|tx| self.involved(tx)).collect();
        for InnerCreation { tx_index, creator, created } in inner_creations.iter().flatten() {
            let tx = transactions.iter().find(|tx| tx.index == *tx_index);
            let others = [creator, created].into_iter().filter(|address| tx.is_some_and(|tx| !tx.touches(address)));
            involved.extend(others.map(|address| Involvement { tx_index: *tx_index, address: *address }));
        }
        involved.sort_unstable();
        involved.dedup();
        let (mut transfers, mut trades, mut pools, mut log_index) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut approvals = Vec::new();
        for tx in transactions.iter().filter(|tx| tx.succeeded) {
            for _ in 0..self.rng.random_range(0..4) {
                transfers.extend(self.transfer(tx.index, log_index));
                log_index += 1;
                if self.rng.random_ratio(1, 3) {
                    approvals.push(self.approval(tx.index, log_index));
                    log_index += 1;
                }
            }
            if self.rng.random_ratio(1, 5) {
                let (pool, trade) = self.trade(tx.index, log_index);
                pools.push(pool);
                trades.push(trade);
                log_index += 1;
            }
        }
        let touches = if count == 0 { 0 } else { self.rng.random_range(0..3) };
        let touched_holders = (0..touches).map(|_| self.touched_holder()).collect();
        let logs = self.logs_of(&transactions, &involved);
        let credits = self.credits(&block);
        BlockChanges {
            block,
            transactions,
            involved,
            logs,
            transfers,
            approvals,
            touched_holders,
            trades,
            pools,
            inner_creations,
            credits,
        }
    }

    /// Mostly some seconds later, at times on another day: at its first second, or after days without blocks.
    fn next_timestamp(&mut self, parent: u64) -> u64 {
        match self.rng.random_range(0..200) {
            0..4 => parent - parent % DAY + DAY,
            4 => parent + 3 * DAY + 7 * 60 * 60,
            seconds => parent + seconds % 5,
        }
    }

    fn transaction(&mut self, block: &Block, index: u32) -> Transaction {
        let from = self.known_address();
        let creates = self.rng.random_ratio(1, 15);
        let to = match self.rng.random_range(0..20) {
            _ if creates => None,
            0 => Some(from),
            1 => Some(self.new_address()),
            _ => Some(self.known_address()),
        };
        let varied = Transaction::varied(|| self.rng.random());
        Transaction {
            hash: self.rng.random::<[u8; 32]>().into(),
            block_number: block.number,
            block_hash: block.hash,
            index,
            timestamp: block.timestamp,
            from,
            to,
            created: (creates && varied.outcome() == Outcome::Succeeded).then(|| self.new_address()),
            charges: self.charges().boxed(),
            method: varied.method.filter(|_| !creates),
            ..varied
        }
    }

    /// Mostly none, as for transactions that pay for their gas alone.
    fn charges(&mut self) -> Charges {
        if self.rng.random_bool(0.7) {
            return Charges::default();
        }
        let payment = match self.rng.random_range(0..4) {
            0 => Payment::Nothing,
            1 => Payment::Token(self.known_address()),
            _ => Payment::Coin,
        };
        let mut amount = || U256::from(self.rng.random_range(0..1_u128 << 90) >> self.rng.random_range(0..91));
        Charges { blob: amount(), l1: amount(), operator: amount(), payment }
    }

    /// The internal transactions of a block: mostly few, at times many in one transaction, some to new addresses.
    pub fn internal_block(&mut self, changes: &BlockChanges) -> InternalBlock {
        let mut events = Vec::new();
        for tx in &changes.transactions {
            let count = match self.rng.random_range(0..60) {
                0..30 => 0,
                30..59 => self.rng.random_range(1..5),
                _ => self.rng.random_range(100..400),
            };
            events.extend((0..count).map(|position| self.internal_event(tx.index, position)));
        }
        InternalBlock { block: changes.block.id(), events }
    }

    fn internal_event(&mut self, tx_index: u32, position: u32) -> InternalEvent {
        let kinds = [
            InternalKind::Call,
            InternalKind::Create,
            InternalKind::Create2,
            InternalKind::SelfDestruct,
            InternalKind::Transfer,
            InternalKind::Burn,
        ];
        let kind = kinds[self.rng.random_range(0..22_usize).saturating_sub(16)];
        let error = self.rng.random_ratio(1, 10).then(|| "execution reverted".to_owned());
        let from = self.known_address();
        let to = match self.rng.random_range(0..30) {
            0 => from,
            1 => self.new_address(),
            _ => self.known_address(),
        };
        InternalEvent {
            tx_index,
            position,
            kind,
            from,
            to: (error.is_none() || !kind.is_creation()).then_some(to),
            value: U256::from_limbs(self.rng.random()) >> self.rng.random_range(0..257_usize),
            gas: self.rng.random_range(0..1 << 40),
            gas_used: self.rng.random(),
            error,
        }
    }

    fn logs_of(&mut self, transactions: &[Transaction], involved: &[Involvement]) -> Vec<LogEvent> {
        let mut logs = Vec::new();
        for tx in transactions.iter().filter(|tx| tx.succeeded) {
            // Only contracts that are part of a transaction emit logs in it.
            let others = involved.iter().filter(|involvement| involvement.tx_index == tx.index);
            let emitters: Vec<Address> = tx.to.into_iter().chain(others.map(|other| other.address)).collect();
            self.logs.append(&mut logs, tx.index, &emitters);
        }
        logs
    }

    /// Mostly of a new contract, at times at a known address, which may have had a contract before.
    fn inner_creation(&mut self, tx: &Transaction) -> Option<InnerCreation> {
        let creates = tx.succeeded && self.rng.random_ratio(1, 8);
        creates.then(|| InnerCreation {
            tx_index: tx.index,
            creator: self.known_address(),
            created: if self.rng.random_ratio(1, 3) { self.known_address() } else { self.new_address() },
        })
    }

    fn involved(&mut self, tx: &Transaction) -> Vec<Involvement> {
        let emitters = self.rng.random_range(0..3);
        (0..emitters)
            .map(|_| self.known_address())
            .chain(tx.created)
            .filter(|address| !tx.touches(address))
            .map(|address| Involvement { tx_index: tx.index, address })
            .collect()
    }

    /// Mostly none. Some are to new addresses, which nothing else makes known.
    fn credits(&mut self, block: &Block) -> Vec<CreditEvent> {
        let count = if self.rng.random_ratio(1, 3) { self.rng.random_range(1..6) } else { 0 };
        (0..count).map(|_| self.credit(block)).collect()
    }

    fn credit(&mut self, block: &Block) -> CreditEvent {
        let source = match self.rng.random_range(0..7) {
            0 => CreditSource::BlockReward,
            1 => {
                let number = block.number.saturating_sub(self.rng.random_range(1..7));
                let hash = self.rng.random::<[u8; 32]>().into();
                CreditSource::UncleReward { number, hash, timestamp: block.timestamp.saturating_sub(9) }
            }
            2 => CreditSource::Mint { tx_index: self.rng.random_range(0..1 << 20) },
            3 => CreditSource::Genesis,
            _ => CreditSource::Withdrawal { index: self.rng.random(), validator: self.rng.random_range(0..1 << 30) },
        };
        let to = if self.rng.random_ratio(1, 8) { self.new_address() } else { self.known_address() };
        let amount = U256::from_limbs(self.rng.random()) >> self.rng.random_range(0..257_usize);
        CreditEvent { to, amount, source }
    }

    /// The transfers of one log: a batch moves several ids.
    fn transfer(&mut self, tx_index: u32, log_index: u32) -> Vec<TransferEvent> {
        let skewed = self.rng.random_range(0..self.tokens.len()).min(self.rng.random_range(0..self.tokens.len()));
        let (token, mut kind) = self.tokens[skewed];
        if self.rng.random_ratio(1, 40) {
            // A contract can emit the events of several standards.
            kind = self.tokens[self.rng.random_range(0..3)].1;
        }
        let mint = self.rng.random_ratio(1, 2);
        let from = if mint { Address::ZERO } else { self.known_address() };
        let to = match self.rng.random_range(0..12) {
            0 => from,
            1 => Address::ZERO,
            _ => self.known_address(),
        };
        let ids = if kind == TokenKind::Bep1155 { self.rng.random_range(0..4) } else { 1 };
        (0..ids)
            .map(|batch_index| TransferEvent {
                tx_index,
                log_index,
                batch_index,
                token,
                kind,
                from,
                to,
                value: self.amount(kind),
                token_id: (kind != TokenKind::Bep20).then(|| self.token_id()),
            })
            .collect()
    }

    /// Often of a known token and a known spender, so that approvals change and are revoked.
    fn approval(&mut self, tx_index: u32, log_index: u32) -> ApprovalEvent {
        let skewed = self.rng.random_range(0..self.tokens.len()).min(self.rng.random_range(0..self.tokens.len()));
        let token = if self.rng.random_ratio(1, 20) { self.addresses[9] } else { self.tokens[skewed].0 };
        let scope = match self.rng.random_range(0..3) {
            0 => ApprovalScope::Amount,
            1 => ApprovalScope::Id(self.token_id()),
            _ => ApprovalScope::All,
        };
        let is_revoked = self.rng.random_ratio(1, 4);
        let value = match scope {
            _ if is_revoked => U256::ZERO,
            ApprovalScope::Amount => self.amount(TokenKind::Bep20),
            ApprovalScope::Id(_) | ApprovalScope::All => U256::ONE,
        };
        let owner = if self.rng.random_ratio(1, 30) { self.new_address() } else { self.known_address() };
        let spender = Address::repeat_byte(self.rng.random_range(0..5));
        ApprovalEvent { tx_index, log_index, token, owner, spender, scope, value }
    }

    /// Mostly one of a few, so that ids move often; at times a long one that is seen once.
    fn token_id(&mut self) -> U256 {
        match self.rng.random_range(0..10) {
            0 => U256::from_limbs(self.rng.random()),
            _ => U256::from(self.rng.random_range(0..12_u16) * 100),
        }
    }

    /// Of a token, or of a contract that is not one.
    fn touched_holder(&mut self) -> TouchedHolder {
        let token = match self.rng.random_range(0..4) {
            0 => self.addresses[8],
            _ => self.tokens[self.rng.random_range(0..self.tokens.len())].0,
        };
        let holder = if self.rng.random_ratio(1, 8) { self.new_address() } else { self.known_address() };
        TouchedHolder { token, holder }
    }

    /// Mostly small, so that balances often return to zero; at times the maximum.
    fn amount(&mut self, kind: TokenKind) -> U256 {
        match self.rng.random_range(0..40) {
            _ if kind == TokenKind::Bep721 => U256::from(1),
            0 => U256::MAX,
            1 => U256::ZERO,
            _ => U256::from(self.rng.random_range(1..4_u8)),
        }
    }

    fn trade(&mut self, tx_index: u32, log_index: u32) -> (Pool, TradeEvent) {
        let pool = self.pools[self.rng.random_range(0..self.pools.len())];
        let direction = if self.rng.random_bool(0.5) { TradeDirection::ZeroForOne } else { TradeDirection::OneForZero };
        let (amount_in, amount_out) = (U256::from(self.rng.random::<u128>()), U256::from(self.rng.random::<u64>()));
        (pool, TradeEvent { tx_index, log_index, pool: pool.address, direction, amount_in, amount_out })
    }

    /// Picks the first addresses far more often than the last.
    fn known_address(&mut self) -> Address {
        let skewed = self.rng.random::<f64>().powi(4);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index, far below 2^52")]
        let index = (skewed * self.addresses.len() as f64) as usize;
        self.addresses[index.min(self.addresses.len() - 1)]
    }

    fn new_address(&mut self) -> Address {
        let address = Address::new(self.rng.random());
        self.addresses.push(address);
        address
    }
}
