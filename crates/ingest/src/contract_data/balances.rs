//! Balances read from the contract, to audit or replace those derived from events.

use domain::{Address, AuditResult, AuditSample, Balance, BalanceKey, Selector, U256};
use node::{CallResult, ContractCall};

use super::metadata::read_number;
use crate::abi::{address_word, call_data};

/// `balanceOf(address)`
const BALANCE_OF: Selector = [0x70, 0xa0, 0x82, 0x31];

pub(crate) fn balance_call(token: Address, holder: Address) -> ContractCall {
    ContractCall { to: token, data: call_data(BALANCE_OF, &[address_word(holder)]) }
}

/// One call per holder of a sample.
pub(super) fn audit_calls(sample: &AuditSample) -> impl Iterator<Item = ContractCall> + '_ {
    sample.holders.iter().map(|holder| balance_call(sample.token, holder.address))
}

/// Whether a contract's balances match its events. Failed calls are ignored.
pub(super) fn audit(sample: &AuditSample, results: &[CallResult]) -> AuditResult {
    let contradicts =
        sample.holders.iter().zip(results).any(|(holder, result)| {
            read_number(result).is_some_and(|balance| Balance::from(balance) != holder.balance)
        });
    if contradicts { AuditResult::DoesNotAddUp } else { AuditResult::AddsUp }
}

/// A failed call counts as zero.
pub(super) fn read_balance(key: BalanceKey, result: &CallResult) -> (BalanceKey, U256) {
    (key, read_number(result).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use domain::Holder;

    use super::*;
    use crate::decode::samples::{TOKEN, uint};

    fn sample(balances: &[u64]) -> AuditSample {
        let holders = balances.iter().map(|balance| Holder { address: TOKEN, balance: Balance::from(*balance) });
        AuditSample { token: TOKEN, holders: holders.collect() }
    }

    fn returned(number: u64) -> CallResult {
        CallResult::Returned(uint(number).to_vec().into())
    }

    #[test]
    fn one_different_balance_fails_the_audit() {
        assert_eq!(audit(&sample(&[5, 7]), &[returned(5), returned(7)]), AuditResult::AddsUp);
        assert_eq!(audit(&sample(&[5, 7]), &[returned(5), returned(6)]), AuditResult::DoesNotAddUp);
    }

    #[test]
    fn failed_calls_do_not_fail_the_audit() {
        assert_eq!(audit(&sample(&[5]), &[CallResult::Reverted]), AuditResult::AddsUp);
        assert_eq!(audit(&sample(&[5]), &[CallResult::Returned(Default::default())]), AuditResult::AddsUp);
    }

    #[test]
    fn a_balance_beyond_256_bits_fails_the_audit() {
        let wide = AuditSample {
            token: TOKEN,
            holders: vec![Holder { address: TOKEN, balance: Balance::from(U256::MAX) + Balance::from(1) }],
        };
        assert_eq!(audit(&wide, &[returned(0)]), AuditResult::DoesNotAddUp);
    }
}
