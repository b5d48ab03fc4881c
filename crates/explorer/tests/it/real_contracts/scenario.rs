//! A chain with real contracts, and rounds of transactions that use them.

use alloy_primitives::U256;

use super::{
    contracts::{call, call_for_address, deploy, install_pancake_pool_code, pay, send, submit},
    encoding::{Word, event, megaphone_input, words},
};
use crate::support::Anvil;

/// The price 1 as `sqrtPriceX96` of a v3 pool.
const PRICE_OF_ONE: U256 = U256::from_limbs([0, 1 << 32, 0, 0]);
const ONE: u64 = 1_000_000_000_000_000_000;

#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) anvil: Anvil,
    accounts: Vec<String>,
    coin: String,
    /// An ERC-20 token that anyone can mint.
    pub(crate) mintable: String,
    /// An ERC-721 token.
    pub(crate) pieces: String,
    /// An ERC-1155 token.
    pub(crate) items: String,
    wrapped: String,
    silent_fee: String,
    ancient: String,
    unindexed: String,
    half_indexed: String,
    megaphone: String,
    clone_maker: String,
    create2_maker: String,
    pub(super) factory_v2: String,
    /// Uniswap's and PancakeSwap's.
    pub(super) factories_v3: [String; 2],
    trader: String,
    pair: String,
    pools: [String; 2],
    pretender: String,
}

impl Scenario {
    pub(crate) async fn deploy() -> Self {
        let anvil = Anvil::start().await;
        let accounts = anvil.accounts().await;
        let (alice, collector) = (&accounts[0], &accounts[9]);
        let new = async |contract: &str, arguments: &[Word]| deploy(&anvil, alice, contract, arguments).await;
        let coin = new("Coin", &[]).await;
        let mintable = new("MintableCoin", &[]).await;
        call(&anvil, alice, &mintable, "mint(address,uint256)", &[alice.into(), (18 * ONE).into()]).await;
        let factory_v2 = new("UniswapV2Factory", &[alice.into()]).await;
        let uniswap = new("UniswapV3Factory", &[]).await;
        let deployer = new("PancakePoolDeployer", &[]).await;
        install_pancake_pool_code(&anvil, alice, &deployer).await;
        let pancake = new("PancakeV3Factory", &[(&deployer).into()]).await;
        let pair = create_pair(&anvil, alice, &factory_v2, &coin, &mintable).await;
        let pools = [
            create_pool(&anvil, alice, &uniswap, [&coin, &mintable], 3_000).await,
            create_pool(&anvil, alice, &pancake, [&coin, &mintable], 2_500).await,
        ];
        let trader = new("TraderV3", &[]).await;
        for token in [&coin, &mintable] {
            call(&anvil, alice, token, "transfer(address,uint256)", &[(&trader).into(), (8 * ONE).into()]).await;
        }
        for pool in &pools {
            call(&anvil, alice, &trader, "provide(address,uint128)", &[pool.into(), ONE.into()]).await;
        }
        let pretender = new("PretendedPool", &[(&factory_v2).into(), (&coin).into(), (&mintable).into()]).await;
        Self {
            pieces: new("Pieces", &[]).await,
            items: new("Items", &[]).await,
            wrapped: new("WrappedCoin", &[]).await,
            silent_fee: new("SilentFeeCoin", &[collector.into()]).await,
            ancient: new("Bytes32Coin", &[]).await,
            unindexed: new("UnindexedPieces", &[]).await,
            half_indexed: new("HalfIndexedPieces", &[]).await,
            megaphone: new("Megaphone", &[]).await,
            clone_maker: new("CloneMaker", &[]).await,
            create2_maker: new("Create2Maker", &[]).await,
            accounts: accounts.clone(),
            coin,
            mintable,
            factory_v2,
            factories_v3: [uniswap, pancake],
            trader,
            pair,
            pools,
            pretender,
            anvil,
        }
    }

