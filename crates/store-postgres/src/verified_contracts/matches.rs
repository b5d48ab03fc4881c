//! The numbers of kinds of matches in the database.

use domain::MatchKind;
use store::StoreError;

pub(super) fn match_number(kind: MatchKind) -> i16 {
    match kind {
        MatchKind::Partial => 1,
        MatchKind::Exact => 2,
    }
}

pub(super) fn match_from(number: i16) -> Result<MatchKind, StoreError> {
    match number {
        1 => Ok(MatchKind::Partial),
        2 => Ok(MatchKind::Exact),
        _ => Err(StoreError::Corrupt("a match of an unknown kind")),
    }
}
