//! Trades and liquidity on both exchanges.

use alloy_primitives::{Address, U256};
use rand::{Rng, seq::IndexedRandom};

use super::{
    TrafficError,
    amount::{COIN, spread},
    intent::{Actor, Intent},
    interfaces::{Bep20, LookAlikeSwap, V2Router, V3Pool},
    native::top_up,
    stage::{Pool, Token},
    tokens::supply,
    turn::Turn,
};

const SWAP_GAS: u64 = 500_000;

/// A swap is at most one part in this many of what the pool holds, so that prices wander slowly.
const SWAP_PART: u64 = 200;
/// And at least this part, so that something comes out.
const SMALLEST_SWAP_PART: u64 = 100_000;
const LIQUIDITY_PART: u64 = 1_000;

/// Tokens for tokens through the router, over one pair or two, either way.
pub(super) fn swap_tokens(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let stage = turn.stage;
    let mut route = match turn.rng.random_range(0..4) {
        0 => vec![stage.orchard, stage.lantern],
        1 => vec![stage.dollar, stage.wrapped],
        2 => vec![stage.orchard, stage.wrapped],
        _ => vec![stage.dollar, stage.wrapped, stage.orchard],
    };
    if turn.rng.random_bool(0.5) {
        route.reverse();
    }
    sell(turn, &route, |sale| V2Router::swapExactTokensForTokensCall {
        amountIn: sale.amount,
        amountOutMin: sale.least,
        path: sale.path,
        to: sale.to,
        deadline: sale.deadline,
    })
}

/// Tokens for native coins through the router.
pub(super) fn sell_for_coins(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let mut route = coin_route(turn);
    route.reverse();
    sell(turn, &route, |sale| V2Router::swapExactTokensForETHCall {
        amountIn: sale.amount,
        amountOutMin: sale.least,
        path: sale.path,
        to: sale.to,
        deadline: sale.deadline,
    })
}

/// Native coins for tokens through the router.
pub(super) fn buy_with_coins(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let route = coin_route(turn);
    let value = draw_swap(turn, pair_of(turn, route[0], route[1]), route[0])?;
    if !turn.take_coins(from, value) {
        return top_up(turn, from);
    }
    let path = addresses(&route);
    let buy = V2Router::swapExactETHForTokensCall {
        amountOutMin: least_out(turn, value, &path)?,
        path,
        to: turn.people.address(from),
        deadline: turn.deadline(),
    };
    let intent = Intent::call(from, turn.stage.v2_router, &buy);
    Ok(vec![intent.with_value(value).with_gas(SWAP_GAS)])
}

pub(super) fn swap_v3(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let Some(&pool) = turn.stage.v3_pools.choose(turn.rng) else {
        return Ok(vec![]);
    };
    let zero_for_one = turn.rng.random_bool(0.5);
    let token = if zero_for_one { pool.token0 } else { pool.token1 };
    let amount = draw_swap(turn, pool.address, token)?;
    if !turn.take_tokens(token.address, from, amount)? {
        return supply(turn, token, from, amount);
    }
    let swap = V3Pool::swapCall { recipient: recipient(turn, from), zeroForOne: zero_for_one, amountIn: amount };
    let mut intents = turn.approval_for(token.address, from, pool.address, amount)?;
    intents.push(Intent::call(from, pool.address, &swap).with_gas(SWAP_GAS));
    Ok(intents)
}

pub(super) fn add_liquidity(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let Some(&pair) = turn.stage.v2_pairs.choose(turn.rng) else {
        return Ok(vec![]);
    };
    let part = U256::from(turn.rng.random_range(LIQUIDITY_PART..50 * LIQUIDITY_PART));
    let router = turn.stage.v2_router;
    let mut intents = vec![];
    let mut amounts = [U256::ZERO; 2];
    for (token, amount) in [pair.token0, pair.token1].into_iter().zip(&mut amounts) {
        *amount = held_by(turn, pair.address, token)? / part;
        if !turn.take_tokens(token.address, from, *amount)? {
            return supply(turn, token, from, *amount);
        }
        intents.extend(turn.approval_for(token.address, from, router, *amount)?);
    }
    let add = V2Router::addLiquidityCall {
        tokenA: pair.token0.address,
        tokenB: pair.token1.address,
        amountADesired: amounts[0],
        amountBDesired: amounts[1],
        amountAMin: U256::ZERO,
        amountBMin: U256::ZERO,
        to: turn.people.address(from),
        deadline: turn.deadline(),
    };
    intents.push(Intent::call(from, router, &add).with_gas(SWAP_GAS));
    Ok(intents)
}

/// Half of someone's shares turned back into tokens.
pub(super) fn remove_liquidity(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let Some((from, pair, shares)) = find_shares(turn)? else {
        return add_liquidity(turn);
    };
    let router = turn.stage.v2_router;
    let remove = V2Router::removeLiquidityCall {
        tokenA: pair.token0.address,
        tokenB: pair.token1.address,
        liquidity: shares,
        amountAMin: U256::ZERO,
        amountBMin: U256::ZERO,
        to: turn.people.address(from),
        deadline: turn.deadline(),
    };
    let mut intents = turn.approval_for(pair.address, from, router, shares)?;
    intents.push(Intent::call(from, router, &remove).with_gas(SWAP_GAS));
    Ok(intents)
}

