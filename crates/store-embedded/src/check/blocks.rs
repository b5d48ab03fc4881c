//! Blocks follow each other, and so do their totals.

use super::{Check, Faults, scan};
use crate::{
    keys::{Table, number_in_key},
    meta::Tip,
    rows::BlockRow,
};

pub(super) fn check(check: &mut Check<'_>, tip: &Tip) {
    let (mut faults, mut last) = (Faults::default(), None::<(u64, BlockRow)>);
    scan(check.view, Table::Block, |key, row| {
        let (Ok(number), Ok(row)) = (number_in_key(key, 0), BlockRow::from_row(row)) else { return };
        if let Some((before, parent)) = &last {
            if number != before + 1 {
                faults.add(Some(before + 1..=number - 1), || "blocks are missing".to_owned());
            } else if parent.hash != row.parent_hash {
                faults.add(Some(number..=number), || "the block is not a child of the one before".to_owned());
            } else if !parent.leads_to(&row.totals) {
                faults.add(Some(*before..=number), || "the totals do not match the block before".to_owned());
            }
        }
        last = Some((number, row));
    });
    if let Some((number, row)) = last
        && ((number, row.hash) != (tip.block.number, tip.block.hash) || !row.leads_to(&tip.totals))
    {
        faults.add(Some(number..=number), || "the newest block is not the tip of the index".to_owned());
    }
    check.add_all(Table::Block, faults);
}
