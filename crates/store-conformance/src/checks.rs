use domain::{
    Account, Address, AddressFacts, B256, BalanceKey, BlockRef, Bytes, Code, DayFigures, FailureSource, Holder,
    InternalFilter, Involvement, LogFilter, Order, Page, PageRequest, Stats, Token, TokenName, TradeFilter,
    TransactionFailure, TransactionFilter, TransferFilter, U256,
};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject, approvals, blocks, credits, internal, known_addresses, logs, nfts, queries::ORDERS,
    trades, transactions, transfers,
};
use store::{StateVersion, StoreError, Undo};

/// Compares every kind of query.
pub(super) async fn all(subject: &Subject, model: &Model, chain: &RandomChain, rng: &mut StdRng) {
    assert_eq!(subject.reader.find_tip().await.expect("tip"), model.tip());
    let shown = subject.reader.find_shown_tip().await.expect("shown tip");
    assert_eq!(shown, model.tip().map(|tip| tip.number));
    assert_eq!(subject.reader.coverage().await.expect("coverage"), model.coverage());
    assert_eq!(subject.reader.stats().await.expect("stats"), model.stats());
    assert_eq!(subject.reader.list_gas_prices(20).await.expect("gas prices"), model.list_gas_prices(20));
    days(subject, model).await;
    blocks::blocks(subject, model, rng).await;
    transactions::single_transactions(subject, model, rng).await;
    transactions::transactions(subject, model, chain, rng).await;
    transactions::whole_lists(subject, model, chain).await;
    addresses(subject, model, chain).await;
    known_addresses::known_addresses(subject, model, chain).await;
    tokens(subject, model, chain).await;
    token_search(subject, model, rng).await;
    blocks::block_hashes(subject, model).await;
    transfers::transfers(subject, model, chain, rng).await;
    trades::trades(subject, model, chain, rng).await;
    internal::internal_transactions(subject, model, chain, rng).await;
    logs::logs(subject, model, chain, rng).await;
    nfts::nfts(subject, model, chain).await;
    approvals::approvals(subject, model, chain).await;
    credits::credits(subject, model, chain, rng).await;
}

/// Pages through the whole list in both directions, and looks up each token.
async fn tokens(subject: &Subject, model: &Model, chain: &RandomChain) {
    for order in ORDERS {
        let expected = model.list_tokens(PageRequest { offset: 0, limit: u32::MAX, order });
        let mut walked = Vec::new();
        loop {
            let page = PageRequest { offset: walked.len() as u64, limit: 7, order };
            let found = subject.reader.list_tokens(page).await.expect("tokens");
            assert_eq!(found.total, expected.total, "total of tokens");
            if found.items.is_empty() {
                break;
            }
            walked.extend(found.items);
        }
        for (found, expected) in walked.iter().zip(&expected.items) {
            assert_eq!(found, expected, "tokens {order:?}");
        }
        assert_eq!(walked.len(), expected.items.len(), "tokens {order:?}");
    }
    let known = model.tokens();
    for address in chain.tokens().chain([Address::repeat_byte(0xee)]) {
        let expected = known.iter().find(|token| token.address == address).cloned();
        assert_eq!(subject.reader.find_token(address).await.expect("token"), expected);
    }
}

/// By prefix of a name or symbol, ignoring case: exact matches first, then by holders.
async fn token_search(subject: &Subject, model: &Model, rng: &mut StdRng) {
    let known = model.tokens();
    let mut queries = vec![String::new(), "no such token".to_owned(), "tkn".to_owned(), "T".to_owned()];
    for token in known.iter().take(6) {
        let name = &token.metadata.name;
        queries.push(name.to_uppercase());
        queries.push(name.chars().take(rng.random_range(0..=name.len())).collect());
    }
    for query in queries {
        let folded = query.trim().to_lowercase();
        let names =
            |token: &Token| [&token.metadata.name, &token.metadata.symbol].map(|name| name.trim().to_lowercase());
        let matches = |token: &&Token| !folded.is_empty() && names(token).iter().any(|name| name.starts_with(&folded));
        let mut expected: Vec<Token> = known.iter().filter(matches).cloned().collect();
        // The model's tokens are sorted by number of holders.
        expected.sort_by_key(|token| !names(token).contains(&folded));
        for limit in [3, 1_000] {
            let found = subject.reader.search_tokens(&query, limit).await.expect("search");
            let expected: Vec<&Token> = expected.iter().take(limit).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "tokens that begin with {query:?}");
        }
    }
}

