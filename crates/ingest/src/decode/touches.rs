//! Deposits and withdrawals of wrapped coins, which change balances without a transfer. The same events of other contracts
//! are harmless.

use domain::{Log, TouchedHolder};

use super::events::{DEPOSIT, WITHDRAWAL};
use crate::abi::{address, words};

pub(super) fn touched_holder(log: &Log) -> Option<TouchedHolder> {
    let [DEPOSIT | WITHDRAWAL, holder] = log.topics.as_slice() else { return None };
    let [_amount] = words(&log.data)?;
    Some(TouchedHolder { token: log.address, holder: address(holder)? })
}

#[cfg(test)]
mod tests {
    use domain::B256;

    use super::*;
    use crate::decode::samples::{SENDER, TOKEN, address_topic, log, uint};

    #[test]
    fn deposits_and_withdrawals_touch_the_holder() {
        for event in [DEPOSIT, WITHDRAWAL] {
            let wrapped = log(TOKEN, [event, address_topic(SENDER)], uint(5));
            assert_eq!(touched_holder(&wrapped), Some(TouchedHolder { token: TOKEN, holder: SENDER }));
        }
    }

    #[test]
    fn a_malformed_log_touches_no_holder() {
        for (topics, data) in [
            (vec![DEPOSIT], vec![0; 64]),
            (vec![DEPOSIT, B256::repeat_byte(1)], vec![0; 32]),
            (vec![DEPOSIT, address_topic(SENDER)], vec![0; 31]),
            (vec![DEPOSIT, address_topic(SENDER), address_topic(SENDER)], vec![0; 32]),
            (vec![B256::ZERO, address_topic(SENDER)], vec![0; 32]),
        ] {
            assert_eq!(touched_holder(&log(TOKEN, topics, data)), None);
        }
    }
}
