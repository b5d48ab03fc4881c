use alloy_primitives::{Address, U256};

/// What a transaction pays beside its gas, and in which currency. Most transactions pay nothing else, in the chain's coin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charges {
    /// For its blobs (EIP-4844).
    pub blob: U256,
    /// For publishing its data on the chain below a rollup.
    pub l1: U256,
    /// For the operator of a rollup.
    pub operator: U256,
    pub payment: Payment,
}

/// In what a transaction pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Payment {
    #[default]
    Coin,
    /// A token, in whose unit its gas price is (Celo).
    Token(Address),
    /// A deposit, or a transaction of the chain itself: it used gas that nobody paid for.
    Nothing,
}

/// What a transaction paid, in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fee {
    /// The token in which it was paid; None for the chain's coin.
    pub currency: Option<Address>,
    /// For gas, at the base fee of the block. Zero in a block without one.
    pub base: U256,
    /// For gas, above the base fee: what the producer of the block earns.
    pub priority: U256,
    pub blob: U256,
    pub l1: U256,
    pub operator: U256,
}

impl Charges {
    /// None if the transaction pays for its gas alone.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl Fee {
    /// Every sum of fees is made of this. The base fee is that of the block; it divides the fee, and does not change its total.
    #[must_use]
    pub fn for_gas(gas_used: u64, gas_price: u128, charges: Option<&Charges>, base_fee: Option<u128>) -> Self {
        let Charges { blob, l1, operator, payment } = charges.copied().unwrap_or_default();
        let currency = match payment {
            Payment::Coin => None,
            Payment::Token(token) => Some(token),
            Payment::Nothing => return Self::default(),
        };
        // Who pays less than the base fee does not pay it.
        let base_price = base_fee.unwrap_or_default().min(gas_price);
        let gas = U256::from(gas_used);
        Self {
            currency,
            base: U256::from(base_price) * gas,
            priority: U256::from(gas_price - base_price) * gas,
            blob,
            l1,
            operator,
        }
    }

    /// In the unit of its currency.
    #[must_use]
    pub fn total(&self) -> U256 {
        [self.base, self.priority, self.blob, self.l1, self.operator].into_iter().fold(U256::ZERO, U256::saturating_add)
    }

    /// In the chain's coin, in wei: zero if it was paid in a token.
    #[must_use]
    pub fn in_coin(&self) -> U256 {
        if self.currency.is_some() { U256::ZERO } else { self.total() }
    }

    /// What EIP-1559 and EIP-4844 burn of it, in wei of the chain's coin.
    #[must_use]
    pub fn burnt(&self) -> U256 {
        if self.currency.is_some() { U256::ZERO } else { self.base.saturating_add(self.blob) }
    }

    /// What the producer of the block earns of it, in wei of the chain's coin.
    #[must_use]
    pub fn tip(&self) -> U256 {
        if self.currency.is_some() { U256::ZERO } else { self.priority }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transaction;

    fn transaction(charges: Charges) -> Transaction {
        Transaction { gas_used: 21_000, gas_price: 10, charges: charges.boxed(), ..Transaction::sample() }
    }

    fn wei(amount: U256) -> u64 {
        amount.try_into().unwrap()
    }

    #[test]
    fn a_fee_is_the_sum_of_its_parts() {
        let charges =
            Charges { blob: U256::from(5), l1: U256::from(7), operator: U256::from(11), ..Charges::default() };
        let fee = Fee::of(&transaction(charges), Some(8));
        assert_eq!((wei(fee.base), wei(fee.priority)), (168_000, 42_000));
        assert_eq!([fee.total(), fee.in_coin(), fee.burnt(), fee.tip()].map(wei), [210_023, 210_023, 168_005, 42_000]);
        assert_eq!(Fee::of(&transaction(charges), None).total(), fee.total(), "the base fee only divides it");
    }

    #[test]
    fn no_more_is_burnt_than_was_paid() {
        let fee = Fee::of(&transaction(Charges::default()), Some(1_000));
        assert_eq!([fee.burnt(), fee.total(), fee.tip()].map(wei), [210_000, 210_000, 0]);
        let free = Transaction { gas_price: 0, ..transaction(Charges::default()) };
        assert_eq!(Fee::of(&free, Some(1_000)), Fee::default());
    }

    #[test]
    fn a_deposit_pays_and_burns_nothing() {
        let deposit = transaction(Charges { l1: U256::from(7), payment: Payment::Nothing, ..Charges::default() });
        assert_eq!(Fee::of(&deposit, Some(8)), Fee::default());
        assert!(!deposit.is_priced());
    }

    #[test]
    fn a_fee_in_a_token_is_no_amount_of_the_coin() {
        let token = Address::repeat_byte(7);
        let paid = transaction(Charges { payment: Payment::Token(token), ..Charges::default() });
        let fee = Fee::of(&paid, Some(8));
        assert_eq!((fee.currency, wei(fee.total())), (Some(token), 210_000));
        assert_eq!([fee.in_coin(), fee.burnt(), fee.tip(), paid.fee()].map(wei), [0; 4]);
        assert!(!paid.is_priced());
    }
}
