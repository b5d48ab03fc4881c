use domain::BlockNumber;
use store::StoreError;

use crate::{
    engine::View,
    keys::{Key, Table},
    rows::BlockRow,
};

pub(super) const MISSING_BLOCK: StoreError = StoreError::Corrupt("a block is missing below the tip");

pub(super) fn find_block(view: &View, number: BlockNumber) -> Result<Option<BlockRow>, StoreError> {
    view.get(Table::Block, &Key::block(number))?.map(|row| BlockRow::from_row(&row)).transpose()
}
