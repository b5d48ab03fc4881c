//! Tokens and their holders, by a scan of every event.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    Address, AuditResult, Balance, BalanceKey, BalanceSource, BlockChanges, Holder, Order, Page, PageRequest, Pool,
    Token, TokenBalance, TokenBalanceAt, TokenKind, TokenMetadata, TransferEvent, U256,
};

use super::{Model, nfts::follow_id, paginate};

/// A token with the balance of every address that its events ever touched.
struct Ledger {
    token: Token,
    balances: BTreeMap<Address, Balance>,
    /// Transfers of ids, unless they are of another kind than the token.
    ids: BTreeMap<U256, Vec<TransferEvent>>,
}

impl Ledger {
    fn held(&self) -> Balance {
        let amounts: Vec<Balance> = match self.token.kind {
            TokenKind::Bep20 => self.balances.values().copied().collect(),
            kind @ (TokenKind::Bep721 | TokenKind::Bep1155) => {
                self.ids.values().flat_map(|events| follow_id(kind, events.iter().copied()).into_values()).collect()
            }
        };
        amounts.into_iter().fold(Balance::ZERO, |sum, amount| sum + amount)
    }
}

impl Model {
    pub(super) fn pools_first_seen_in<'a>(&'a self, changes: &'a BlockChanges) -> impl Iterator<Item = &'a Pool> {
        let number = changes.block.number;
        let earlier = self.blocks.iter().take_while(move |earlier| earlier.block.number < number);
        let known: BTreeSet<Address> = earlier.flat_map(|earlier| &earlier.pools).map(|pool| pool.address).collect();
        changes.pools.iter().filter(move |pool| !known.contains(&pool.address))
    }

    #[must_use]
    pub fn find_pool(&self, address: Address) -> Option<Pool> {
        self.blocks.iter().flat_map(|changes| &changes.pools).find(|pool| pool.address == address).copied()
    }

    /// Every token, sorted by number of holders, descending.
    #[must_use]
    pub fn tokens(&self) -> Vec<Token> {
        let mut tokens: Vec<Token> = self.ledgers().into_iter().map(|ledger| ledger.token).collect();
        tokens.sort_by_key(|token| (std::cmp::Reverse(token.holder_count), token.address));
        tokens
    }

    fn ledgers(&self) -> Vec<Ledger> {
        self.derived_ledgers().into_values().map(|ledger| self.finish(ledger)).collect()
    }

    /// Applies every transfer from the first on.
    fn derived_ledgers(&self) -> BTreeMap<Address, Ledger> {
        let mut ledgers: BTreeMap<Address, Ledger> = BTreeMap::new();
        for event in self.blocks.iter().flat_map(|changes| &changes.transfers) {
            let new = || Ledger { token: self.new_token(event), balances: BTreeMap::new(), ids: BTreeMap::new() };
            let Ledger { token, balances, ids } = ledgers.entry(event.token).or_insert_with(new);
            token.transfer_count += 1;
            if let Some(id) = event.token_id.filter(|_| event.kind == token.kind) {
                ids.entry(id).or_default().push(*event);
            }
            if event.from == event.to {
                continue;
            }
            let value = Balance::from(event.value);
            if event.from != Address::ZERO {
                let balance = balances.entry(event.from).or_default();
                match balance.checked_sub(value) {
                    Some(less) => *balance = less,
                    None => {
                        *balance = Balance::ZERO;
                        if token.kind != TokenKind::Bep1155 {
                            token.balance_source = BalanceSource::Calls;
                        }
                    }
                }
            }
            if event.to != Address::ZERO {
                *balances.entry(event.to).or_default() += value;
            }
        }
        for ledger in ledgers.values_mut() {
            ledger.token.held = ledger.held();
        }
        ledgers
    }

    /// Applies audits and balances that were fetched from contracts.
    fn finish(&self, Ledger { mut token, mut balances, ids }: Ledger) -> Ledger {
        if let Some((verdict, block)) = self.audits.get(&token.address) {
            token.audited_block = Some(*block);
            if *verdict == AuditResult::DoesNotAddUp {
                token.balance_source = BalanceSource::Calls;
            }
        }
        let mut counted = &balances;
        let fetched: BTreeMap<Address, Balance> = self
            .fetched_balances
            .iter()
            .filter(|(key, _)| key.token == token.address)
            .map(|(key, (balance, _))| (key.holder, Balance::from(*balance)))
            .collect();
        if token.balance_source == BalanceSource::Calls && !fetched.is_empty() {
            counted = &fetched;
        }
        token.holder_count = counted.values().filter(|balance| !balance.is_zero()).count() as u64;
        if token.balance_source == BalanceSource::Calls {
            balances = fetched;
        }
        Ledger { token, balances, ids }
    }

    /// Balances derived from events only.
    #[must_use]
    pub fn derived_balances(&self, token: Address) -> BTreeMap<Address, Balance> {
        let found = self.derived_ledgers().into_values().find(|ledger| ledger.token.address == token);
        found.map(|ledger| ledger.balances).unwrap_or_default()
    }

    /// Holders of each token, the largest balance first, then by address.
    #[must_use]
    pub fn holders(&self) -> BTreeMap<Address, Vec<Holder>> {
        let ledgers = self.ledgers().into_iter().map(|ledger| {
            let held = ledger.balances.into_iter().filter(|(_, balance)| !balance.is_zero());
            let mut holders: Vec<Holder> = held.map(|(address, balance)| Holder { address, balance }).collect();
            holders.sort_by_key(|holder| (std::cmp::Reverse(holder.balance), holder.address));
            (ledger.token.address, holders)
        });
        ledgers.collect()
    }

    /// Tokens that each address holds, by token address.
    #[must_use]
    pub fn held_tokens(&self) -> BTreeMap<Address, Vec<TokenBalance>> {
        let mut held: BTreeMap<Address, Vec<TokenBalance>> = BTreeMap::new();
        for Ledger { token, balances, .. } in self.ledgers() {
            for (holder, balance) in balances.into_iter().filter(|(_, balance)| !balance.is_zero()) {
                held.entry(holder).or_default().push(TokenBalance { token: token.clone(), balance });
            }
        }
        held
    }

    #[must_use]
    pub fn find_token_balance(&self, key: BalanceKey) -> Option<TokenBalanceAt> {
        let ledger = self.ledgers().into_iter().find(|ledger| ledger.token.address == key.token)?;
        let balance = ledger.balances.get(&key.holder).copied().unwrap_or_default();
        Some(TokenBalanceAt { token: ledger.token, balance, block: self.tip()? })
    }

    fn new_token(&self, event: &domain::TransferEvent) -> Token {
        Token {
            address: event.token,
            kind: event.kind,
            metadata: self.metadata_of(event.token),
            holder_count: 0,
            transfer_count: 0,
            held: Balance::ZERO,
            balance_source: BalanceSource::Events,
            audited_block: None,
        }
    }

    pub(crate) fn metadata_of(&self, token: Address) -> TokenMetadata {
        self.metadata.get(&token).cloned().unwrap_or_default()
    }

    #[must_use]
    pub fn list_tokens(&self, page: PageRequest) -> Page<Token> {
        // The default order starts with the most holders, as `tokens` does.
        let order = match page.order {
            Order::NewestFirst => Order::OldestFirst,
            Order::OldestFirst => Order::NewestFirst,
        };
        paginate(self.tokens(), PageRequest { order, ..page })
    }
}
