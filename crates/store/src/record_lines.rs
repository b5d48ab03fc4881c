//! Files of records: a line that says what the file is, a line for each record, and a last line, so that a file that was cut
//! short is noticed.

use domain::{B256, BlockNumber, ChainIdentity};
use serde::{Deserialize, Serialize};

use crate::Record;

const FORMAT: &str = "explorer-records";
/// Increased by every change that other versions cannot read.
const VERSION: u32 = 1;

/// What a file contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordFileHeader {
    format: String,
    version: u32,
    /// Of this export.
    pub id: String,
    /// None if the store was never bound to a chain.
    pub chain: Option<FileChain>,
}

/// The chain that the records belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChain {
    pub chain_id: u64,
    pub genesis_hash: B256,
    pub start_block: BlockNumber,
}

impl FileChain {
    #[must_use]
    pub fn identity(&self) -> ChainIdentity {
        ChainIdentity { chain_id: self.chain_id, genesis_hash: self.genesis_hash }
    }
}

/// One line of a file after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    Record(Box<Record>),
    /// The last line: the number of records before it.
    End {
        records: u64,
    },
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InvalidLine {
    #[error("this is not a file of records")]
    OtherFormat,
    #[error("the format has version {stored}, and this explorer reads up to {VERSION}: use a newer one")]
    NewerFormat { stored: u32 },
    #[error("{0}")]
    Json(serde_json::Error),
}

impl RecordFileHeader {
    #[must_use]
    pub fn new(id: String, chain: Option<FileChain>) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, id, chain }
    }

    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, InvalidLine> {
        serde_json::to_string(self).map_err(InvalidLine::Json)
    }

    /// # Errors
    /// If the line is not the first one of a file of records, or is one of a newer version.
    pub fn from_json(line: &str) -> Result<Self, InvalidLine> {
        #[derive(Deserialize)]
        struct Begin {
            format: String,
            version: u32,
        }
        let Ok(Begin { format, version }) = serde_json::from_str(line) else { return Err(InvalidLine::OtherFormat) };
        if format != FORMAT {
            return Err(InvalidLine::OtherFormat);
        }
        if version > VERSION {
            return Err(InvalidLine::NewerFormat { stored: version });
        }
        serde_json::from_str(line).map_err(InvalidLine::Json)
    }
}

impl Line {
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, InvalidLine> {
        serde_json::to_string(self).map_err(InvalidLine::Json)
    }

    /// # Errors
    /// If the line has no record of this version.
    pub fn from_json(line: &str) -> Result<Self, InvalidLine> {
        serde_json::from_str(line).map_err(InvalidLine::Json)
    }
}

#[cfg(test)]
mod tests {
    use domain::Address;

    use super::*;
    use crate::UsedProof;

    #[test]
    fn a_header_of_another_format_or_a_newer_version_is_rejected() {
        let header = RecordFileHeader::new("one".to_owned(), None);
        let line = header.to_json().unwrap();
        assert_eq!(RecordFileHeader::from_json(&line).unwrap(), header);
        let newer = line.replace("\"version\":1", "\"version\":2");
        assert!(matches!(RecordFileHeader::from_json(&newer), Err(InvalidLine::NewerFormat { stored: 2 })));
        for other in ["", "{}", "{\"format\":\"x\",\"version\":1}", "[1]"] {
            assert!(matches!(RecordFileHeader::from_json(other), Err(InvalidLine::OtherFormat)), "{other}");
        }
    }

    #[test]
    fn the_names_of_a_line_stay() {
        let proof = UsedProof { owner: Address::repeat_byte(1), signed_at: 5 };
        let line = Line::Record(Box::new(Record::UsedProof(proof)));
        let json =
            "{\"record\":{\"usedProof\":{\"owner\":\"0x0101010101010101010101010101010101010101\",\"signedAt\":5}}}";
        assert_eq!(line.to_json().unwrap(), json);
        assert_eq!(Line::from_json(json).unwrap(), line);
        assert_eq!(Line::from_json("{\"end\":{\"records\":7}}").unwrap(), Line::End { records: 7 });
        assert!(Line::from_json("{\"record\":{\"unknown\":{}}}").is_err());
    }
}
