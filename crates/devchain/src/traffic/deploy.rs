//! Deploys every contract and adds liquidity to the pools.

use alloy_primitives::{
    Address, Bytes, U256,
    aliases::{U24, U160},
};

use super::{
    TrafficError,
    amount::units,
    artifact::Contract,
    deployed::{Collection, DeployedContracts, Pool, Token},
    intent::{Actor, Intent},
    interfaces::{Bep20, V2Factory, V2Router, V3Factory, V3Pool, WrappedCoin},
    people::People,
    reader::Reader,
    submit::mine,
};
use crate::DevChain;

/// The number of blocks of a deployment.
pub(super) const DEPLOYMENT_BLOCKS: u64 = 4;

/// Each pool with the wrapped coin gets this fraction (1/n) of the treasury's coins.
const POOL_SHARE: u64 = 40;
const DOLLARS_PER_COIN: u64 = 600;
const POOL_ORCHARDS: u64 = 1_000_000;
const LANTERNS_PER_ORCHARD: u64 = 2;

/// Whole tokens of each pool token that are minted for the treasury.
const TREASURY_TOKENS: u64 = 100_000_000;

const V3_FEES: [u32; 2] = [2_500, 500];

const POOL_CREATION_GAS: u64 = 3_000_000;
const LIQUIDITY_GAS: u64 = 500_000;

pub(super) fn deploy(
    chain: &DevChain,
    people: &People,
    collection: Collection,
) -> Result<DeployedContracts, TrafficError> {
    let deployment = Deployment { chain, people };
    let [dollar, orchard, lantern, bytes32, no_decimals, silent_fee, wrapped] = deployment.create_tokens()?;

    let router = |factory: Address| Contract::V2Router.creation_with(&(factory, wrapped.address));
    let [v2_factory, v3_factory, v2_router, collectible, items, look_alike, nursery, failing, counter, vault] =
        deployment.create([
            Contract::V2Factory.creation_code(),
            Contract::V3Factory.creation_code(),
            router(deployment.next_creation()),
            collection.creation_code(),
            Contract::GameItems.creation_code(),
            Contract::LookAlikeSwap.creation_code(),
            Contract::Nursery.creation_code(),
            Contract::Failing.creation_code(),
            Contract::Counter.creation_code(),
            Contract::Vault.creation_code(),
        ])?;

    let coins = chain.balance(people.address(Actor::TREASURY)) / U256::from(POOL_SHARE);
    let orchards = units(POOL_ORCHARDS, orchard.decimals);
    let against_dollar =
        [(wrapped, coins), (dollar, coins * U256::from(DOLLARS_PER_COIN) / units(1, 18 - dollar.decimals))];
    let against_orchard = [(orchard, orchards), (wrapped, coins)];
    let without_coins = [(orchard, orchards), (lantern, orchards * U256::from(LANTERNS_PER_ORCHARD))];
    let v2_sides = [against_dollar, against_orchard, without_coins];
    let v3_sides = [against_dollar, without_coins];

    let exchanges = Exchanges { v2_factory, v2_router, v3_factory };
    deployment.prepare_pools(&exchanges, wrapped, [dollar, orchard, lantern], &v2_sides, &v3_sides)?;
    let v2_pairs = deployment.find_pairs(v2_factory, &v2_sides)?;
    let v3_pools = deployment.find_pools(v3_factory, &v3_sides)?;
    deployment.fill_pools(&exchanges, &v2_sides, &v3_pools, &v3_sides)?;

    Ok(DeployedContracts {
        tokens: vec![dollar, orchard, lantern, bytes32, no_decimals, silent_fee, wrapped],
        wrapped,
        dollar,
        orchard,
        lantern,
        bytes32,
        no_decimals,
        silent_fee,
        collectible,
        collection,
        items,
        v2_factory,
        v2_router,
        v2_pairs,
        v3_factory,
        v3_pools,
        look_alike,
        nursery,
        failing,
        counter,
        vault,
    })
}

/// The initial liquidity of a pool.
type Sides = [(Token, U256); 2];

struct Exchanges {
    v2_factory: Address,
    v2_router: Address,
    v3_factory: Address,
}

struct Deployment<'a> {
    chain: &'a DevChain,
    people: &'a People,
}