/// Pages through holders and held tokens. Requires that all background work is complete.
pub(super) async fn holders(subject: &Subject, model: &Model, chain: &RandomChain) {
    let (holders, held_tokens) = (model.holders(), model.held_tokens());
    for token in chain.tokens().chain([Address::repeat_byte(0xee)]) {
        let expected = holders.get(&token).cloned();
        let mut walked = Vec::new();
        loop {
            let page = PageRequest { offset: walked.len() as u64, limit: 9, order: Order::NewestFirst };
            let found = subject.reader.list_holders(token, page).await.expect("holders");
            assert_eq!(found.is_some(), expected.is_some(), "whether {token} is a token");
            let Some(found) = found else { break };
            if found.items.is_empty() {
                break;
            }
            walked.extend(found.items);
        }
        assert!(walked.is_sorted_by_key(|holder| std::cmp::Reverse(holder.balance)), "holders of {token} in order");
        walked.sort_by_key(|holder| (std::cmp::Reverse(holder.balance), holder.address));
        let known = model.tokens().into_iter().find(|known| known.address == token);
        assert_eq!(walked, expected.unwrap_or_default(), "holders of {known:?}");
    }
    for token in chain.tokens().chain([Address::repeat_byte(0xee)]) {
        let nobody = [Address::ZERO, Address::repeat_byte(0xee)];
        for holder in chain.addresses().iter().take(12).chain(&nobody) {
            let key = BalanceKey { token, holder: *holder };
            let found = subject.reader.find_token_balance(key).await.expect("balance");
            assert_eq!(found, model.find_token_balance(key), "balance of {holder} in {token}");
        }
    }
    for address in chain.addresses().iter().take(12) {
        let page = PageRequest::newest(u32::MAX);
        let found = subject.reader.list_address_tokens(*address, page).await.expect("held tokens");
        assert_eq!(found.total, found.items.len() as u64);
        let mut held = found.items.clone();
        held.sort_by_key(|held| held.token.address);
        assert_eq!(held, held_tokens.get(address).cloned().unwrap_or_default(), "tokens of {address}");
        let reversed = PageRequest { offset: 1, limit: 2, order: Order::OldestFirst };
        let reversed = subject.reader.list_address_tokens(*address, reversed).await.expect("held tokens");
        let expected: Vec<_> = found.items.iter().rev().skip(1).take(2).cloned().collect();
        assert_eq!(reversed.items, expected);
    }
}

/// Code is found by address and by hash, and only where it exists.
pub(super) async fn codes(subject: &Subject, model: &Model, chain: &RandomChain) {
    for address in chain.addresses().iter().chain([&Address::repeat_byte(0xee)]) {
        let expected = model.find_code(*address);
        let hash = subject.reader.find_code_hash(*address).await.expect("code hash");
        assert_eq!(hash, expected.as_ref().map(|(hash, _)| *hash), "code at {address}");
        if let Some((hash, code)) = expected {
            assert_eq!(subject.reader.find_code(hash).await.expect("code"), Some(code));
        }
    }
    assert_eq!(subject.reader.find_code(B256::repeat_byte(1)).await.expect("code"), None);
}

pub(super) async fn days(subject: &Subject, model: &Model) {
    let expected = model.list_days();
    let found = subject.reader.list_days(u32::MAX).await.expect("days");
    assert_eq!(found.iter().map(counted).collect::<Vec<_>>(), expected);
    let tokens: u64 = found.iter().map(|day| day.new_tokens).sum();
    assert_eq!(tokens, model.stats().total_tokens);
    let last = subject.reader.list_days(3).await.expect("days");
    assert_eq!(last, found.get(found.len().saturating_sub(3)..).expect("the last days"));
}

/// Without what the model does not have by day.
fn counted(day: &DayFigures) -> DayFigures {
    DayFigures { new_addresses: 0, new_tokens: 0, ..*day }
}

async fn addresses(subject: &Subject, model: &Model, chain: &RandomChain) {
    let sample = chain.addresses().iter().take(20).chain(chain.addresses().iter().rev().take(20));
    let sample: Vec<Address> = sample.chain([&Address::repeat_byte(0xee)]).copied().collect();
    let facts = subject.reader.describe_addresses(&sample).await.expect("facts");
    assert_eq!(facts.len(), sample.len());
    for (address, facts) in sample.iter().zip(facts) {
        let token = subject.reader.find_token(*address).await.expect("token").map(|token| token.metadata);
        let token = token.filter(|metadata| metadata.is_read());
        let token = token.map(|metadata| TokenName { symbol: metadata.symbol, name: metadata.name });
        let code_hash = subject.reader.find_code_hash(*address).await.expect("code hash");
        let has_no_code = code_hash.is_none() && model.was_code_fetched(*address);
        assert_eq!(facts, AddressFacts { code_hash, has_no_code, token });
        let found = subject.reader.find_address(*address).await.expect("address");
        assert_eq!(found, model.find_address(*address));
        let overview = subject.reader.find_address_overview(*address, 5).await.expect("overview");
        assert_eq!(overview.as_ref().map(|overview| &overview.summary), found.as_ref());
        let Some(overview) = overview else { continue };
        let touching = TransactionFilter::touching(*address);
        let newest = subject.reader.list_transactions(&touching, PageRequest::newest(5)).await.expect("transactions");
        assert_eq!(overview.recent, newest.items);
        let transfers = TransferFilter::touching(*address);
        let transfers = subject.reader.list_transfers(&transfers, PageRequest::newest(1)).await.expect("transfers");
        let trades = TradeFilter::of(*address, subject.reader.find_pool(*address).await.expect("pool").is_some());
        let trades = subject.reader.list_trades(&trades, PageRequest::newest(1)).await.expect("trades");
        assert_eq!((overview.transfer_count, overview.trade_count), (transfers.total, trades.total));
        let internal = model.list_internal_transactions(&InternalFilter::touching(*address), PageRequest::newest(1));
        assert_eq!((overview.internal_tx_count, overview.traced_range), (internal.page.total, internal.traced_range));
        let logs = model.list_logs(&LogFilter::of(*address), PageRequest::newest(1));
        assert_eq!(overview.log_count, logs.page.total);
        assert_eq!(
            (Some(overview.tip), overview.token),
            (model.tip(), subject.reader.find_token(*address).await.expect("token"))
        );
    }
}

