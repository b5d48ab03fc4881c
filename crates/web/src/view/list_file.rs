//! What a page lists, as a file for spreadsheets and programs.

#[allow(clippy::expect_used, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;

use axum::{
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use domain::{Block, InternalTransaction, Outcome, Transaction, Transfer, UtcTime};
use serde_json::Value;

/// A row of a file. Amounts are in the smallest unit, as the API has them.
pub(crate) trait FileRow {
    const COLUMNS: &'static [&'static str];

    fn fields(&self) -> Vec<String>;
}

/// A field that is empty if its value is unknown.
pub(crate) fn known(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListFile {
    Csv,
    Json,
}

impl ListFile {
    /// A file with one row for each entry.
    pub(crate) fn of<T: FileRow>(self, name: &str, rows: &[T]) -> Response {
        let (extension, kind, text) = match self {
            Self::Csv => ("csv", "text/csv; charset=utf-8", csv(rows)),
            Self::Json => ("json", "application/json", json(rows)),
        };
        let disposition = format!("attachment; filename=\"{name}.{extension}\"");
        ([(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, disposition)], text).into_response()
    }
}

fn csv<T: FileRow>(rows: &[T]) -> String {
    let mut text = T::COLUMNS.join(",");
    text.push_str("\r\n");
    for row in rows {
        let fields: Vec<String> = row.fields().iter().map(|field| quoted(field)).collect();
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

/// An object for each row, with strings only: amounts are too large for numbers.
fn json<T: FileRow>(rows: &[T]) -> String {
    let object = |row: &T| {
        let fields = T::COLUMNS.iter().zip(row.fields());
        Value::Object(fields.map(|(name, field)| ((*name).to_owned(), Value::String(field))).collect())
    };
    Value::Array(rows.iter().map(object).collect()).to_string()
}

/// What a formula begins with, also in the wide letters of East Asian keyboards. Programs skip a tab or a line break before it.
const FORMULA_STARTS: [char; 10] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r'];

/// A field in quotes where it needs them. Spreadsheets run text that begins like a formula, and anyone can choose a name. Some
/// split at semicolons or tabs instead of commas, so that a formula may follow one, behind a quote or spaces that they remove.
fn quoted(field: &str) -> String {
    let mut safe = String::with_capacity(field.len() + 1);
    let mut begins_cell = true;
    for character in field.chars() {
        if begins_cell && FORMULA_STARTS.contains(&character) {
            safe.push('\'');
        }
        safe.push(character);
        let is_separator = [';', '\t', '\r', '\n'].contains(&character);
        begins_cell = is_separator || (begins_cell && ['"', ' '].contains(&character));
    }
    if safe.contains([',', ';', '"', '\r', '\n', '\t']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe }
}

pub(super) fn time(seconds: u64) -> String {
    format!("{:.0}", UtcTime::from_unix_seconds(seconds))
}

impl FileRow for Transaction {
    const COLUMNS: &'static [&'static str] =
        &["hash", "block", "time", "from", "to", "created", "value_wei", "fee_wei", "succeeded", "nonce"];

    fn fields(&self) -> Vec<String> {
        let address = |address: Option<domain::Address>| address.map(|address| address.to_string()).unwrap_or_default();
        vec![
            format!("{:#x}", self.hash),
            self.block_number.to_string(),
            time(self.timestamp),
            self.from.to_string(),
            address(self.to),
            address(self.created),
            self.value.to_string(),
            self.fee().to_string(),
            match self.outcome() {
                Outcome::Succeeded => "true".to_owned(),
                Outcome::Failed => "false".to_owned(),
                Outcome::Unknown => String::new(),
            },
            self.nonce.to_string(),
        ]
    }
}

impl FileRow for Transfer {
    const COLUMNS: &'static [&'static str] =
        &["transaction", "log", "block", "time", "from", "to", "token", "symbol", "value", "decimals", "token_id"];

    fn fields(&self) -> Vec<String> {
        vec![
            format!("{:#x}", self.tx_hash),
            self.event.log_index.to_string(),
            self.block_number.to_string(),
            time(self.timestamp),
            self.event.from.to_string(),
            self.event.to.to_string(),
            self.event.token.to_string(),
            known(self.token_symbol.as_deref()),
            self.event.value.to_string(),
            known(self.token_decimals),
            self.event.token_id.map(|id| id.to_string()).unwrap_or_default(),
        ]
    }
}

impl FileRow for InternalTransaction {
    const COLUMNS: &'static [&'static str] =
        &["transaction", "position", "block", "time", "type", "from", "to", "value_wei", "error"];

    fn fields(&self) -> Vec<String> {
        vec![
            format!("{:#x}", self.tx_hash),
            self.event.position.to_string(),
            self.block_number.to_string(),
            time(self.timestamp),
            self.event.kind.name().to_owned(),
            self.event.from.to_string(),
            self.event.to.map(|to| to.to_string()).unwrap_or_default(),
            self.event.value.to_string(),
            self.event.error.clone().unwrap_or_default(),
        ]
    }
}

impl FileRow for Block {
    const COLUMNS: &'static [&'static str] =
        &["number", "hash", "time", "miner", "transactions", "gas_used", "gas_limit", "base_fee_wei"];

    fn fields(&self) -> Vec<String> {
        vec![
            self.number.to_string(),
            format!("{:#x}", self.hash),
            time(self.timestamp),
            self.miner.to_string(),
            self.tx_count.to_string(),
            self.gas_used.to_string(),
            self.gas_limit.to_string(),
            self.base_fee_per_gas.map(|fee| fee.to_string()).unwrap_or_default(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str);

    impl FileRow for Named {
        const COLUMNS: &'static [&'static str] = &["name", "amount"];

        fn fields(&self) -> Vec<String> {
            vec![
                self.0.to_owned(),
                "115792089237316195423570985008687907853269984665640564039457584007913129639935".into(),
            ]
        }
    }

    #[test]
    fn both_formats_have_the_same_columns() {
        let rows = [Named("=1+1"), Named("\"a\"")];
        assert!(csv(&rows).starts_with("name,amount\r\n'=1+1,1157"));
        let read: Value = serde_json::from_str(&json(&rows)).unwrap();
        assert_eq!((&read[0]["name"], &read[1]["name"]), (&Value::from("=1+1"), &Value::from("\"a\"")));
        assert_eq!(read[1]["amount"].as_str().unwrap().len(), 78);
    }

    #[test]
    fn fields_are_quoted_and_formulas_are_text() {
        assert_eq!(quoted("USDT"), "USDT");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(quoted("-1+1"), "'-1+1");
        assert_eq!(quoted("a;=1+1"), "\"a;'=1+1\"");
        assert_eq!(quoted("a;b=1"), "\"a;b=1\"");
    }

    #[test]
    fn no_start_of_a_formula_begins_a_cell_whatever_the_separator() {
        for start in FORMULA_STARTS {
            for before in ["", " ", "\"", "\" ", "a;", "a; ", "a;\"", "a;\"\" ", "a\t", "a\r\n", "a\n", "a,b;"] {
                let text = format!("{before}{start}1+1");
                assert!(quoted(&text).contains(&format!("'{start}1+1")), "{text:?} as {:?}", quoted(&text));
                fuzzing::csv_cell(&text);
            }
        }
        // A program that splits at semicolons reads two quotes and what follows as the text behind them.
        assert_eq!(quoted("a;\"=1+1;"), "\"a;\"\"'=1+1;\"");
        assert_eq!((quoted("a-b").as_str(), quoted("a b=c").as_str()), ("a-b", "a b=c"));
    }
}
