use super::{FORMULA_STARTS, quoted};

/// A text that somebody chose is in no cell a formula, whichever separator a program splits at, and with commas it is one cell.
pub(crate) fn csv_cell(text: &str) {
    let line = format!("0x12,{},7", quoted(text));
    for separator in [',', ';', '\t'] {
        for cell in cells(&line, separator) {
            let shown = cell.trim_start_matches(' ');
            assert!(!shown.starts_with(FORMULA_STARTS), "{cell:?} of {line:?}, split at {separator:?}");
        }
    }
    let read = cells(&line, ',');
    let without_marks = |text: &str| text.replace('\'', "");
    let [first, own, last] = &read[..] else { panic!("{read:?} of {line:?}") };
    assert_eq!((first.as_str(), last.as_str()), ("0x12", "7"));
    assert_eq!(without_marks(own), without_marks(text));
}

/// As spreadsheets read: a quote at the beginning of a cell holds until the next single one, and text may follow that.
fn cells(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut begins, mut is_quoted) = (true, false);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let is_first = std::mem::take(&mut begins);
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_none() => is_quoted = false,
            '"' if is_first => is_quoted = true,
            end if !is_quoted && (end == separator || end == '\r' || end == '\n') => {
                begins = true;
                cells.push(String::new());
            }
            other => cells.last_mut().expect("there is always one").push(other),
        }
    }
    cells
}