    /// Sends transactions of every kind. Each round uses new salts and ids, and also transfers tokens of earlier
    /// rounds.
    pub(crate) async fn run_round(&self, round: u64) {
        // Each round starts with another kind, so that a reorg reverts every kind of event once.
        for act in 0..8 {
            match (act + 3 * round) % 8 {
                0 => self.transfer_amounts(round).await,
                1 => self.transfer_nfts(round).await,
                2 => self.transfer_erc1155(round).await,
                3 => self.change_balances_without_events(round).await,
                4 => self.emit_malformed_logs(round).await,
                5 => self.create_contracts(round).await,
                6 => self.trade(round).await,
                _ => self.fill_a_block(round).await,
            }
        }
    }

    fn account(&self, number: u64) -> &String {
        &self.accounts[usize::try_from(number).unwrap() % 8]
    }

    async fn call(&self, from: &str, to: &str, signature: &str, arguments: &[Word]) {
        call(&self.anvil, from, to, signature, arguments).await;
    }

    async fn transfer(&self, token: &str, from: &str, to: &String, amount: impl Into<Word>) {
        self.call(from, token, "transfer(address,uint256)", &[to.into(), amount.into()]).await;
    }

    async fn transfer_amounts(&self, round: u64) {
        let (alice, bob, carol) = (self.account(0), self.account(1 + round), self.account(2 + round));
        self.transfer(&self.coin, alice, bob, 1_000 + round).await;
        self.transfer(&self.coin, bob, carol, 0).await;
        self.transfer(&self.coin, bob, bob, 7).await;
        // The whole balance: one holder less, one more.
        self.transfer(&self.coin, bob, carol, 1_000 + round).await;
        self.transfer(&self.ancient, alice, carol, 10 + round).await;
        self.call(bob, &self.mintable, "mint(address,uint256)", &[carol.into(), (500 + round).into()]).await;
        self.call(carol, &self.mintable, "burn(uint256)", &[(500 + round).into()]).await;
        let fresh = deploy(&self.anvil, carol, "MintableCoin", &[]).await;
        self.call(carol, &fresh, "mint(address,uint256)", &[bob.into(), U256::MAX.into()]).await;
        self.transfer(&fresh, bob, carol, U256::MAX).await;
    }

    async fn transfer_nfts(&self, round: u64) {
        let (bob, carol) = (self.account(1 + round), self.account(2 + round));
        for (token, id) in [(&self.pieces, 10 * round), (&self.unindexed, round), (&self.half_indexed, round)] {
            self.call(bob, token, "mint(address,uint256)", &[bob.into(), id.into()]).await;
        }
        let moved = [bob.into(), carol.into(), (10 * round).into()];
        self.call(bob, &self.pieces, "transferFrom(address,address,uint256)", &moved).await;
        self.call(bob, &self.pieces, "mint(address,uint256)", &[bob.into(), (10 * round + 1).into()]).await;
        self.call(bob, &self.pieces, "burn(uint256)", &[(10 * round + 1).into()]).await;
        self.transfer(&self.unindexed, bob, carol, round).await;
        self.transfer(&self.half_indexed, bob, carol, round).await;
    }

    async fn transfer_erc1155(&self, round: u64) {
        let (bob, carol) = (self.account(1 + round), self.account(2 + round));
        let many = |to: &String| [to.into(), (100 * round).into(), 4.into(), 50.into()];
        self.call(bob, &self.items, "mint(address,uint256,uint256)", &[bob.into(), round.into(), 9.into()]).await;
        self.call(bob, &self.items, "mintMany(address,uint256,uint256,uint256)", &many(bob)).await;
        self.call(bob, &self.items, "sendMany(address,uint256,uint256,uint256)", &many(carol)).await;
        self.call(bob, &self.items, "send(address,uint256,uint256)", &[carol.into(), round.into(), 4.into()]).await;
        self.call(bob, &self.items, "burn(uint256,uint256)", &[round.into(), 5.into()]).await;
        let nothing = [carol.into(), round.into(), 0.into(), 0.into()];
        self.call(bob, &self.items, "sendMany(address,uint256,uint256,uint256)", &nothing).await;
    }

