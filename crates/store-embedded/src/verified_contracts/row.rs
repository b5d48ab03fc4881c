use domain::{
    Address, Artifacts, B256, Bytes, CreationId, CreationProof, CreationTemplate, Deployment, LibraryOffset, MatchKind,
    SourceFile, VerifiedCode,
};
use store::{RowNumber, StoreError};

use crate::codec::{RowReader, RowWriter};

/// The summary of verified code.
#[derive(Debug)]
pub(super) struct CodeRow {
    /// Where it was verified.
    pub(super) origin: Address,
    pub(super) names_own_address: bool,
    pub(super) runtime_match: MatchKind,
    pub(super) verified_at: u64,
    pub(super) build: B256,
    pub(super) name: String,
    pub(super) compiler: String,
    pub(super) license: Option<String>,
}

impl CodeRow {
    pub(super) fn of(origin: Address, code: &VerifiedCode) -> Self {
        Self {
            origin,
            names_own_address: code.names_own_address,
            runtime_match: code.runtime_match,
            verified_at: code.verified_at,
            build: code.build(),
            name: code.name.clone(),
            compiler: code.compiler.clone(),
            license: code.license.clone(),
        }
    }

    pub(super) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(192);
        row.bytes(self.origin.as_slice());
        row.byte(u8::from(self.names_own_address));
        row.byte(self.runtime_match.to_number());
        row.varint(self.verified_at);
        row.bytes(self.build.as_slice());
        row.text(&self.name);
        row.text(&self.compiler);
        optional_text(&mut row, self.license.as_deref());
        row.finish()
    }

    pub(super) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self {
            origin: row.address()?,
            names_own_address: row.flag()?,
            runtime_match: MatchKind::from_number(row.byte()?)?,
            verified_at: row.varint()?,
            build: row.hash()?,
            name: row.text()?,
            compiler: row.text()?,
            license: read_optional_text(&mut row)?,
        })
    }
}

pub(super) fn write_detail(code: &VerifiedCode) -> Vec<u8> {
    let bytes: usize = code.sources.iter().map(|source| source.path.len() + source.content.len() + 8).sum();
    let artifacts = &code.artifacts;
    let mut row =
        RowWriter::with_capacity(bytes + code.abi.len() + artifacts.metadata.len() + code.creation.code.len());
    row.text(&code.file);
    row.text(&code.abi);
    row.text(&code.settings);
    row.varint(code.sources.len() as u64);
    for source in &code.sources {
        row.text(&source.path);
        row.text(&source.content);
    }
    write_libraries(&mut row, &code.libraries);
    row.text(&artifacts.metadata);
    row.text(&artifacts.input_settings);
    for part in [&artifacts.storage_layout, &artifacts.userdoc, &artifacts.devdoc] {
        optional_text(&mut row, part.as_deref());
    }
    write_template(&mut row, &code.creation);
    row.finish()
}

pub(super) fn read_detail(code_hash: B256, summary: CodeRow, row: &[u8]) -> Result<VerifiedCode, StoreError> {
    let mut row = RowReader::new(row);
    let (file, abi, settings) = (row.text()?, row.text()?, row.text()?);
    let count: usize = row.varint()?;
    let sources = (0..count).map(|_| Ok(SourceFile { path: row.text()?, content: row.text()? }));
    let sources = sources.collect::<Result<_, StoreError>>()?;
    let libraries = read_libraries(&mut row)?;
    let artifacts = Artifacts {
        metadata: row.text()?,
        input_settings: row.text()?,
        storage_layout: read_optional_text(&mut row)?,
        userdoc: read_optional_text(&mut row)?,
        devdoc: read_optional_text(&mut row)?,
    };
    Ok(VerifiedCode {
        code_hash,
        name: summary.name,
        compiler: summary.compiler,
        runtime_match: summary.runtime_match,
        license: summary.license,
        verified_at: summary.verified_at,
        names_own_address: summary.names_own_address,
        file,
        abi,
        settings,
        sources,
        libraries,
        artifacts,
        creation: read_template(&mut row)?,
    })
}

fn write_template(row: &mut RowWriter, template: &CreationTemplate) {
    write_bytes(row, &template.code);
    row.varint(template.links.len() as u64);
    for link in &template.links {
        row.text(&link.library);
        row.varint(link.start as u64);
    }
    row.varint(template.metadata.len() as u64);
    for region in &template.metadata {
        row.varint(region.start as u64);
        row.varint(region.end as u64);
    }
    row.byte(u8::from(template.proves_sources));
}

fn read_template(row: &mut RowReader<'_>) -> Result<CreationTemplate, StoreError> {
    let code = read_bytes(row)?;
    let count: usize = row.varint()?;
    let links = (0..count).map(|_| Ok(LibraryOffset { library: row.text()?, start: row.varint()? }));
    let links = links.collect::<Result<_, StoreError>>()?;
    let count: usize = row.varint()?;
    let metadata = (0..count).map(|_| Ok(row.varint()?..row.varint()?)).collect::<Result<_, StoreError>>()?;
    Ok(CreationTemplate { code, links, metadata, proves_sources: row.flag()? })
}

pub(super) fn write_deployment(deployment: &Deployment) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(128);
    row.bytes(deployment.creation.tx_hash.as_slice());
    row.bytes(deployment.creation.block_hash.as_slice());
    row.bytes(deployment.build.as_slice());
    if let Some(proof) = &deployment.proof {
        row.byte(proof.kind.to_number());
        write_bytes(&mut row, &proof.arguments);
        write_libraries(&mut row, &proof.libraries);
    }
    row.finish()
}

pub(super) fn read_deployment(row: &[u8]) -> Result<Deployment, StoreError> {
    let mut row = RowReader::new(row);
    let creation = CreationId { tx_hash: row.hash()?, block_hash: row.hash()? };
    let build = row.hash()?;
    let proof = if row.is_empty() {
        None
    } else {
        let kind = MatchKind::from_number(row.byte()?)?;
        Some(CreationProof { kind, arguments: read_bytes(&mut row)?, libraries: read_libraries(&mut row)? })
    };
    Ok(Deployment { creation, build, proof })
}

fn write_libraries(row: &mut RowWriter, libraries: &[(String, Address)]) {
    row.varint(libraries.len() as u64);
    for (library, address) in libraries {
        row.text(library);
        row.bytes(address.as_slice());
    }
}

fn read_libraries(row: &mut RowReader<'_>) -> Result<Vec<(String, Address)>, StoreError> {
    let count: usize = row.varint()?;
    (0..count).map(|_| Ok((row.text()?, row.address()?))).collect()
}

fn write_bytes(row: &mut RowWriter, bytes: &[u8]) {
    row.varint(bytes.len() as u64);
    row.bytes(bytes);
}

fn read_bytes(row: &mut RowReader<'_>) -> Result<Bytes, StoreError> {
    let length = row.varint()?;
    Ok(Bytes::copy_from_slice(row.bytes(length)?))
}

/// A flag, then the text if there is one.
fn optional_text(row: &mut RowWriter, text: Option<&str>) {
    row.byte(u8::from(text.is_some()));
    if let Some(text) = text {
        row.text(text);
    }
}

fn read_optional_text(row: &mut RowReader<'_>) -> Result<Option<String>, StoreError> {
    row.flag()?.then(|| row.text()).transpose()
}
