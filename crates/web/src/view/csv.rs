//! What a page lists, as a file for spreadsheets.

use axum::{
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use domain::{Block, InternalTransaction, Transaction, Transfer, UtcTime};

/// A row of a file. Amounts are in the smallest unit, as the API has them.
pub(crate) trait CsvRow {
    const COLUMNS: &'static [&'static str];

    fn fields(&self) -> Vec<String>;
}

/// A file with one row for each entry.
pub(crate) fn csv<T: CsvRow>(name: &str, rows: &[T]) -> Response {
    let mut text = T::COLUMNS.join(",");
    text.push_str("\r\n");
    for row in rows {
        let fields: Vec<String> = row.fields().iter().map(|field| quoted(field)).collect();
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, disposition)];
    (headers, text).into_response()
}

/// A field in quotes where it needs them. Spreadsheets run text that begins like a formula, and names are chosen by strangers.
fn quoted(field: &str) -> String {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let field = if is_formula { format!("'{field}") } else { field.to_owned() };
    if field.contains([',', '"', '\r', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

fn time(seconds: u64) -> String {
    format!("{:.0}", UtcTime::from_unix_seconds(seconds))
}

impl CsvRow for Transaction {
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
            self.succeeded.to_string(),
            self.nonce.to_string(),
        ]
    }
}

impl CsvRow for Transfer {
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
            self.token_symbol.clone(),
            self.event.value.to_string(),
            self.token_decimals.to_string(),
            self.event.token_id.map(|id| id.to_string()).unwrap_or_default(),
        ]
    }
}

impl CsvRow for InternalTransaction {
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

impl CsvRow for Block {
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

    #[test]
    fn fields_are_quoted_and_formulas_are_text() {
        assert_eq!(quoted("USDT"), "USDT");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(quoted("-1+1"), "'-1+1");
    }
}
