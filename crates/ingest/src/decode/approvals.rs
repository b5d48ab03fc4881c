//! Decodes approvals. Malformed logs are ignored.

use alloy_primitives::{Address, U256};
use domain::{ApprovalEvent, ApprovalScope, Log};

use super::events::{APPROVAL, APPROVAL_FOR_ALL};
use crate::abi::{Word, address, number, words};

/// BEP20 and BEP721 have the same event; only BEP721 indexes its last field.
pub(super) fn approval(log: &Log) -> Option<ApprovalEvent> {
    let (owner, spender, scope, value) = match log.topics.as_slice() {
        [APPROVAL, owner, spender] => {
            let [amount] = words(&log.data)?;
            (owner, address(spender)?, ApprovalScope::Amount, number(&amount))
        }
        [APPROVAL, owner, approved, id] => {
            let [] = words(&log.data)?;
            let approved = address(approved)?;
            let is_given = approved != Address::ZERO;
            (owner, approved, ApprovalScope::Id(number(id)), U256::from(u8::from(is_given)))
        }
        [APPROVAL_FOR_ALL, owner, operator] => {
            let [is_given]: [Word; 1] = words(&log.data)?;
            let is_given = number(&is_given);
            (owner, address(operator)?, ApprovalScope::All, Some(is_given).filter(|flag| *flag <= U256::ONE)?)
        }
        _ => return None,
    };
    let owner = address(owner).filter(|owner| *owner != Address::ZERO)?;
    let Log { tx_index, log_index, address: token, .. } = *log;
    Some(ApprovalEvent { tx_index, log_index, token, owner, spender, scope, value })
}

#[cfg(test)]
mod tests {
    use domain::B256;

    use super::*;
    use crate::decode::samples::{ROUTER, SENDER, TOKEN, address_topic, log, uint};

    fn decoded(topics: &[B256], data: &[u8]) -> Option<(ApprovalScope, U256)> {
        let event = approval(&log(TOKEN, topics.iter().copied(), data.iter().copied()))?;
        assert_eq!((event.token, event.owner), (TOKEN, SENDER));
        Some((event.scope, event.value))
    }

    #[test]
    fn the_number_of_topics_tells_an_amount_from_an_id() {
        let (owner, spender, id) = (address_topic(SENDER), address_topic(ROUTER), B256::from(uint(7)));
        assert_eq!(decoded(&[APPROVAL, owner, spender], &uint(5)), Some((ApprovalScope::Amount, U256::from(5))));
        let of_id = ApprovalScope::Id(U256::from(7));
        assert_eq!(decoded(&[APPROVAL, owner, spender, id], &[]), Some((of_id, U256::ONE)));
        assert_eq!(decoded(&[APPROVAL, owner, B256::ZERO, id], &[]), Some((of_id, U256::ZERO)), "revoked");
    }

    #[test]
    fn an_operator_is_approved_for_all_ids_or_revoked() {
        let topics = [APPROVAL_FOR_ALL, address_topic(SENDER), address_topic(ROUTER)];
        assert_eq!(decoded(&topics, &uint(1)), Some((ApprovalScope::All, U256::ONE)));
        assert_eq!(decoded(&topics, &uint(0)), Some((ApprovalScope::All, U256::ZERO)));
        assert_eq!(decoded(&topics, &uint(2)), None, "not a truth value");
    }

    #[test]
    fn a_malformed_log_is_no_approval() {
        let (owner, spender) = (address_topic(SENDER), address_topic(ROUTER));
        let dirty = B256::repeat_byte(1);
        for (topics, data) in [
            (vec![APPROVAL], vec![0; 96]),
            (vec![APPROVAL, owner], vec![0; 64]),
            (vec![APPROVAL, owner, spender], vec![0; 31]),
            (vec![APPROVAL, owner, spender], vec![]),
            (vec![APPROVAL, owner, dirty], vec![0; 32]),
            (vec![APPROVAL, dirty, spender], vec![0; 32]),
            (vec![APPROVAL, owner, spender, dirty], vec![0; 32]),
            (vec![APPROVAL, B256::ZERO, spender], vec![0; 32]),
            (vec![APPROVAL_FOR_ALL, owner], vec![0; 32]),
            (vec![dirty, owner, spender], vec![0; 32]),
        ] {
            assert_eq!(approval(&log(TOKEN, topics, data)), None);
        }
    }
}
