//! The numbers of kinds in rows, the same in every store.

use domain::{
    AuditResult, FailureSource, InternalKind, JobFailure, JobRefusal, MatchKind, PoolStyle, TokenKind, TradeDirection,
};

use crate::StoreError;

/// A kind with a number in rows.
pub trait RowNumber: Sized {
    fn to_number(self) -> u8;

    /// # Errors
    /// [`StoreError::Corrupt`] if no kind has this number.
    fn from_number(number: impl Into<i64>) -> Result<Self, StoreError>;
}

/// A number never changes, and that of a kind that is gone is not given to another one.
macro_rules! row_numbers {
    ($($kind:ident { $($variant:ident = $number:literal),+ } or $unknown:literal;)+) => {
        $(impl RowNumber for $kind {
            fn to_number(self) -> u8 {
                match self {
                    $(Self::$variant => $number),+
                }
            }

            fn from_number(number: impl Into<i64>) -> Result<Self, StoreError> {
                match number.into() {
                    $($number => Ok(Self::$variant),)+
                    _ => Err(StoreError::Corrupt($unknown)),
                }
            }
        })+
    };
}

row_numbers! {
    AuditResult { AddsUp = 0, DoesNotAddUp = 1 } or "an audit with an unknown result";
    FailureSource { Trace = 0, ParentBlock = 1 } or "a failure from an unknown source";
    InternalKind {
        Call = 0, Create = 1, Create2 = 2, SelfDestruct = 3, Transfer = 4, Burn = 5
    } or "an internal transaction of an unknown kind";
    JobFailure {
        NoCode = 0, CompilerVersion = 1, CompilerUnavailable = 2, NodeUnavailable = 3, StoreUnavailable = 4, Internal = 5
    } or "a verification job with an unknown failure";
    JobRefusal { Compilation = 0, NoMatch = 1 } or "a verification job with an unknown refusal";
    MatchKind { Partial = 1, Exact = 2 } or "a match of an unknown kind";
    PoolStyle { V2 = 2, V3 = 3 } or "a pool of an unknown style";
    TokenKind { Bep20 = 0, Bep721 = 1, Bep1155 = 2 } or "a token of an unknown kind";
    TradeDirection { ZeroForOne = 0, OneForZero = 1 } or "a trade in an unknown direction";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_the_kind_that_it_was_written_for() {
        for kind in InternalKind::ALL {
            assert_eq!(InternalKind::from_number(kind.to_number()).unwrap(), kind);
        }
        for number in [-1_i16, 6, 256] {
            assert!(matches!(InternalKind::from_number(number), Err(StoreError::Corrupt(_))), "{number}");
        }
    }
}
