use std::collections::HashMap;

use domain::Address;

/// Maximum length of a label: a longer one is most likely a mistake in the file.
const MAX_CHARACTERS: usize = 256;

/// The operator's names for addresses.
#[derive(Debug, Clone, Default)]
pub struct Labels(HashMap<Address, String>);

/// An error in a labels file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LabelsError {
    /// Starts at 1.
    pub line: usize,
    pub reason: LabelError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    #[error("expected an address, a comma and a label")]
    NoComma,
    #[error("the address must be 0x and 40 hexadecimal digits")]
    BadAddress,
    #[error("the label is empty")]
    Empty,
    #[error("the label has more than 256 characters")]
    TooLong,
    #[error("the label has a control character")]
    ControlCharacter,
    #[error("a quote is not closed, or text follows it")]
    BadQuotes,
    #[error("the address already has a label on line {first}")]
    Repeated { first: usize },
}

impl Labels {
    /// Parses lines of the form `0xaddress,label`. Empty lines and lines that begin with `#` are skipped. A label in double
    /// quotes keeps its outer spaces; a quote inside is written twice.
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
                return Err(LabelsError { line, reason: LabelError::Repeated { first } });
            }
            labels.insert(address, label);
        }
        Ok(Self(labels))
    }

    #[must_use]
    pub fn find(&self, address: &Address) -> Option<&str> {
        self.0.get(address).map(String::as_str)
    }

    /// Addresses whose label contains a text, in any letter case: those that begin with it first, then by label.
    #[must_use]
    pub fn containing(&self, text: &str) -> Vec<(Address, &str)> {
        let text = text.to_lowercase();
        let place = |label: &str| label.to_lowercase().find(&text);
        let mut found: Vec<(bool, &str, Address)> =
            self.0.iter().filter_map(|(address, label)| Some((place(label)? > 0, label.as_str(), *address))).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, label, address)| (address, label)).collect()
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

fn parse_entry(entry: &str) -> Result<(Address, String), LabelError> {
    let (address, label) = entry.split_once(',').ok_or(LabelError::NoComma)?;
    let address = address.trim_end();
    if !address.starts_with("0x") {
        return Err(LabelError::BadAddress);
    }
    let address = address.parse().map_err(|_| LabelError::BadAddress)?;
    let label = unquote(label.trim())?;
    if label.trim().is_empty() {
        Err(LabelError::Empty)
    } else if label.chars().count() > MAX_CHARACTERS {
        Err(LabelError::TooLong)
    } else if label.chars().any(char::is_control) {
        Err(LabelError::ControlCharacter)
    } else {
        Ok((address, label))
    }
}

fn unquote(label: &str) -> Result<String, LabelError> {
    let Some(quoted) = label.strip_prefix('"') else { return Ok(label.to_owned()) };
    let inner = quoted.strip_suffix('"').ok_or(LabelError::BadQuotes)?;
    let unescaped = inner.replace("\"\"", "");
    if unescaped.contains('"') {
        return Err(LabelError::BadQuotes);
    }
    Ok(inner.replace("\"\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &str = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045";
    const BOB: &str = "0x00000000219ab540356cbb839cbe05303d7705fa";

    fn error(text: &str) -> (usize, LabelError) {
        let error = Labels::parse(text).unwrap_err();
        (error.line, error.reason)
    }

    #[test]
    fn addresses_are_read_in_any_letter_case() {
        let upper = ALICE.to_uppercase().replace("0X", "0x");
        let labels = Labels::parse(&format!("\u{feff}# people\n\n{upper} , Alice, the first\r\n{BOB},\" Bob \"\n"));
        let labels = labels.unwrap();
        assert_eq!(labels.len(), 2);
        assert_eq!(labels.find(&ALICE.parse().unwrap()), Some("Alice, the first"));
        assert_eq!(labels.find(&BOB.parse().unwrap()), Some(" Bob "));
        assert_eq!(labels.find(&Address::ZERO), None);
    }

    #[test]
    fn a_quote_inside_quotes_is_written_twice() {
        let labels = Labels::parse(&format!("{ALICE},\"the \"\"real\"\" Alice\"")).unwrap();
        assert_eq!(labels.find(&ALICE.parse().unwrap()), Some("the \"real\" Alice"));
    }

    #[test]
    fn each_error_has_its_line() {
        assert_eq!(error(&format!("# one\n{ALICE}")), (2, LabelError::NoComma));
        assert_eq!(error("alice,Alice"), (1, LabelError::BadAddress));
        assert_eq!(error(&format!("{},Alice", &ALICE[2..])), (1, LabelError::BadAddress));
        assert_eq!(error(&format!("{ALICE}, ")), (1, LabelError::Empty));
        assert_eq!(error(&format!("{ALICE},\"\"")), (1, LabelError::Empty));
        assert_eq!(error(&format!("{ALICE},\"Alice")), (1, LabelError::BadQuotes));
        assert_eq!(error(&format!("{ALICE},\"")), (1, LabelError::BadQuotes));
        assert_eq!(error(&format!("{ALICE},\"A\"l\"")), (1, LabelError::BadQuotes));
        assert_eq!(error(&format!("{ALICE},A\u{7}l")), (1, LabelError::ControlCharacter));
        assert_eq!(error(&format!("{ALICE},{}", "a".repeat(257))), (1, LabelError::TooLong));
        assert_eq!(error(&format!("{ALICE},A\n\n{ALICE},B")), (3, LabelError::Repeated { first: 1 }));
    }

    #[test]
    fn an_error_reads_as_a_sentence() {
        let error = Labels::parse("x").unwrap_err();
        assert_eq!(error.to_string(), "line 1: expected an address, a comma and a label");
    }
}
