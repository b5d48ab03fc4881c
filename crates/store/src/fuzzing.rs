//! Entry points of the fuzz targets: files of records of arbitrary bytes.

use std::fmt::Debug;

use crate::{InvalidLine, Line, RecordFileHeader};

/// A line of a file of records. What is read is the same if it is written and read again.
pub fn record_line(line: &[u8]) {
    // Lines of other bytes are refused when the file is read.
    let Ok(line) = std::str::from_utf8(line) else { return };
    reads_what_it_writes(line, Line::from_json, Line::to_json);
    reads_what_it_writes(line, RecordFileHeader::from_json, RecordFileHeader::to_json);
}

fn reads_what_it_writes<T: PartialEq + Debug>(
    line: &str,
    read: impl Fn(&str) -> Result<T, InvalidLine>,
    write: impl Fn(&T) -> Result<String, InvalidLine>,
) {
    let Ok(value) = read(line) else { return };
    let written = write(&value).expect("what was read can be written");
    assert!(!written.contains(['\n', '\r']), "it is one line: {written}");
    let again = read(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again, value, "{written}");
    assert_eq!(write(&again).expect("what was read can be written"), written);
}
