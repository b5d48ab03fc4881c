//! Decodes swap events. Whether the emitter is a pool is resolved later.

use alloy_primitives::{Address, U256};
use domain::{Log, PoolStyle, TradeDirection, TradeEvent};

use super::events::{SWAP_V2, SWAP_V3, SWAP_V3_WITH_FEES};
use crate::abi::{Word, address, number, words};

/// A trade if its emitter is a pool of this style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SwapCandidate {
    pub(crate) tx_index: u32,
    pub(crate) log_index: u32,
    pub(crate) emitter: Address,
    pub(crate) style: PoolStyle,
    pub(crate) exchanged: Exchanged,
}

/// Amounts into and out of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchanged {
    pub(crate) direction: TradeDirection,
    pub(crate) amount_in: U256,
    pub(crate) amount_out: U256,
}

impl SwapCandidate {
    pub(crate) fn into_trade(self) -> TradeEvent {
        TradeEvent {
            tx_index: self.tx_index,
            log_index: self.log_index,
            pool: self.emitter,
            direction: self.exchanged.direction,
            amount_in: self.exchanged.amount_in,
            amount_out: self.exchanged.amount_out,
        }
    }
}

/// None if the log is not a swap or nothing was exchanged.
pub(super) fn swap(log: &Log) -> Option<SwapCandidate> {
    let [event, sender, receiver] = log.topics.as_slice() else { return None };
    let (style, exchanged) = match *event {
        SWAP_V2 => (PoolStyle::V2, by_reserves(words(&log.data)?)),
        SWAP_V3 => {
            let [amount0, amount1, _price, _liquidity, _tick] = words(&log.data)?;
            (PoolStyle::V3, by_price(&amount0, &amount1))
        }
        SWAP_V3_WITH_FEES => {
            let [amount0, amount1, _price, _liquidity, _tick, _fee0, _fee1] = words(&log.data)?;
            (PoolStyle::V3, by_price(&amount0, &amount1))
        }
        _ => return None,
    };
    address(sender)?;
    address(receiver)?;
    let Log { tx_index, log_index, address: emitter, .. } = *log;
    Some(SwapCandidate { tx_index, log_index, emitter, style, exchanged: exchanged? })
}

/// A v2 event has the amounts in and out of each token, and all four may be non-zero.
///
/// Net amounts count: if the pool gained one token and lost the other, that is the trade. If it lost none and gained at
/// least one (a flash loan within the swap, a donation), the nets show no exchange; then a token that came in and the
/// other that went out count in full, and of two such exchanges the one with the larger amount in, token0 first on a
/// tie. Anything else is not a trade: the pool gained nothing, or only one token moved.
fn by_reserves(amounts: [Word; 4]) -> Option<Exchanged> {
    use TradeDirection::{OneForZero, ZeroForOne};
    let [in0, in1, out0, out1] = amounts.map(|word| number(&word));
    let exchanged = |direction, amount_in, amount_out| Some(Exchanged { direction, amount_in, amount_out });
    let (gained0, gained1) = (in0 > out0, in1 > out1);
    if gained0 && in1 < out1 {
        return exchanged(ZeroForOne, in0 - out0, out1 - in1);
    }
    if gained1 && in0 < out0 {
        return exchanged(OneForZero, in1 - out1, out0 - in0);
    }
    if !gained0 && !gained1 {
        return None;
    }
    let (zero_for_one, one_for_zero) = (!in0.is_zero() && !out1.is_zero(), !in1.is_zero() && !out0.is_zero());
    match (zero_for_one, one_for_zero) {
        (true, false) => exchanged(ZeroForOne, in0, out1),
        (false, true) => exchanged(OneForZero, in1, out0),
        (true, true) if in0 >= in1 => exchanged(ZeroForOne, in0, out1),
        (true, true) => exchanged(OneForZero, in1, out0),
        (false, false) => None,
    }
}

/// In a v3 event, amounts into the pool are positive and amounts out are negative.
fn by_price(amount0: &Word, amount1: &Word) -> Option<Exchanged> {
    let is_negative = |word: &Word| word[0] & 0x80 != 0;
    let is_positive = |word: &Word| !is_negative(word) && *word != [0; 32];
    let size = |word: &Word| number(word).wrapping_neg();
    if is_positive(amount0) && is_negative(amount1) {
        let direction = TradeDirection::ZeroForOne;
        return Some(Exchanged { direction, amount_in: number(amount0), amount_out: size(amount1) });
    }
    if is_positive(amount1) && is_negative(amount0) {
        let direction = TradeDirection::OneForZero;
        return Some(Exchanged { direction, amount_in: number(amount1), amount_out: size(amount0) });
    }
    None
}