/// Some query results, and the version at which they were read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    state: StateVersion,
    stats: Stats,
    newest: Option<BlockRef>,
    tokens: Vec<Token>,
    holders: Vec<Option<Page<Holder>>>,
}

impl Snapshot {
    pub(super) async fn take(subject: &Subject, chain: &RandomChain) -> Self {
        let state = subject.reader.state().expect("no change is in progress");
        let mut holders = Vec::new();
        for token in chain.tokens().take(2) {
            holders.push(subject.reader.list_holders(token, PageRequest::newest(5)).await.expect("holders"));
        }
        let snapshot = Self {
            state,
            stats: subject.reader.stats().await.expect("stats"),
            newest: subject.reader.find_tip().await.expect("tip"),
            tokens: subject.reader.list_tokens(PageRequest::newest(5)).await.expect("tokens").items,
            holders,
        };
        assert_eq!(subject.reader.state(), Some(state), "queries do not change the version");
        snapshot
    }

    /// Asserts that equal versions have equal results.
    pub(super) fn compare_with(self, later: Self) -> Self {
        if later.state == self.state {
            assert_eq!(later, self, "the same version gives other results");
        }
        later
    }
}

/// Blocks that do not extend the tip, or with an event of no transaction, are rejected, and change nothing.
pub(super) async fn rejections(subject: &mut Subject, model: &Model, chain: &mut RandomChain) {
    let Some(tip) = model.newest_block() else { return };
    let keep = Undo::Keep { down_to: 0 };

    let mut orphan = chain.next_block(Some(&tip));
    orphan.block.parent_hash = B256::repeat_byte(0xbb);
    let rejected = subject.writer.commit(vec![orphan], keep).await;
    assert!(matches!(rejected, Err(StoreError::NotChildOfTip { .. })), "{rejected:?}");

    let child = chain.next_block(Some(&tip));
    // Otherwise it would be missing in the index, and so would every event after it.
    let mut stray = child.clone();
    stray.involved.push(Involvement { tx_index: stray.block.tx_count, address: stray.block.miner });
    let rejected = subject.writer.commit(vec![stray], keep).await;
    assert!(matches!(rejected, Err(StoreError::Corrupt(_))), "{rejected:?}");

    let mut grandchild = chain.next_block(Some(&child.block));
    grandchild.block.number += 1;
    let rejected = subject.writer.commit(vec![child, grandchild], keep).await;
    assert!(matches!(rejected, Err(StoreError::NotNextBlock { .. })), "{rejected:?}");

    assert_eq!(subject.reader.find_tip().await.expect("tip"), model.tip());
    let shown = subject.reader.find_shown_tip().await.expect("shown tip");
    assert_eq!(shown, model.tip().map(|tip| tip.number));
    assert_eq!(subject.reader.stats().await.expect("stats"), model.stats());
}

pub(super) async fn cached_accounts(subject: &Subject, address: Address) {
    assert_eq!(subject.accounts.find_account(address).await.expect("account"), None);
    let codes = [
        Code::None,
        Code::Contract { hash: B256::repeat_byte(3) },
        Code::Delegation { target: Address::repeat_byte(4) },
    ];
    for (nonce, code) in (0..).zip(codes) {
        let account = Account { balance: U256::MAX - U256::from(nonce), nonce, code, block: 7 + nonce };
        subject.accounts.save_account(address, account).await.expect("keep");
        assert_eq!(subject.accounts.find_account(address).await.expect("account"), Some(account));
    }
}

pub(super) async fn cached_failures(subject: &Subject) {
    let [transaction, block, other] = [1, 2, 3].map(B256::repeat_byte);
    let find = async |block| subject.failures.find_failure(transaction, block).await.expect("failure");
    assert_eq!(find(block).await, None);
    let failures = [(Some(Bytes::from_static(&[8, 0xc3])), FailureSource::Trace), (None, FailureSource::ParentBlock)];
    for (data, source) in failures {
        let failure = TransactionFailure { error: "execution reverted".to_owned(), data, source };
        subject.failures.save_failure(transaction, block, failure.clone()).await.expect("save");
        assert_eq!(find(block).await, Some(failure));
        assert_eq!(find(other).await, None, "the transaction may fail otherwise in another block");
    }
}