    async fn change_balances_without_events(&self, round: u64) {
        let (alice, bob, carol, collector) =
            (self.account(0), self.account(1 + round), self.account(2 + round), &self.accounts[9]);
        for (account, amount) in [(bob, 5_000), (carol, 300 + round)] {
            pay(&self.anvil, account, &self.wrapped, "deposit()", amount).await;
        }
        self.transfer(&self.wrapped, bob, alice, 1_000).await;
        self.call(bob, &self.wrapped, "withdraw(uint256)", &[4_000.into()]).await;
        self.transfer(&self.silent_fee, alice, bob, 100_000).await;
        self.transfer(&self.silent_fee, bob, carol, 5_000).await;
        if round % 2 == 1 {
            // The silent fee collector is a known holder from now on.
            self.transfer(&self.silent_fee, collector, alice, 10).await;
            self.transfer(&self.silent_fee, alice, carol, 20_000).await;
        }
        pay(&self.anvil, carol, &self.wrapped, "deposit()", 11).await;
    }

    /// Logs that resemble transfers, deposits or swaps.
    async fn emit_malformed_logs(&self, round: u64) {
        let (bob, carol) = (self.account(1 + round), self.account(2 + round));
        let digits = |word: Word| words(&[word]);
        let name = |signature: &str| event(signature)[2..].to_owned();
        let transfer = name("Transfer(address,address,uint256)");
        let single = name("TransferSingle(address,address,address,uint256,uint256)");
        let batch = name("TransferBatch(address,address,address,uint256[],uint256[])");
        let (from, to) = (digits(bob.into()), digits(carol.into()));
        let number = |numbers: &[u64]| numbers.iter().map(|number| digits((*number).into())).collect::<String>();
        let dirty = "ff".repeat(32);
        let said = [
            megaphone_input(&[], "00"),
            megaphone_input(std::slice::from_ref(&transfer), &number(&[1, 2])),
            megaphone_input(&[transfer.clone(), from.clone()], &number(&[1, 2])),
            megaphone_input(&[transfer.clone(), from.clone(), to.clone()], ""),
            megaphone_input(&[transfer.clone(), from.clone(), to.clone()], &number(&[1])[2..]),
            megaphone_input(&[transfer.clone(), from.clone(), to.clone()], &number(&[1, 2])),
            megaphone_input(&[transfer.clone(), from.clone(), to.clone(), number(&[3])], &number(&[1])),
            megaphone_input(&[transfer.clone(), dirty.clone(), to.clone()], &number(&[1])),
            megaphone_input(&[single.clone(), from.clone(), from.clone(), to.clone()], &number(&[1])),
            megaphone_input(&[single, from.clone(), from.clone()], &number(&[1, 2])),
            megaphone_input(
                &[batch.clone(), from.clone(), from.clone(), to.clone()],
                &number(&[64, 160, 2, 7, 8, 1, 100]),
            ),
            megaphone_input(&[batch, from.clone(), from, to], &format!("{dirty}{dirty}")),
            megaphone_input(&[name("Swap(address,uint256,uint256,uint256,uint256,address)")], &number(&[1, 0, 0, 1])),
        ];
        for data in said {
            send(&self.anvil, serde_json::json!({"from": bob, "to": self.megaphone, "data": data})).await;
        }
        self.call(carol, &self.pretender, "pretend()", &[]).await;
    }

