//! Whether rows are of the form of their tables, for a check of the store.

use domain::{Address, B256, JobId, MatchKind};
use store::StoreError;

use super::{
    jobs,
    records::contract_in,
    row::{self, CodeRow},
};

pub(crate) fn code(row: &[u8]) -> Result<(), StoreError> {
    CodeRow::from_row(row).map(drop)
}

pub(crate) fn code_detail(row: &[u8]) -> Result<(), StoreError> {
    // What the summary says does not matter here.
    let summary = CodeRow {
        origin: Address::ZERO,
        names_own_address: false,
        runtime_match: MatchKind::Partial,
        verified_at: 0,
        build: B256::ZERO,
        name: String::new(),
        compiler: String::new(),
        license: None,
    };
    row::read_detail(B256::ZERO, summary, row).map(drop)
}

/// An address and the hash of code.
pub(crate) fn contract(row: &[u8]) -> Result<(), StoreError> {
    contract_in(row).map(drop)
}

pub(crate) fn deployment(row: &[u8]) -> Result<(), StoreError> {
    row::read_deployment(row).map(drop)
}

pub(crate) fn job(row: &[u8]) -> Result<(), StoreError> {
    jobs::read(JobId::from_bytes([0; 16]), row).map(drop)
}

pub(crate) fn numbered_job(row: &[u8]) -> Result<(), StoreError> {
    jobs::read_numbered(row).map(drop)
}
