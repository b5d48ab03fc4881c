//! Swaps and liquidity changes on both exchanges.

use alloy_primitives::{Address, U256};
use rand::{Rng, seq::IndexedRandom};

use super::{
    TrafficError,
    amount::{COIN, spread},
    context::ActivityContext,
    deployed::{Pool, Token},
    intent::{Actor, Intent},
    interfaces::{Bep20, LookAlikeSwap, V2Router, V3Pool},
    native::top_up,
    tokens::supply,
};

const SWAP_GAS: u64 = 500_000;

/// A swap is at most this fraction (1/n) of the pool's balance, so that prices change slowly.
const MAX_SWAP_PART: u64 = 200;
/// And at least this fraction (1/n), so that the output is not zero.
const MIN_SWAP_PART: u64 = 100_000;
const LIQUIDITY_PART: u64 = 1_000;

/// Swaps tokens through the router, over one or two pairs, in either direction.
pub(super) fn swap_tokens(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let contracts = context.contracts;
    let mut route = match context.rng.random_range(0..4) {
        0 => vec![contracts.orchard, contracts.lantern],
        1 => vec![contracts.dollar, contracts.wrapped],
        2 => vec![contracts.orchard, contracts.wrapped],
        _ => vec![contracts.dollar, contracts.wrapped, contracts.orchard],
    };
    if context.rng.random_bool(0.5) {
        route.reverse();
    }
    sell(context, &route, |sale| V2Router::swapExactTokensForTokensCall {
        amountIn: sale.amount,
        amountOutMin: sale.min_out,
        path: sale.path,
        to: sale.to,
        deadline: sale.deadline,
    })
}

/// Swaps tokens for native coins through the router.
pub(super) fn sell_for_coins(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let mut route = coin_route(context);
    route.reverse();
    sell(context, &route, |sale| V2Router::swapExactTokensForETHCall {
        amountIn: sale.amount,
        amountOutMin: sale.min_out,
        path: sale.path,
        to: sale.to,
        deadline: sale.deadline,
    })
}

/// Swaps native coins for tokens through the router.
pub(super) fn buy_with_coins(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let route = coin_route(context);
    let [token, next, ..] = route[..] else { return Ok(vec![]) };
    let value = draw_swap(context, pair_of(context, token, next), token)?;
    if !context.reserve_coins(from, value) {
        return top_up(context, from);
    }
    let path = addresses(&route);
    let buy = V2Router::swapExactETHForTokensCall {
        amountOutMin: min_output(context, value, &path)?,
        path,
        to: context.people.address(from),
        deadline: context.deadline(),
    };
    let intent = Intent::call(from, context.contracts.v2_router, &buy);
    Ok(vec![intent.with_value(value).with_gas(SWAP_GAS)])
}

pub(super) fn swap_v3(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let Some(&pool) = context.contracts.v3_pools.choose(context.rng) else {
        return Ok(vec![]);
    };
    let zero_for_one = context.rng.random_bool(0.5);
    let token = if zero_for_one { pool.token0 } else { pool.token1 };
    let amount = draw_swap(context, pool.address, token)?;
    if !context.reserve_tokens(token.address, from, amount)? {
        return supply(context, token, from, amount);
    }
    let swap = V3Pool::swapCall { recipient: recipient(context, from), zeroForOne: zero_for_one, amountIn: amount };
    let mut intents = context.approval_for(token.address, from, pool.address, amount)?;
    intents.push(Intent::call(from, pool.address, &swap).with_gas(SWAP_GAS));
    Ok(intents)
}

pub(super) fn add_liquidity(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let Some(&pair) = context.contracts.v2_pairs.choose(context.rng) else {
        return Ok(vec![]);
    };
    let part = U256::from(context.rng.random_range(LIQUIDITY_PART..50 * LIQUIDITY_PART));
    let router = context.contracts.v2_router;
    let mut intents = vec![];
    let mut amounts = [U256::ZERO; 2];
    for (token, amount) in [pair.token0, pair.token1].into_iter().zip(&mut amounts) {
        *amount = held_by(context, pair.address, token)? / part;
        if !context.reserve_tokens(token.address, from, *amount)? {
            return supply(context, token, from, *amount);
        }
        intents.extend(context.approval_for(token.address, from, router, *amount)?);
    }
    let [amount0, amount1] = amounts;
    let add = V2Router::addLiquidityCall {
        tokenA: pair.token0.address,
        tokenB: pair.token1.address,
        amountADesired: amount0,
        amountBDesired: amount1,
        amountAMin: U256::ZERO,
        amountBMin: U256::ZERO,
        to: context.people.address(from),
        deadline: context.deadline(),
    };
    intents.push(Intent::call(from, router, &add).with_gas(SWAP_GAS));
    Ok(intents)
}

/// Removes half of an actor's liquidity.
pub(super) fn remove_liquidity(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let Some((from, pair, shares)) = find_shares(context)? else {
        return add_liquidity(context);
    };
    let router = context.contracts.v2_router;
    let remove = V2Router::removeLiquidityCall {
        tokenA: pair.token0.address,
        tokenB: pair.token1.address,
        liquidity: shares,
        amountAMin: U256::ZERO,
        amountBMin: U256::ZERO,
        to: context.people.address(from),
        deadline: context.deadline(),
    };
    let mut intents = context.approval_for(pair.address, from, router, shares)?;
    intents.push(Intent::call(from, router, &remove).with_gas(SWAP_GAS));
    Ok(intents)
}