    async fn create_contracts(&self, round: u64) {
        let bob = self.account(1 + round);
        self.call(bob, &self.clone_maker, "make(uint256)", &[(10 + round).into()]).await;
        self.call(bob, &self.clone_maker, "makeAt(bytes32,uint256)", &[round.into(), 20.into()]).await;
        self.call(bob, &self.clone_maker, "makeSilent(bytes32)", &[(1_000 + round).into()]).await;
        self.call(bob, &self.clone_maker, "makeNone(bytes32)", &[(2_000 + round).into()]).await;
        self.call(bob, &self.create2_maker, "make(bytes32)", &[round.into()]).await;
    }

    async fn trade(&self, round: u64) {
        let alice = self.account(0);
        let fresh = deploy(&self.anvil, alice, "Coin", &[]).await;
        let new_pair = create_pair(&self.anvil, alice, &self.factory_v2, &self.coin, &fresh).await;
        for (pair, tokens) in [(&self.pair, [&self.coin, &self.mintable]), (&new_pair, [&self.coin, &fresh])] {
            let sorted = if tokens[0] < tokens[1] { tokens } else { [tokens[1], tokens[0]] };
            for (paid, out0, out1) in [(&sorted[..1], 0, 900 + round), (&sorted[1..], 700, 0), (&sorted[..], 30, 0)] {
                for token in paid {
                    self.transfer(token, alice, pair, 1_000 + round).await;
                }
                // The last argument, empty bytes, follows the others.
                let arguments = [out0.into(), out1.into(), alice.into(), 128.into(), 0.into()];
                self.call(alice, pair, "swap(uint256,uint256,address,bytes)", &arguments).await;
            }
        }
        for pool in &self.pools {
            for (zero_for_one, amount) in [(1, 5_000 + round), (0, 3_000)] {
                let arguments = [pool.into(), zero_for_one.into(), amount.into()];
                self.call(self.account(3), &self.trader, "trade(address,bool,int256)", &arguments).await;
            }
        }
    }

    /// Many transactions in one block, some of which revert.
    async fn fill_a_block(&self, round: u64) {
        let (alice, bob, carol) = (self.account(0), self.account(1 + round), self.account(2 + round));
        self.anvil.rpc.call("evm_setAutomine", serde_json::json!([false])).await;
        let transfer = "transfer(address,uint256)";
        submit(&self.anvil, alice, &self.coin, transfer, &[bob.into(), 3.into()]).await;
        submit(&self.anvil, bob, &self.coin, transfer, &[carol.into(), U256::MAX.into()]).await;
        submit(&self.anvil, carol, &self.mintable, "mint(address,uint256)", &[carol.into(), 8.into()]).await;
        submit(&self.anvil, alice, &self.wrapped, transfer, &[carol.into(), 1.into()]).await;
        submit(&self.anvil, bob, &self.clone_maker, "make(uint256)", &[1.into()]).await;
        submit(&self.anvil, carol, &self.silent_fee, transfer, &[bob.into(), 200.into()]).await;
        self.anvil.mine(1).await;
        self.anvil.rpc.call("evm_setAutomine", serde_json::json!([true])).await;
    }
}

async fn create_pair(anvil: &Anvil, from: &String, factory: &str, one: &String, other: &String) -> String {
    call(anvil, from, factory, "createPair(address,address)", &[one.into(), other.into()]).await;
    let pair = call_for_address(anvil, factory, "getPair(address,address)", &[one.into(), other.into()]).await;
    for token in [one, other] {
        call(anvil, from, token, "transfer(address,uint256)", &[(&pair).into(), ONE.into()]).await;
    }
    call(anvil, from, &pair, "mint(address)", &[from.into()]).await;
    pair
}

async fn create_pool(anvil: &Anvil, from: &str, factory: &str, [one, other]: [&String; 2], fee: u64) -> String {
    let arguments = [one.into(), other.into(), fee.into()];
    call(anvil, from, factory, "createPool(address,address,uint24)", &arguments).await;
    let pool = call_for_address(anvil, factory, "getPool(address,address,uint24)", &arguments).await;
    call(anvil, from, &pool, "initialize(uint160)", &[PRICE_OF_ONE.into()]).await;
    pool
}
