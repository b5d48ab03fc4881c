mod internal;
mod nfts;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    Address, AddressSummary, AuditResult, B256, BalanceKey, BalanceSource, Block, BlockChanges, BlockGasPrice,
    BlockNumber, BlockRef, Bytes, Charges, Code, Coverage, Creation, DAY, DayFigures, Page, PageRequest, Payment,
    Stats, TokenMetadata, Transaction, U256,
};

use store::Undo;

/// The reference model: a list of all blocks; every query scans all of them.
#[derive(Debug, Default)]
pub struct Model {
    pub(super) blocks: Vec<BlockChanges>,
    undo: BTreeSet<BlockNumber>,
    metadata: BTreeMap<Address, TokenMetadata>,
    audits: BTreeMap<Address, (AuditResult, BlockNumber)>,
    /// Balances that contracts returned, and at which block; None if a later change to the balance was reverted since.
    fetched_balances: BTreeMap<BalanceKey, (U256, Option<BlockNumber>)>,
    /// Code as the node last returned it, by address.
    codes: BTreeMap<Address, Bytes>,
    internal: internal::Internal,
}

impl Model {
    pub fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) {
        let numbers: Vec<BlockNumber> = blocks.iter().map(|changes| changes.block.number).collect();
        self.blocks.extend(blocks);
        match undo {
            Undo::Keep { down_to } => {
                // Undo records up to `down_to` are dropped; those of this commit are all kept.
                self.undo.retain(|number| *number > down_to);
                self.undo.extend(numbers);
            }
            Undo::Discard => self.undo.clear(),
        }
    }

    pub fn revert_to(&mut self, number: BlockNumber) {
        let last_touched = self.last_touched();
        self.revert_internal(number);
        self.blocks.retain(|changes| changes.block.number <= number);
        self.undo.retain(|above| *above <= number);
        for (key, (_, fetched_at)) in &mut self.fetched_balances {
            // A balance that no reverted block touched is still valid.
            let touched_above = last_touched.get(key).is_some_and(|block| *block > number);
            *fetched_at = fetched_at.filter(|_| !touched_above).map(|block| block.min(number));
        }
        let left: BTreeSet<Address> = self.tokens().into_iter().map(|token| token.address).collect();
        self.metadata.retain(|token, _| left.contains(token));
        self.audits.retain(|token, _| left.contains(token));
        let mut fetched_balances = std::mem::take(&mut self.fetched_balances);
        let touched = self.last_touched();
        fetched_balances.retain(|key, _| left.contains(&key.token) && touched.contains_key(key));
        self.fetched_balances = fetched_balances;
        let mut codes = std::mem::take(&mut self.codes);
        let seen = self.seen();
        codes.retain(|address, _| seen.contains(address));
        self.codes = codes;
    }

    /// Every address that ever took part in anything.
    #[must_use]
    pub fn seen(&self) -> BTreeSet<Address> {
        self.seen_up_to(u64::MAX)
    }

    /// Every address that took part in anything up to a block.
    #[must_use]
    pub fn seen_up_to(&self, block: BlockNumber) -> BTreeSet<Address> {
        let mut seen = BTreeSet::new();
        for changes in self.blocks.iter().filter(|changes| changes.block.number <= block) {
            seen.insert(changes.block.miner);
            seen.extend(changes.transactions.iter().flat_map(|tx| [Some(tx.from), tx.to, tx.created]).flatten());
            seen.extend(changes.involved.iter().map(|involvement| involvement.address));
            seen.extend(changes.transfers.iter().flat_map(|event| [event.token, event.from, event.to]));
            seen.extend(changes.approvals.iter().flat_map(|event| [event.token, event.owner]));
            seen.extend(changes.touched_holders.iter().flat_map(|touched| [touched.token, touched.holder]));
            seen.extend(changes.credits.iter().map(|credit| credit.to));
            seen.extend(changes.pools.iter().flat_map(|pool| [pool.address, pool.factory, pool.token0, pool.token1]));
        }
        seen
    }

    pub fn save_code(&mut self, address: Address, code: Bytes) {
        self.codes.insert(address, code);
    }

    /// The contract code at an address, if it was fetched.
    #[must_use]
    pub fn find_code(&self, address: Address) -> Option<(B256, Bytes)> {
        let code = self.codes.get(&address)?;
        match Code::from_bytes(code) {
            Code::Contract { hash } => Some((hash, code.clone())),
            Code::None | Code::Delegation { .. } => None,
        }
    }

    /// Whether the code at an address was fetched, also if there was none.
    #[must_use]
    pub fn was_code_fetched(&self, address: Address) -> bool {
        self.codes.contains_key(&address)
    }

    /// Addresses that were seen to have code that was never fetched.
    #[must_use]
    pub fn unfetched_codes(&self) -> Vec<Address> {
        let met = self.blocks.iter().flat_map(|changes| {
            let called = changes.transactions.iter().filter(|tx| tx.method.is_some()).filter_map(|tx| tx.to);
            let created = changes.transactions.iter().filter_map(|tx| tx.created);
            let inner = changes.inner_creations.iter().flatten().map(|creation| creation.created);
            let involved = changes.involved.iter().map(|involvement| involvement.address);
            called.chain(created).chain(inner).chain(involved)
        });
        let met: BTreeSet<Address> = met.collect();
        met.into_iter().filter(|address| !self.codes.contains_key(address)).collect()
    }

    pub fn save_token_metadata(&mut self, token: Address, metadata: TokenMetadata) {
        self.metadata.insert(token, metadata);
    }

    pub fn save_audit(&mut self, token: Address, verdict: AuditResult) {
        let Some(tip) = self.tip() else { return };
        let failed = self.audits.get(&token).is_some_and(|(known, _)| *known == AuditResult::DoesNotAddUp);
        let verdict = if failed { AuditResult::DoesNotAddUp } else { verdict };
        self.audits.insert(token, (verdict, tip.number));
    }

    pub fn save_balance(&mut self, key: BalanceKey, balance: U256) {
        let fetched_at = self.tip().map(|tip| tip.number);
        self.fetched_balances.insert(key, (balance, fetched_at));
    }

    /// Balances that have not been fetched since they last changed.
    #[must_use]
    pub fn unfetched_balances(&self) -> Vec<BalanceKey> {
        let by_calls: BTreeSet<Address> = self
            .tokens()
            .into_iter()
            .filter_map(|token| (token.balance_source == BalanceSource::Calls).then_some(token.address))
            .collect();
        self.last_touched()
            .into_iter()
            .filter(|(key, _)| by_calls.contains(&key.token))
            .filter(|(key, block)| {
                !self
                    .fetched_balances
                    .get(key)
                    .is_some_and(|(_, fetched_at)| fetched_at.is_some_and(|fetched_at| fetched_at >= *block))
            })
            .map(|(key, _)| key)
            .collect()
    }

    /// The newest block that touched each balance.
    fn last_touched(&self) -> BTreeMap<BalanceKey, BlockNumber> {
        let mut touched: BTreeMap<BalanceKey, BlockNumber> = BTreeMap::new();
        for changes in &self.blocks {
            let transfers = changes
                .transfers
                .iter()
                .flat_map(|event| [event.from, event.to].map(|holder| BalanceKey { token: event.token, holder }));
            let others = changes.touched_holders.iter();
            let others = others.map(|touched| BalanceKey { token: touched.token, holder: touched.holder });
            for key in transfers.chain(others).filter(|key| key.holder != Address::ZERO) {
                touched.insert(key, changes.block.number);
            }
        }
        touched
    }

    #[must_use]
    pub fn tip(&self) -> Option<BlockRef> {
        self.newest_block().map(|block| block.id())
    }

    #[must_use]
    pub fn newest_block(&self) -> Option<Block> {
        self.blocks.last().map(|changes| changes.block.clone())
    }

    #[must_use]
    pub fn find_changes(&self, number: BlockNumber) -> Option<&BlockChanges> {
        self.blocks.iter().find(|changes| changes.block.number == number)
    }

    #[must_use]
    pub fn oldest_revertible(&self) -> Option<BlockNumber> {
        let tip = self.tip()?.number;
        Some(self.undo.first().map_or(tip, |oldest| oldest.saturating_sub(1)))
    }

    #[must_use]
    pub fn coverage(&self) -> Coverage {
        Coverage { first_block: self.blocks.first().map(|changes| changes.block.number) }
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        let filled = self.blocks.iter().rev().filter(|changes| !changes.transactions.is_empty()).take(100);
        let prices: Vec<U256> = filled.flat_map(|changes| &changes.transactions).filter_map(price_in_coin).collect();
        let sum: U256 = prices.iter().sum();
        Stats {
            latest_block: self.tip().map(|tip| tip.number),
            total_transactions: self.transactions().count() as u64,
            total_tokens: self.tokens().len() as u64,
            untraced_blocks: self.blocks.iter().filter(|changes| changes.inner_creations.is_none()).count() as u64,
            traced_range: self.traced_range(),
            average_gas_price: sum.checked_div(U256::from(prices.len())),
        }
    }

    /// Figures of all days up to that of the tip; new addresses and tokens are not counted.
    #[must_use]
    pub fn list_days(&self) -> Vec<DayFigures> {
        let day_of = |changes: &BlockChanges| changes.block.timestamp / DAY;
        let (Some(first), Some(last)) = (self.blocks.first(), self.blocks.last()) else { return Vec::new() };
        let figures = |day: u64| {
            let blocks: Vec<&BlockChanges> = self.blocks.iter().filter(|changes| day_of(changes) == day).collect();
            let count = |of: fn(&BlockChanges) -> usize| blocks.iter().map(|changes| of(changes) as u64).sum::<u64>();
            let transactions = count(|changes| changes.transactions.len());
            let sum = |of: fn(&Transaction) -> U256| {
                blocks.iter().flat_map(|changes| &changes.transactions).map(of).sum::<U256>()
            };
            let parties = blocks.iter().flat_map(|changes| &changes.transactions).flat_map(|tx| [Some(tx.from), tx.to]);
            let prices: Vec<U256> =
                blocks.iter().flat_map(|changes| &changes.transactions).filter_map(price_in_coin).collect();
            let burnt = blocks.iter().flat_map(|changes| {
                changes.transactions.iter().map(|tx| burnt_by(tx, changes.block.base_fee_per_gas.unwrap_or_default()))
            });
            DayFigures {
                start: day * DAY,
                blocks: blocks.len() as u64,
                transactions,
                transfers: count(|changes| changes.transfers.len()),
                trades: count(|changes| changes.trades.len()),
                logs: count(|changes| changes.logs.len()),
                active_addresses: parties.flatten().collect::<BTreeSet<Address>>().len() as u64,
                new_addresses: 0,
                new_tokens: 0,
                new_contracts: count(|changes| {
                    let by_transactions = changes.transactions.iter().filter(|tx| tx.created.is_some()).count();
                    by_transactions + changes.inner_creations.as_ref().map_or(0, Vec::len)
                }),
                untraced_blocks: count(|changes| usize::from(changes.inner_creations.is_none())),
                gas_used: blocks.iter().map(|changes| changes.block.gas_used).sum(),
                fees: sum(paid_in_coin),
                burnt_fees: burnt.sum(),
                mean_gas_price: prices.iter().sum::<U256>().checked_div(U256::from(prices.len())),
            }
        };
        (day_of(first)..=day_of(last)).map(figures).collect()
    }

    /// Gas prices of the newest blocks.
    #[must_use]
    pub fn list_gas_prices(&self, blocks: usize) -> Vec<BlockGasPrice> {
        let price = |changes: &BlockChanges| {
            let prices: Vec<U256> = changes.transactions.iter().filter_map(price_in_coin).collect();
            let mean = prices.iter().sum::<U256>().checked_div(U256::from(prices.len()));
            BlockGasPrice { block: changes.block.number, mean }
        };
        self.blocks.iter().rev().take(blocks).map(price).collect()
    }

    pub fn transactions(&self) -> impl DoubleEndedIterator<Item = &Transaction> {
        self.blocks.iter().flat_map(|changes| &changes.transactions)
    }

    #[must_use]
    pub fn find_address(&self, address: Address) -> Option<AddressSummary> {
        let takes_part = |changes: &&BlockChanges| {
            changes.block.miner == address
                || changes.transactions.iter().any(|tx| tx.touches(&address) || tx.created == Some(address))
                || changes.involved.iter().any(|involvement| involvement.address == address)
                || changes.transfers.iter().any(|event| [event.token, event.from, event.to].contains(&address))
                || changes.approvals.iter().any(|event| [event.token, event.owner].contains(&address))
                || changes.touched_holders.iter().any(|touched| [touched.token, touched.holder].contains(&address))
                || changes.credits.iter().any(|credit| credit.to == address)
                || self
                    .pools_first_seen_in(changes)
                    .any(|pool| [pool.address, pool.factory, pool.token0, pool.token1].contains(&address))
        };
        let mut seen = self.blocks.iter().filter(takes_part);
        // A transfer makes its token known, and a trade its pool, but they count as seen only where they emit a log.
        let takes_part_later = |changes: &&BlockChanges| {
            changes.block.miner == address
                || changes.transactions.iter().any(|tx| tx.touches(&address) || tx.created == Some(address))
                || changes.involved.iter().any(|involvement| involvement.address == address)
                || changes.transfers.iter().any(|event| [event.from, event.to].contains(&address))
                || changes.credits.iter().any(|credit| credit.to == address)
        };
        let first = seen.next();
        let last = self.blocks.iter().rev().find(takes_part_later).or(first);
        let mut internal = self.blocks.iter().filter(|changes| self.is_internal_party(changes.block.number, address));
        let first_internal = internal.next();
        let last_internal = internal.next_back().or(first_internal);
        let both = |one: Option<&BlockChanges>, other: Option<&BlockChanges>| {
            [one, other].into_iter().flatten().map(|changes| (changes.block.number, changes.block.timestamp)).collect()
        };
        let (firsts, lasts): (Vec<_>, Vec<_>) = (both(first, first_internal), both(last, last_internal));
        let ((_, first_seen), (_, last_seen)) = (firsts.into_iter().min()?, lasts.into_iter().max()?);
        Some(AddressSummary {
            address,
            tx_count: self.transactions().filter(|tx| tx.touches(&address)).count() as u64,
            first_seen,
            last_seen,
            creation: self.find_creation(address),
        })
    }

    /// The newest creation, if there are several.
    fn find_creation(&self, address: Address) -> Option<Creation> {
        let mut creations = self.blocks.iter().flat_map(|changes| {
            changes.transactions.iter().flat_map(|tx| {
                let inner = changes.inner_creations.iter().flatten().filter(|creation| creation.tx_index == tx.index);
                let inner = inner.map(|creation| (creation.created, creation.creator));
                let made = tx.created.map(|created| (created, tx.from)).into_iter().chain(inner);
                made.map(|(created, creator)| {
                    (created, Creation { creator, tx_hash: tx.hash, block_hash: changes.block.hash })
                })
            })
        });
        creations.rfind(|(created, _)| *created == address).map(|(_, creation)| creation)
    }
}

