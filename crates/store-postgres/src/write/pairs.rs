use crate::{lists::AddressId, rows::int8};

/// A token and one of its holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) token: AddressId,
    pub(super) holder: AddressId,
}

/// Pairs as two arrays.
pub(super) fn split<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> (Vec<i64>, Vec<i64>) {
    pairs.into_iter().map(|pair| (int8(pair.token), int8(pair.holder))).unzip()
}