impl Deployment<'_> {
    fn create_tokens(&self) -> Result<[Token; 7], TrafficError> {
        let plain = |name: &str, symbol: &str, decimals: u8| {
            let arguments = (name.to_owned(), symbol.to_owned(), U256::from(decimals));
            (Contract::PlainToken.creation_with(&arguments), decimals)
        };
        let tokens = [
            plain("Harbor Dollar", "HUSD", 6),
            plain("Orchard", "ORCH", 18),
            plain("Lantern", "LANT", 18),
            (Contract::Bytes32Token.creation_code(), 18),
            (Contract::NoDecimalsToken.creation_code(), 18),
            (Contract::SilentFeeToken.creation_code(), 18),
            (Contract::WrappedCoin.creation_code(), 18),
        ];
        let mut decimals = tokens.each_ref().map(|(_, decimals)| *decimals).into_iter();
        let addresses = self.create(tokens.map(|(code, _)| code))?;
        Ok(addresses.map(|address| Token { address, decimals: decimals.next().unwrap_or_default() }))
    }

    /// Creates pairs and pools without liquidity, and mints tokens for the treasury.
    fn prepare_pools(
        &self,
        exchanges: &Exchanges,
        wrapped: Token,
        minted: [Token; 3],
        v2_sides: &[Sides],
        v3_sides: &[Sides],
    ) -> Result<(), TrafficError> {
        let to = self.people.address(Actor::TREASURY);
        let coins = v2_sides
            .iter()
            .chain(v3_sides)
            .flatten()
            .filter(|(token, _)| *token == wrapped)
            .fold(U256::ZERO, |sum, (_, amount)| sum + amount);
        let mut intents = vec![treasury(wrapped.address, &WrappedCoin::depositCall {}).with_value(coins)];
        intents.extend(minted.map(|token| {
            let value = units(TREASURY_TOKENS, token.decimals);
            treasury(token.address, &Bep20::mintCall { to, value })
        }));
        intents.extend(v2_sides.iter().map(|[(a, _), (b, _)]| {
            let create = V2Factory::createPairCall { tokenA: a.address, tokenB: b.address };
            treasury(exchanges.v2_factory, &create).with_gas(POOL_CREATION_GAS)
        }));
        intents.extend(v3_sides.iter().zip(V3_FEES).map(|([(a, _), (b, _)], fee)| {
            let create = V3Factory::createPoolCall { tokenA: a.address, tokenB: b.address, fee: U24::from(fee) };
            treasury(exchanges.v3_factory, &create).with_gas(POOL_CREATION_GAS)
        }));
        mine(self.chain, &intents)?;
        Ok(())
    }

    fn fill_pools(
        &self,
        exchanges: &Exchanges,
        v2_sides: &[Sides],
        v3_pools: &[Pool],
        v3_sides: &[Sides],
    ) -> Result<(), TrafficError> {
        let to = self.people.address(Actor::TREASURY);
        let mut intents = vec![];
        for &[(a, amount_a), (b, amount_b)] in v2_sides {
            intents.extend(approvals(exchanges.v2_router, [a, b]));
            let add = V2Router::addLiquidityCall {
                tokenA: a.address,
                tokenB: b.address,
                amountADesired: amount_a,
                amountBDesired: amount_b,
                amountAMin: amount_a,
                amountBMin: amount_b,
                to,
                deadline: U256::MAX,
            };
            intents.push(treasury(exchanges.v2_router, &add).with_gas(LIQUIDITY_GAS));
        }
        for (pool, &[(a, amount_a), (b, amount_b)]) in v3_pools.iter().zip(v3_sides) {
            let (amount0, amount1) = if a == pool.token0 { (amount_a, amount_b) } else { (amount_b, amount_a) };
            intents.extend(approvals(pool.address, [a, b]));
            let initialize = V3Pool::initializeCall { sqrtPriceX96: U160::from(sqrt_price(amount0, amount1)) };
            intents.push(treasury(pool.address, &initialize));
            // Slightly less, since the pool rounds up and would pull one wei more than approved.
            let liquidity = (amount0 * amount1).root(2) * U256::from(999) / U256::from(1_000);
            let mint = V3Pool::mintCall { owner: to, amount: liquidity.saturating_to() };
            intents.push(treasury(pool.address, &mint).with_gas(LIQUIDITY_GAS));
        }
        mine(self.chain, &intents)?;
        Ok(())
    }

    fn find_pairs(&self, factory: Address, sides: &[Sides]) -> Result<Vec<Pool>, TrafficError> {
        let find = |&[(a, _), (b, _)]: &Sides| {
            let call = V2Factory::getPairCall { tokenA: a.address, tokenB: b.address };
            Ok(Pool::of(Reader::new(self.chain).read(factory, &call)?, a, b))
        };
        sides.iter().map(find).collect()
    }

    fn find_pools(&self, factory: Address, sides: &[Sides]) -> Result<Vec<Pool>, TrafficError> {
        let find = |(&[(a, _), (b, _)], fee): (&Sides, u32)| {
            let call = V3Factory::getPoolCall { tokenA: a.address, tokenB: b.address, fee: U24::from(fee) };
            Ok(Pool::of(Reader::new(self.chain).read(factory, &call)?, a, b))
        };
        sides.iter().zip(V3_FEES).map(find).collect()
    }

    /// The address of the next contract created by the treasury.
    fn next_creation(&self) -> Address {
        let treasury = self.people.address(Actor::TREASURY);
        treasury.create(self.chain.next_nonce(treasury))
    }

    /// Creates contracts in one block.
    fn create<const N: usize>(&self, codes: [Bytes; N]) -> Result<[Address; N], TrafficError> {
        let treasury = self.people.address(Actor::TREASURY);
        let nonce = self.chain.next_nonce(treasury);
        let intents = codes.map(|code| Intent::creation(Actor::TREASURY, code));
        mine(self.chain, &intents)?;
        Ok(std::array::from_fn(|index| treasury.create(nonce + index as u64)))
    }
}

fn treasury(to: Address, call: &impl alloy_sol_types::SolCall) -> Intent {
    Intent::call(Actor::TREASURY, to, call)
}

fn approvals(spender: Address, tokens: [Token; 2]) -> [Intent; 2] {
    let value = U256::MAX;
    tokens.map(|token| treasury(token.address, &Bep20::approveCall { spender, value }))
}

/// The square root of the price of token 0 in token 1, in 64.96 fixed point.
fn sqrt_price(amount0: U256, amount1: U256) -> U256 {
    let price_x128: U256 = (amount1 << 128) / amount0;
    price_x128.root(2) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_root_of_a_price_of_four_is_two() {
        let amount = units(1_000_000, 18);
        assert_eq!(sqrt_price(amount, amount * U256::from(4)), U256::from(2) << 96);
    }
}
