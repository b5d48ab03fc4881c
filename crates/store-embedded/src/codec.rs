//! The encoding of numbers and fields in a row: small numbers take few bytes.

use alloy_primitives::{Address, B256, Uint};
use store::{StoreError, log_data};

/// Appends fields to a row.
#[derive(Debug, Default)]
pub(crate) struct RowWriter(Vec<u8>);

impl RowWriter {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// LEB128: seven bits per byte, the lowest first; the high bit says that more follow.
    pub(crate) fn varint(&mut self, number: impl Into<u128>) {
        write_varint(&mut self.0, number.into());
    }

    /// A length, then the bytes without leading zeros.
    pub(crate) fn amount<const BITS: usize, const LIMBS: usize>(&mut self, amount: &Uint<BITS, LIMBS>) {
        let bytes = amount.to_be_bytes_trimmed_vec();
        // At most 40, of 320 bits.
        self.0.push(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
        self.0.extend_from_slice(&bytes);
    }

    /// A length, then the bytes of the text.
    pub(crate) fn text(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// Data without the zeros that its words begin with.
    pub(crate) fn words(&mut self, data: &[u8]) {
        log_data::pack(data, &mut self.0);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only the low seven bits are used")]
pub(crate) fn write_varint(out: &mut Vec<u8>, mut wide: u128) {
    while wide > u128::from(u64::MAX) {
        out.push(wide as u8 | 0x80);
        wide >>= 7;
    }
    // Half the instructions for the rest, which nearly always is the whole number.
    let mut number = wide as u64;
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads the fields of a row in the order in which they were written.
#[derive(Debug, Clone)]
pub(crate) struct RowReader<'a>(&'a [u8]);

impl<'a> RowReader<'a> {
    pub(crate) fn new(row: &'a [u8]) -> Self {
        Self(row)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn byte(&mut self) -> Result<u8, StoreError> {
        let (&byte, rest) = self.0.split_first().ok_or(SHORT)?;
        self.0 = rest;
        Ok(byte)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], StoreError> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        self.bytes(N)?.try_into().map_err(|_| SHORT)
    }

    pub(crate) fn hash(&mut self) -> Result<B256, StoreError> {
        self.array().map(B256::new)
    }

    pub(crate) fn address(&mut self) -> Result<Address, StoreError> {
        self.array().map(Address::new)
    }

    pub(crate) fn wide_varint(&mut self) -> Result<u128, StoreError> {
        let mut number = 0;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            // The last byte has room for two bits only.
            if shift == 126 && byte & 0x7f > 3 {
                return Err(TOO_LARGE);
            }
            number |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(StoreError::Corrupt("a varint without an end"))
    }

    #[inline]
    pub(crate) fn varint<T: TryFrom<u64> + TryFrom<u128>>(&mut self) -> Result<T, StoreError> {
        // Nearly every number of a row fits in one or two bytes.
        let (number, rest) = match *self.0 {
            [low, ref rest @ ..] if low < 0x80 => (u64::from(low), rest),
            [low, high, ref rest @ ..] if high < 0x80 => (u64::from(low & 0x7f) | u64::from(high) << 7, rest),
            _ => return self.long_varint(),
        };
        self.0 = rest;
        T::try_from(number).map_err(|_| TOO_LARGE)
    }

    /// One of three bytes or more.
    fn long_varint<T: TryFrom<u64> + TryFrom<u128>>(&mut self) -> Result<T, StoreError> {
        let (mut number, mut shift) = (0, 0);
        // Nine bytes have 63 bits.
        for (position, byte) in self.0.iter().take(9).enumerate() {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if *byte < 0x80 {
                self.0 = self.0.get(position + 1..).unwrap_or_default();
                return T::try_from(number).map_err(|_| TOO_LARGE);
            }
        }
        T::try_from(self.wide_varint()?).map_err(|_| TOO_LARGE)
    }

    /// Eight one-byte varints, if the next eight are; speeds up long runs of small numbers.
    #[inline]
    pub(crate) fn eight_short_varints(&mut self) -> Option<[u8; 8]> {
        let (eight, rest) = self.0.split_first_chunk::<8>()?;
        let short = u64::from_ne_bytes(*eight) & 0x8080_8080_8080_8080 == 0;
        short.then(|| {
            self.0 = rest;
            *eight
        })
    }

    /// A byte that is 0 or 1.
    pub(crate) fn flag(&mut self) -> Result<bool, StoreError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(StoreError::Corrupt("a flag that is neither set nor unset")),
        }
    }

    pub(crate) fn amount<const BITS: usize, const LIMBS: usize>(&mut self) -> Result<Uint<BITS, LIMBS>, StoreError> {
        let length = usize::from(self.byte()?);
        Uint::try_from_be_slice(self.bytes(length)?).ok_or(TOO_LARGE)
    }
}

impl RowReader<'_> {
    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        let length = self.varint()?;
        String::from_utf8(self.bytes(length)?.to_vec()).map_err(|_| StoreError::Corrupt("a text that is not UTF-8"))
    }
}

const SHORT: StoreError = StoreError::Corrupt("a row that ends too early");
const TOO_LARGE: StoreError = StoreError::Corrupt("a number too large for its field");

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_of_more_than_128_bits_is_corrupt() {
        let mut row = [0x80; 19];
        for (last, expected) in [(3, Some(3 << 126)), (4, None), (0x7f, None)] {
            row[18] = last;
            assert_eq!(RowReader::new(&row).wide_varint().ok(), expected, "{last}");
        }
    }

    proptest! {
        #[test]
        fn numbers_survive_a_round_trip(number: u128, other: u64, amount: [u8; 32]) {
            let amount = U256::from_be_bytes(amount);
            let mut row = RowWriter::default();
            row.varint(number);
            row.amount(&amount);
            row.varint(other);
            let row = row.finish();
            let mut reader = RowReader::new(&row);
            prop_assert_eq!(reader.wide_varint().unwrap(), number);
            prop_assert_eq!(reader.amount::<256, 4>().unwrap(), amount);
            prop_assert_eq!(reader.varint::<u64>().unwrap(), other);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let mut reader = RowReader::new(&bytes);
            let _ = reader.wide_varint();
            let _ = reader.amount::<256, 4>();
            let _ = reader.varint::<u32>();
            let _ = reader.hash();
        }
    }
}