#[cfg(test)]
mod tests {
    use TradeDirection::{OneForZero, ZeroForOne};
    use alloy_primitives::I256;
    use domain::B256;

    use super::*;
    use crate::decode::samples::{POOL, ROUTER, address_topic, log, uint};

    fn swap_log(event: B256, data: Vec<u8>) -> Log {
        log(POOL, [event, address_topic(ROUTER), address_topic(ROUTER)], data)
    }

    fn decoded(log: &Log) -> Option<(TradeDirection, u64, u64)> {
        let Exchanged { direction, amount_in, amount_out } = swap(log)?.exchanged;
        Some((direction, amount_in.to(), amount_out.to()))
    }

    fn v2(amounts: [u64; 4]) -> Option<(TradeDirection, u64, u64)> {
        decoded(&swap_log(SWAP_V2, amounts.into_iter().flat_map(uint).collect()))
    }

    fn v3_data(amount0: i64, amount1: i64, more: usize) -> Vec<u8> {
        let amounts = [amount0, amount1].map(|amount| I256::unchecked_from(amount).to_be_bytes::<32>());
        [amounts.concat(), vec![0xff; more * 32]].concat()
    }

    #[test]
    fn a_plain_swap_has_one_token_in_and_the_other_out() {
        assert_eq!(v2([100, 0, 0, 50]), Some((ZeroForOne, 100, 50)));
        assert_eq!(v2([0, 100, 50, 0]), Some((OneForZero, 100, 50)));
    }

    #[test]
    fn net_amounts_decide_if_both_tokens_came_in() {
        assert_eq!(v2([1, 1_000, 500, 0]), Some((OneForZero, 1_000, 499)));
        assert_eq!(v2([110, 3, 10, 53]), Some((ZeroForOne, 100, 50)));
    }

    #[test]
    fn a_pool_that_gained_both_tokens_traded_the_larger_amount() {
        assert_eq!(v2([100, 10, 0, 5]), Some((ZeroForOne, 100, 5)));
        assert_eq!(v2([10, 100, 5, 0]), Some((OneForZero, 100, 5)));
        assert_eq!(v2([100, 90, 80, 70]), Some((ZeroForOne, 100, 70)));
        assert_eq!(v2([90, 100, 80, 70]), Some((OneForZero, 100, 80)));
        assert_eq!(v2([100, 100, 80, 70]), Some((ZeroForOne, 100, 70)));
        assert_eq!(v2([100, 5, 0, 5]), Some((ZeroForOne, 100, 5)));
    }

    #[test]
    fn nothing_exchanged_is_no_trade() {
        for amounts in [
            [0, 0, 0, 0],
            [100, 0, 0, 0],
            [0, 100, 0, 0],
            [0, 0, 100, 0],
            [0, 0, 5, 5],
            [101, 0, 100, 0],
            [100, 100, 0, 0],
            [5, 5, 5, 5],
            [5, 5, 6, 5],
        ] {
            assert_eq!(v2(amounts), None, "{amounts:?}");
        }
    }

    #[test]
    fn the_sign_gives_the_direction_in_both_v3_events() {
        for (event, more) in [(SWAP_V3, 3), (SWAP_V3_WITH_FEES, 5)] {
            assert_eq!(decoded(&swap_log(event, v3_data(100, -50, more))), Some((ZeroForOne, 100, 50)));
            assert_eq!(decoded(&swap_log(event, v3_data(-50, 100, more))), Some((OneForZero, 100, 50)));
            for (amount0, amount1) in [(1, 1), (-1, -1), (0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)] {
                assert_eq!(decoded(&swap_log(event, v3_data(amount0, amount1, more))), None);
            }
            assert_eq!(decoded(&swap_log(event, v3_data(100, -50, more + 1))), None);
            assert_eq!(decoded(&swap_log(event, v3_data(100, -50, more - 1))), None);
        }
    }

    #[test]
    fn the_minimum_int256_is_negated() {
        let lowest = I256::MIN.to_be_bytes::<32>();
        let exchanged = by_price(&uint(1), &lowest).unwrap();
        assert_eq!(exchanged.amount_out, U256::ONE << 255);
    }

    #[test]
    fn a_malformed_log_is_no_swap() {
        let data: Vec<u8> = [100, 0, 0, 50].into_iter().flat_map(uint).collect();
        assert!(swap(&swap_log(SWAP_V2, data.clone())).is_some());
        assert!(swap(&swap_log(SWAP_V2, data[1..].to_vec())).is_none());
        assert!(swap(&log(POOL, [SWAP_V2, address_topic(ROUTER)], data.clone())).is_none());
        assert!(swap(&log(POOL, [SWAP_V2, address_topic(ROUTER), B256::repeat_byte(1)], data)).is_none());
    }
}