pub(super) fn transaction(changes: &BlockChanges, index: u32) -> &Transaction {
    changes.transactions.iter().find(|tx| tx.index == index).expect("an event's transaction is in its block")
}

pub(super) fn paginate<T: Clone>(all: Vec<T>, page: PageRequest) -> Page<T> {
    let total = all.len() as u64;
    let items = page.ranks(total).filter_map(|rank| all.get(usize::try_from(rank).ok()?).cloned()).collect();
    Page { items, total }
}

fn charged_in_coin(tx: &Transaction) -> Option<Charges> {
    let charges = tx.charges.as_deref().copied().unwrap_or_default();
    (charges.payment == Payment::Coin).then_some(charges)
}

fn price_in_coin(tx: &Transaction) -> Option<U256> {
    charged_in_coin(tx).map(|_| U256::from(tx.gas_price))
}

fn paid_in_coin(tx: &Transaction) -> U256 {
    charged_in_coin(tx).map_or(U256::ZERO, |charges| {
        U256::from(tx.gas_price) * U256::from(tx.gas_used) + charges.blob + charges.l1 + charges.operator
    })
}

fn burnt_by(tx: &Transaction, base_fee: u128) -> U256 {
    charged_in_coin(tx)
        .map_or(U256::ZERO, |charges| U256::from(base_fee.min(tx.gas_price)) * U256::from(tx.gas_used) + charges.blob)
}
