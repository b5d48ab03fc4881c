//! Amounts in the binary format of NUMERIC: digits in base 10,000, the most significant first. By hand: what ruint has for it also
//! writes text, floats and bytes where a column has another type, and rejects integers that the server computed with a scale.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use domain::{Balance, U256};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

const BASE: u64 = 10_000;
const POSITIVE: u16 = 0;

/// An integer from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) struct Numeric(pub(crate) Balance);

impl From<U256> for Numeric {
    fn from(amount: U256) -> Self {
        Self(Balance::from(amount))
    }
}

impl From<u128> for Numeric {
    fn from(amount: u128) -> Self {
        Self(Balance::from(amount))
    }
}

impl From<u64> for Numeric {
    fn from(amount: u64) -> Self {
        Self(Balance::from(amount))
    }
}

impl ToSql for Numeric {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let mut digits: Vec<u16> = self.0.to_base_be(BASE).map(u16::try_from).collect::<Result<_, _>>()?;
        // The first digit has the weight 10,000 to the power of the number of digits after it.
        let weight = i16::try_from(digits.len().saturating_sub(1))?;
        while digits.last() == Some(&0) {
            digits.pop();
        }
        out.put_u16(u16::try_from(digits.len())?);
        out.put_i16(if digits.is_empty() { 0 } else { weight });
        out.put_u16(POSITIVE);
        out.put_u16(0);
        digits.into_iter().for_each(|digit| out.put_u16(digit));
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

#[derive(Debug, thiserror::Error)]
#[error("expected an integer from 0 on, below 2^320")]
struct NotAnAmount;

impl<'a> FromSql<'a> for Numeric {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let (numbers, _) = raw.as_chunks::<2>();
        let mut numbers = numbers.iter().map(|bytes| u16::from_be_bytes(*bytes));
        let mut next = || numbers.next().ok_or(NotAnAmount);
        let (count, weight, sign, _scale) = (next()?, next()?, next()?, next()?);
        if sign != POSITIVE {
            return Err(NotAnAmount.into());
        }
        let weight = i16::from_be_bytes(weight.to_be_bytes());
        let length = usize::try_from(i32::from(weight) + 1).unwrap_or_default();
        let digits: Vec<u64> = numbers.map(u64::from).collect();
        if digits.len() != usize::from(count) || digits.iter().skip(length).any(|digit| *digit != 0) {
            return Err(NotAnAmount.into());
        }
        // Zeros at the end are not sent.
        let digits = digits.into_iter().chain(std::iter::repeat(0)).take(if count == 0 { 0 } else { length });
        Ok(Self(Balance::from_base_be(BASE, digits).map_err(|_| NotAnAmount)?))
    }

    accepts!(NUMERIC);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(amount: Balance) -> Balance {
        let mut bytes = BytesMut::new();
        Numeric(amount).to_sql(&Type::NUMERIC, &mut bytes).unwrap();
        Numeric::from_sql(&Type::NUMERIC, &bytes).unwrap().0
    }

    #[test]
    fn amounts_survive_a_round_trip() {
        for shift in 0..320 {
            let amount = Balance::from(1) << shift;
            for amount in [amount, amount - Balance::from(1), Balance::MAX >> shift] {
                assert_eq!(round_trip(amount), amount);
            }
        }
        let mut power = Balance::from(1);
        for _ in 0..90 {
            assert_eq!(round_trip(power), power);
            power *= Balance::from(10);
        }
    }

    #[test]
    fn other_numbers_are_rejected() {
        // -1, 0.5, NaN.
        for bytes in [[0, 1, 0, 0, 0x40, 0, 0, 0, 0, 1], [0, 1, 0xff, 0xff, 0, 0, 0, 1, 0x13, 0x88]] {
            assert!(Numeric::from_sql(&Type::NUMERIC, &bytes).is_err());
        }
        assert!(Numeric::from_sql(&Type::NUMERIC, &[0, 0, 0, 0, 0xc0, 0, 0, 0]).is_err());
        assert!(Numeric::from_sql(&Type::NUMERIC, &[0, 1]).is_err());
    }
}