pub(super) fn add_liquidity_v3(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let Some(&pool) = context.contracts.v3_pools.choose(context.rng) else {
        return Ok(vec![]);
    };
    let liquidity = context.read(pool.address, &V3Pool::liquidityCall {})?;
    let part = context.rng.random_range(u128::from(LIQUIDITY_PART)..50 * u128::from(LIQUIDITY_PART));
    let mut intents = vec![];
    for token in [pool.token0, pool.token1] {
        // Twice the current need is enough if the price moves before the block is mined.
        let most = held_by(context, pool.address, token)? * U256::from(2) / U256::from(part);
        if !context.reserve_tokens(token.address, from, most)? {
            return supply(context, token, from, most);
        }
        intents.extend(context.approval_for(token.address, from, pool.address, most)?);
    }
    let mint = V3Pool::mintCall { owner: context.people.address(from), amount: liquidity / part };
    intents.push(Intent::call(from, pool.address, &mint).with_gas(SWAP_GAS));
    Ok(intents)
}

/// Emits a Swap log from a contract that is not a pool.
pub(super) fn pretend(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let pretend = LookAlikeSwap::pretendCall {
        amountIn: spread(COIN, context.rng),
        amountOut: spread(COIN, context.rng),
        to: context.people.address(from),
    };
    Ok(vec![Intent::call(from, context.contracts.look_alike, &pretend)])
}

/// The arguments of a sale through the router.
struct Sale {
    amount: U256,
    min_out: U256,
    path: Vec<Address>,
    to: Address,
    deadline: U256,
}

fn sell<C: alloy_sol_types::SolCall>(
    context: &mut ActivityContext<'_>,
    route: &[Token],
    call: impl FnOnce(Sale) -> C,
) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let [token, next, ..] = *route else { return Ok(vec![]) };
    let amount = draw_swap(context, pair_of(context, token, next), token)?;
    if !context.reserve_tokens(token.address, from, amount)? {
        return supply(context, token, from, amount);
    }
    let path = addresses(route);
    let sale = call(Sale {
        amount,
        min_out: min_output(context, amount, &path)?,
        path,
        to: recipient(context, from),
        deadline: context.deadline(),
    });
    let router = context.contracts.v2_router;
    let mut intents = context.approval_for(token.address, from, router, amount)?;
    intents.push(Intent::call(from, router, &sale).with_gas(SWAP_GAS));
    Ok(intents)
}

/// A route from the wrapped coin to a token, over one or two pairs.
fn coin_route(context: &mut ActivityContext<'_>) -> Vec<Token> {
    let contracts = context.contracts;
    match context.rng.random_range(0..5) {
        0 => vec![contracts.wrapped, contracts.orchard, contracts.lantern],
        1 | 2 => vec![contracts.wrapped, contracts.orchard],
        _ => vec![contracts.wrapped, contracts.dollar],
    }
}

/// 80% of the quote, since other swaps may come first in the same block.
fn min_output(context: &ActivityContext<'_>, amount: U256, path: &[Address]) -> Result<U256, TrafficError> {
    let quote = V2Router::getAmountsOutCall { amountIn: amount, path: path.to_vec() };
    let amounts = context.read(context.contracts.v2_router, &quote)?;
    let out = amounts.last().copied().unwrap_or_default();
    Ok(out * U256::from(4) / U256::from(5))
}

fn draw_swap(context: &mut ActivityContext<'_>, pool: Address, token: Token) -> Result<U256, TrafficError> {
    let held = held_by(context, pool, token)?;
    let minimum = held / U256::from(MIN_SWAP_PART);
    Ok(minimum + spread(held / U256::from(MAX_SWAP_PART), context.rng))
}

fn held_by(context: &ActivityContext<'_>, holder: Address, token: Token) -> Result<U256, TrafficError> {
    context.read(token.address, &Bep20::balanceOfCall { holder })
}

/// An actor with liquidity in a pair, searched from a random position.
fn find_shares(context: &mut ActivityContext<'_>) -> Result<Option<(Actor, Pool, U256)>, TrafficError> {
    let Some(&pair) = context.contracts.v2_pairs.choose(context.rng) else {
        return Ok(None);
    };
    let first = context.actor();
    let mut actor = first;
    loop {
        let holder = context.people.address(actor);
        let held = context.read(pair.address, &Bep20::balanceOfCall { holder })?;
        let half = held / U256::from(2);
        if half > COIN / U256::from(1_000_000_000) && context.reserve_tokens(pair.address, actor, half)? {
            return Ok(Some((actor, pair, half)));
        }
        actor = context.people.next_after(actor);
        if actor == first {
            return Ok(None);
        }
    }
}

fn pair_of(context: &ActivityContext<'_>, a: Token, b: Token) -> Address {
    let wanted = Pool::of(Address::ZERO, a, b);
    context
        .contracts
        .v2_pairs
        .iter()
        .find(|pair| pair.token0 == wanted.token0 && pair.token1 == wanted.token1)
        .map_or(Address::ZERO, |pair| pair.address)
}

/// Usually the trader, sometimes another actor.
fn recipient(context: &mut ActivityContext<'_>, trader: Actor) -> Address {
    let receiver = match context.rng.random_bool(0.9) {
        true => trader,
        false => context.people.another(trader, context.rng),
    };
    context.people.address(receiver)
}

fn addresses(route: &[Token]) -> Vec<Address> {
    route.iter().map(|token| token.address).collect()
}
