//! The events of pools match their balance changes.

use std::collections::HashMap;

use alloy_primitives::{I256, U256};
use alloy_sol_types::{SolCall, SolEvent};

use super::{super::interfaces::*, *};

/// The change of each token of each pool in a block, according to the pool's events.
type Gains = HashMap<(Address, Address), I256>;

fn signed(amount: U256) -> I256 {
    I256::try_from(amount).unwrap()
}

fn add(gains: &mut Gains, pool: &Pool, amounts: [I256; 2]) {
    for (token, amount) in [pool.token0, pool.token1].into_iter().zip(amounts) {
        *gains.entry((pool.address, token.address)).or_default() += amount;
    }
}

fn v2_amounts(log: &Log) -> Option<[I256; 2]> {
    if let Ok(swap) = V2Pair::Swap::decode_log(log) {
        return Some([
            signed(swap.amount0In) - signed(swap.amount0Out),
            signed(swap.amount1In) - signed(swap.amount1Out),
        ]);
    }
    if let Ok(mint) = V2Pair::Mint::decode_log(log) {
        return Some([signed(mint.amount0), signed(mint.amount1)]);
    }
    let burn = V2Pair::Burn::decode_log(log).ok()?;
    Some([-signed(burn.amount0), -signed(burn.amount1)])
}

fn v3_amounts(log: &Log) -> Option<[I256; 2]> {
    if let Ok(swap) = V3Pool::Swap::decode_log(log) {
        return Some([swap.amount0, swap.amount1]);
    }
    let mint = V3Pool::Mint::decode_log(log).ok()?;
    Some([signed(mint.amount0), signed(mint.amount1)])
}

/// Compares the events of every block with the balance changes of the pools.
fn check_every_block(pools: &[Pool], amounts: fn(&Log) -> Option<[I256; 2]>) {
    let held = |pool: &Pool, token: Token, at: u64| {
        let call = Bep20::balanceOfCall { holder: pool.address };
        let output = HISTORY.chain.call_at(&Call::to(token.address, call.abi_encode()), at).unwrap();
        signed(Bep20::balanceOfCall::abi_decode_returns(&output).unwrap())
    };
    let mut moved = 0;
    // The tokens exist from block 1 on.
    for number in 2..=HISTORY.chain.head().number {
        let mut gains = Gains::new();
        for mined in &HISTORY.chain.block(number).unwrap().transactions {
            for log in mined.receipt.logs() {
                let pool = pools.iter().find(|pool| pool.address == log.address);
                if let (Some(pool), Some(amounts)) = (pool, amounts(log)) {
                    add(&mut gains, pool, amounts);
                    moved += 1;
                }
            }
        }
        for pool in pools {
            for token in [pool.token0, pool.token1] {
                let change = held(pool, token, number) - held(pool, token, number - 1);
                let from_events = gains.get(&(pool.address, token.address)).copied().unwrap_or_default();
                assert_eq!(change, from_events, "block {number}, pool {}, token {}", pool.address, token.address);
            }
        }
    }
    assert!(moved > 20, "{moved}");
}

#[test]
fn v2_pair_balances_match_their_events() {
    check_every_block(&HISTORY.contracts.v2_pairs, v2_amounts);
}

#[test]
fn v3_pool_balances_match_their_events() {
    check_every_block(&HISTORY.contracts.v3_pools, v3_amounts);
}

#[test]
fn swaps_go_both_ways() {
    let mut v2 = [0, 0];
    let mut v3 = [0, 0];
    for log in HISTORY.logs() {
        if HISTORY.contracts.v2_pairs.iter().any(|pair| pair.address == log.address)
            && let Ok(swap) = V2Pair::Swap::decode_log(&log)
        {
            v2[usize::from(swap.amount0In.is_zero())] += 1;
        }
        if let Ok(swap) = V3Pool::Swap::decode_log(&log) {
            assert_ne!(swap.amount0.is_negative(), swap.amount1.is_negative());
            v3[usize::from(swap.amount0.is_negative())] += 1;
        }
    }
    assert!(v2.iter().chain(&v3).all(|count| *count > 3), "{v2:?} {v3:?}");
}

#[test]
fn a_swap_never_decreases_the_product_of_the_reserves() {
    let mut products = HashMap::<Address, U256>::new();
    for mined in HISTORY.mined() {
        let logs = mined.receipt.logs();
        for (position, log) in logs.iter().enumerate() {
            let Ok(sync) = V2Pair::Sync::decode_log(log) else { continue };
            let product = U256::from(sync.reserve0) * U256::from(sync.reserve1);
            let before = products.insert(log.address, product);
            let swapped = V2Pair::Swap::decode_log(&logs[position + 1]).is_ok();
            if swapped {
                assert!(Some(product) >= before, "{}", log.address);
            }
        }
    }
    assert_eq!(products.len(), HISTORY.contracts.v2_pairs.len());
}

#[test]
fn pairs_and_pools_name_their_factory_and_tokens() {
    for pair in &HISTORY.contracts.v2_pairs {
        assert_eq!(HISTORY.read(pair.address, &V2Pair::factoryCall {}), HISTORY.contracts.v2_factory);
        assert_eq!(HISTORY.read(pair.address, &V2Pair::token0Call {}), pair.token0.address);
        assert_eq!(HISTORY.read(pair.address, &V2Pair::token1Call {}), pair.token1.address);
        let reserves = HISTORY.read(pair.address, &V2Pair::getReservesCall {});
        let call = Bep20::balanceOfCall { holder: pair.address };
        assert_eq!(U256::from(reserves.reserve0), HISTORY.read(pair.token0.address, &call));
        assert_eq!(U256::from(reserves.reserve1), HISTORY.read(pair.token1.address, &call));
    }
    for pool in &HISTORY.contracts.v3_pools {
        assert_eq!(HISTORY.read(pool.address, &V3Pool::factoryCall {}), HISTORY.contracts.v3_factory);
        assert_eq!(HISTORY.read(pool.address, &V3Pool::token0Call {}), pool.token0.address);
        assert_eq!(HISTORY.read(pool.address, &V3Pool::token1Call {}), pool.token1.address);
        assert!([2_500, 500].contains(&HISTORY.read(pool.address, &V3Pool::feeCall {}).to::<u32>()));
    }
}

#[test]
fn the_tick_of_a_v3_swap_matches_its_price() {
    let mut checked = 0;
    for log in HISTORY.logs() {
        let Ok(swap) = V3Pool::Swap::decode_log(&log) else { continue };
        let root = f64::from(U256::from(swap.sqrtPriceX96)) / 2_f64.powi(96);
        let exact = (root * root).ln() / 1.0001_f64.ln();
        let tick = f64::from(swap.tick.as_i32());
        assert!(tick <= exact + 1e-3 && exact - 1e-3 < tick + 1.0, "{tick} for {exact}");
        checked += 1;
    }
    assert!(checked > 10);
}

#[test]
fn the_look_alike_emits_swaps_and_has_no_tokens() {
    let look_alike = HISTORY.contracts.look_alike;
    assert!(HISTORY.logs().any(|log| log.address == look_alike && V2Pair::Swap::decode_log(&log).is_ok()));
    let call = Call::to(look_alike, V2Pair::token0Call {}.abi_encode());
    assert!(HISTORY.chain.call(&call).is_err());
}
