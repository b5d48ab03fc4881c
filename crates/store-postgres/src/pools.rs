//! The numbers of pool styles in the database.

use domain::PoolStyle;
use store::StoreError;

pub(crate) fn style_number(style: PoolStyle) -> i16 {
    match style {
        PoolStyle::V2 => 2,
        PoolStyle::V3 => 3,
    }
}

pub(crate) fn style_from(number: i16) -> Result<PoolStyle, StoreError> {
    match number {
        2 => Ok(PoolStyle::V2),
        3 => Ok(PoolStyle::V3),
        _ => Err(StoreError::Corrupt("a pool of an unknown style")),
    }
}