pub(super) fn add_liquidity_v3(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let Some(&pool) = turn.stage.v3_pools.choose(turn.rng) else {
        return Ok(vec![]);
    };
    let liquidity = turn.read(pool.address, &V3Pool::liquidityCall {})?;
    let part = turn.rng.random_range(u128::from(LIQUIDITY_PART)..50 * u128::from(LIQUIDITY_PART));
    let mut intents = vec![];
    for token in [pool.token0, pool.token1] {
        // The price may move before the block is made; twice today's need is enough for any of it.
        let most = held_by(turn, pool.address, token)? * U256::from(2) / U256::from(part);
        if !turn.take_tokens(token.address, from, most)? {
            return supply(turn, token, from, most);
        }
        intents.extend(turn.approval_for(token.address, from, pool.address, most)?);
    }
    let mint = V3Pool::mintCall { owner: turn.people.address(from), amount: liquidity / part };
    intents.push(Intent::call(from, pool.address, &mint).with_gas(SWAP_GAS));
    Ok(intents)
}

/// A Swap log from a contract that is no pool.
pub(super) fn pretend(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let pretend = LookAlikeSwap::pretendCall {
        amountIn: spread(COIN, turn.rng),
        amountOut: spread(COIN, turn.rng),
        to: turn.people.address(from),
    };
    Ok(vec![Intent::call(from, turn.stage.look_alike, &pretend)])
}

/// What a sale through the router needs to know.
struct Sale {
    amount: U256,
    least: U256,
    path: Vec<Address>,
    to: Address,
    deadline: U256,
}

fn sell<C: alloy_sol_types::SolCall>(
    turn: &mut Turn<'_>,
    route: &[Token],
    call: impl FnOnce(Sale) -> C,
) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let token = route[0];
    let amount = draw_swap(turn, pair_of(turn, token, route[1]), token)?;
    if !turn.take_tokens(token.address, from, amount)? {
        return supply(turn, token, from, amount);
    }
    let path = addresses(route);
    let sale = call(Sale {
        amount,
        least: least_out(turn, amount, &path)?,
        path,
        to: recipient(turn, from),
        deadline: turn.deadline(),
    });
    let router = turn.stage.v2_router;
    let mut intents = turn.approval_for(token.address, from, router, amount)?;
    intents.push(Intent::call(from, router, &sale).with_gas(SWAP_GAS));
    Ok(intents)
}

/// From the wrapped coin to a token, over one pair or two.
fn coin_route(turn: &mut Turn<'_>) -> Vec<Token> {
    let stage = turn.stage;
    match turn.rng.random_range(0..5) {
        0 => vec![stage.wrapped, stage.orchard, stage.lantern],
        1 | 2 => vec![stage.wrapped, stage.orchard],
        _ => vec![stage.wrapped, stage.dollar],
    }
}

/// Four fifths of the quote: others may trade before in the same block.
fn least_out(turn: &Turn<'_>, amount: U256, path: &[Address]) -> Result<U256, TrafficError> {
    let quote = V2Router::getAmountsOutCall { amountIn: amount, path: path.to_vec() };
    let amounts = turn.read(turn.stage.v2_router, &quote)?;
    let out = amounts.last().copied().unwrap_or_default();
    Ok(out * U256::from(4) / U256::from(5))
}

fn draw_swap(turn: &mut Turn<'_>, pool: Address, token: Token) -> Result<U256, TrafficError> {
    let held = held_by(turn, pool, token)?;
    let least = held / U256::from(SMALLEST_SWAP_PART);
    Ok(least + spread(held / U256::from(SWAP_PART), turn.rng))
}

fn held_by(turn: &Turn<'_>, holder: Address, token: Token) -> Result<U256, TrafficError> {
    turn.read(token.address, &Bep20::balanceOfCall { holder })
}

/// An actor with shares of a pair, looked for from a random place on.
fn find_shares(turn: &mut Turn<'_>) -> Result<Option<(Actor, Pool, U256)>, TrafficError> {
    let Some(&pair) = turn.stage.v2_pairs.choose(turn.rng) else {
        return Ok(None);
    };
    let first = turn.actor();
    let mut actor = first;
    loop {
        let holder = turn.people.address(actor);
        let held = turn.read(pair.address, &Bep20::balanceOfCall { holder })?;
        let half = held / U256::from(2);
        if half > COIN / U256::from(1_000_000_000) && turn.take_tokens(pair.address, actor, half)? {
            return Ok(Some((actor, pair, half)));
        }
        actor = turn.people.next_after(actor);
        if actor == first {
            return Ok(None);
        }
    }
}

fn pair_of(turn: &Turn<'_>, a: Token, b: Token) -> Address {
    let wanted = Pool::of(Address::ZERO, a, b);
    turn.stage
        .v2_pairs
        .iter()
        .find(|pair| pair.token0 == wanted.token0 && pair.token1 == wanted.token1)
        .map_or(Address::ZERO, |pair| pair.address)
}

/// Mostly the trader, at times someone else.
fn recipient(turn: &mut Turn<'_>, trader: Actor) -> Address {
    let receiver = match turn.rng.random_bool(0.9) {
        true => trader,
        false => turn.people.another(trader, turn.rng),
    };
    turn.people.address(receiver)
}

fn addresses(route: &[Token]) -> Vec<Address> {
    route.iter().map(|token| token.address).collect()
}
