use domain::B256;

use super::row;
use crate::fuzzing::round_trip::reads_what_it_writes;

/// The length of the summary in two bytes, the summary of verified code, then its detail.
pub(crate) fn code(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let Some((summary, detail)) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))) else { return };
    let read_summary = |summary: &[u8]| row::CodeRow::from_row(summary).map(|summary| summary.to_row());
    reads_what_it_writes(summary, read_summary, Vec::clone);
    if row::CodeRow::from_row(summary).is_err() {
        return;
    }
    let read_detail = |detail: &[u8]| row::read_detail(B256::ZERO, row::CodeRow::from_row(summary)?, detail);
    reads_what_it_writes(detail, read_detail, row::write_detail);
}

pub(crate) fn deployment(row: &[u8]) {
    reads_what_it_writes(row, row::read_deployment, row::write_deployment);
}
