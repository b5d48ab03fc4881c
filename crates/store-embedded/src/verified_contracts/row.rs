use domain::{Address, Bytes, MatchKind, SourceFile, VerifiedContract, VerifiedSummary};
use store::StoreError;

use crate::codec::{RowReader, RowWriter};

/// What lists tell of a verified contract, and its place in them.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) number: u64,
    pub(super) summary: VerifiedSummary,
}

pub(super) fn write_summary(number: u64, summary: &VerifiedSummary) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(160);
    row.varint(number);
    row.bytes(summary.code_hash.as_slice());
    row.byte(match_byte(summary.runtime_match));
    row.byte(match_byte(summary.creation_match));
    row.varint(summary.verified_at);
    row.text(&summary.name);
    row.text(&summary.compiler);
    optional(&mut row, summary.license.as_deref().map(str::as_bytes));
    row.finish()
}

pub(super) fn read_summary(address: Address, row: &[u8]) -> Result<Numbered, StoreError> {
    let mut row = RowReader::new(row);
    Ok(Numbered {
        number: row.varint()?,
        summary: VerifiedSummary {
            address,
            code_hash: row.hash()?,
            runtime_match: read_match(row.byte()?)?,
            creation_match: read_match(row.byte()?)?,
            verified_at: row.varint()?,
            name: row.text()?,
            compiler: row.text()?,
            license: match read_optional(&mut row)? {
                Some(text) => {
                    Some(String::from_utf8(text).map_err(|_| StoreError::Corrupt("a license that is no text"))?)
                }
                None => None,
            },
        },
    })
}

pub(super) fn write_detail(contract: &VerifiedContract) -> Vec<u8> {
    let bytes: usize = contract.sources.iter().map(|source| source.path.len() + source.content.len() + 8).sum();
    let mut row = RowWriter::with_capacity(bytes + contract.abi.len() + contract.settings.len() + 256);
    row.text(&contract.file);
    row.text(&contract.abi);
    row.text(&contract.settings);
    row.varint(contract.sources.len() as u64);
    for source in &contract.sources {
        row.text(&source.path);
        row.text(&source.content);
    }
    row.varint(contract.libraries.len() as u64);
    for (library, address) in &contract.libraries {
        row.text(library);
        row.bytes(address.as_slice());
    }
    optional(&mut row, contract.constructor_arguments.as_ref().map(AsRef::as_ref));
    row.finish()
}

pub(super) fn read_detail(summary: VerifiedSummary, row: &[u8]) -> Result<VerifiedContract, StoreError> {
    let mut row = RowReader::new(row);
    let (file, abi, settings) = (row.text()?, row.text()?, row.text()?);
    let count: usize = row.varint()?;
    let sources = (0..count).map(|_| Ok(SourceFile { path: row.text()?, content: row.text()? }));
    let sources = sources.collect::<Result<_, StoreError>>()?;
    let count: usize = row.varint()?;
    let libraries = (0..count).map(|_| Ok((row.text()?, row.address()?))).collect::<Result<_, StoreError>>()?;
    let constructor_arguments = read_optional(&mut row)?.map(Bytes::from);
    Ok(VerifiedContract { summary, file, abi, settings, sources, libraries, constructor_arguments })
}

fn match_byte(kind: Option<MatchKind>) -> u8 {
    match kind {
        None => 0,
        Some(MatchKind::Partial) => 1,
        Some(MatchKind::Exact) => 2,
    }
}

fn read_match(byte: u8) -> Result<Option<MatchKind>, StoreError> {
    match byte {
        0 => Ok(None),
        1 => Ok(Some(MatchKind::Partial)),
        2 => Ok(Some(MatchKind::Exact)),
        _ => Err(StoreError::Corrupt("a match of an unknown kind")),
    }
}

/// Whether there is something, then its length, then the bytes.
fn optional(row: &mut RowWriter, bytes: Option<&[u8]>) {
    row.byte(u8::from(bytes.is_some()));
    if let Some(bytes) = bytes {
        row.varint(bytes.len() as u64);
        row.bytes(bytes);
    }
}

fn read_optional(row: &mut RowReader<'_>) -> Result<Option<Vec<u8>>, StoreError> {
    if row.byte()? == 0 {
        return Ok(None);
    }
    let length = row.varint()?;
    Ok(Some(row.bytes(length)?.to_vec()))
}
