use std::collections::HashMap;

use domain::Address;

/// Characters that a label may have at most, so that a slip in the file does not end up on every page.
const MAX_CHARACTERS: usize = 256;

/// The operator's names for addresses.
#[derive(Debug, Clone, Default)]
pub struct Labels(HashMap<Address, String>);

/// What is wrong in a labels file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LabelsError {
    /// From 1.
    pub line: usize,
    pub reason: LabelFault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LabelFault {
    #[error("expected an address, a comma and a label")]
    NoComma,
    #[error("the address is not 0x and 40 hexadecimal digits")]
    BadAddress,
    #[error("the label is empty")]
    Empty,
    #[error("the label has more than 256 characters")]
    TooLong,
    #[error("the label has a control character")]
    ControlCharacter,
    #[error("a quote is not closed, or something follows it")]
    BadQuotes,
    #[error("the address has a label already, on line {first}")]
    Repeated { first: usize },
}

impl Labels {
    /// Reads lines of the form `0xaddress,label`. Empty lines and lines that begin with `#` are passed over. A label in
    /// double quotes keeps its outer spaces; a quote within is written twice.
    pub fn parse(text: &str) -> Result<Self, LabelsError> {
        let mut labels = HashMap::new();
        let mut lines: HashMap<Address, usize> = HashMap::new();
        for (line, entry) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let entry = entry.trim();
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            let (address, label) = parse_entry(entry).map_err(|reason| LabelsError { line, reason })?;
            if let Some(first) = lines.insert(address, line) {
                return Err(LabelsError { line, reason: LabelFault::Repeated { first } });
            }
            labels.insert(address, label);
        }
        Ok(Self(labels))
    }

    #[must_use]
    pub fn find(&self, address: &Address) -> Option<&str> {
        self.0.get(address).map(String::as_str)
    }

    /// Addresses whose label begins so, letter case aside, in the order of their labels.
    #[must_use]
    pub fn starting_with(&self, beginning: &str) -> Vec<(Address, &str)> {
        let beginning = beginning.to_lowercase();
        let named = self.0.iter().map(|(address, label)| (*address, label.as_str()));
        let mut found: Vec<_> = named.filter(|(_, label)| label.to_lowercase().starts_with(&beginning)).collect();
        found.sort_unstable_by_key(|(address, label)| (*label, *address));
        found
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn parse_entry(entry: &str) -> Result<(Address, String), LabelFault> {
    let (address, label) = entry.split_once(',').ok_or(LabelFault::NoComma)?;
    let address = address.trim_end();
    if !address.starts_with("0x") {
        return Err(LabelFault::BadAddress);
    }
    let address = address.parse().map_err(|_| LabelFault::BadAddress)?;
    let label = unquote(label.trim())?;
    if label.trim().is_empty() {
        Err(LabelFault::Empty)
    } else if label.chars().count() > MAX_CHARACTERS {
        Err(LabelFault::TooLong)
    } else if label.chars().any(char::is_control) {
        Err(LabelFault::ControlCharacter)
    } else {
        Ok((address, label))
    }
}

fn unquote(label: &str) -> Result<String, LabelFault> {
    let Some(quoted) = label.strip_prefix('"') else { return Ok(label.to_owned()) };
    let inner = quoted.strip_suffix('"').ok_or(LabelFault::BadQuotes)?;
    let unescaped = inner.replace("\"\"", "");
    if unescaped.contains('"') {
        return Err(LabelFault::BadQuotes);
    }
    Ok(inner.replace("\"\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &str = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045";
    const BOB: &str = "0x00000000219ab540356cbb839cbe05303d7705fa";

    fn fault(text: &str) -> (usize, LabelFault) {
        let error = Labels::parse(text).unwrap_err();
        (error.line, error.reason)
    }

    #[test]
    fn a_file_names_addresses_in_any_letter_case() {
        let upper = ALICE.to_uppercase().replace("0X", "0x");
        let labels = Labels::parse(&format!("\u{feff}# people\n\n{upper} , Alice, the first\r\n{BOB},\" Bob \"\n"));
        let labels = labels.unwrap();
        assert_eq!(labels.len(), 2);
        assert_eq!(labels.find(&ALICE.parse().unwrap()), Some("Alice, the first"));
        assert_eq!(labels.find(&BOB.parse().unwrap()), Some(" Bob "));
        assert_eq!(labels.find(&Address::ZERO), None);
    }

    #[test]
    fn a_quote_within_quotes_is_written_twice() {
        let labels = Labels::parse(&format!("{ALICE},\"the \"\"real\"\" Alice\"")).unwrap();
        assert_eq!(labels.find(&ALICE.parse().unwrap()), Some("the \"real\" Alice"));
    }

    #[test]
    fn each_fault_is_told_with_its_line() {
        assert_eq!(fault(&format!("# one\n{ALICE}")), (2, LabelFault::NoComma));
        assert_eq!(fault("alice,Alice"), (1, LabelFault::BadAddress));
        assert_eq!(fault(&format!("{},Alice", &ALICE[2..])), (1, LabelFault::BadAddress));
        assert_eq!(fault(&format!("{ALICE}, ")), (1, LabelFault::Empty));
        assert_eq!(fault(&format!("{ALICE},\"\"")), (1, LabelFault::Empty));
        assert_eq!(fault(&format!("{ALICE},\"Alice")), (1, LabelFault::BadQuotes));
        assert_eq!(fault(&format!("{ALICE},\"")), (1, LabelFault::BadQuotes));
        assert_eq!(fault(&format!("{ALICE},\"A\"l\"")), (1, LabelFault::BadQuotes));
        assert_eq!(fault(&format!("{ALICE},A\u{7}l")), (1, LabelFault::ControlCharacter));
        assert_eq!(fault(&format!("{ALICE},{}", "a".repeat(257))), (1, LabelFault::TooLong));
        assert_eq!(fault(&format!("{ALICE},A\n\n{ALICE},B")), (3, LabelFault::Repeated { first: 1 }));
    }

    #[test]
    fn an_error_reads_as_a_sentence() {
        let error = Labels::parse("x").unwrap_err();
        assert_eq!(error.to_string(), "line 1: expected an address, a comma and a label");
    }
}
