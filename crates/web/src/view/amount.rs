//! Amounts in units, grouped and truncated, with the exact amount as a tooltip.

use askama::{Template, filters::HtmlSafe};
use domain::U256;

/// Decimal places in tables; the tooltip has all.
const SHOWN_DIGITS: usize = 6;

/// An amount in units, with the exact amount as a tooltip.
#[derive(Debug, Clone, Template)]
#[template(source = r#"<span class="num" title="{{ exact }}">{{ shown }}</span>"#, ext = "html")]
pub(crate) struct Amount {
    shown: String,
    exact: String,
}

impl HtmlSafe for Amount {}

impl Amount {
    /// An amount of a token or coin in its smallest unit.
    pub(crate) fn of(smallest: impl ToString, decimals: u8, unit: &str) -> Self {
        let smallest = smallest.to_string();
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let whole = in_units(&smallest, decimals);
        Self { shown: format!("{}{unit}", shortened(&whole)), exact: format!("{whole}{unit} ({smallest})") }
    }

    /// The truncated amount.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn coin(wei: U256, symbol: &str) -> Self {
        Self::of(wei, 18, symbol)
    }

    /// A gas price in Gwei.
    pub(crate) fn gas_price(wei: impl ToString) -> Self {
        let wei = wei.to_string();
        let whole = in_units(&wei, 9);
        Self { shown: format!("{} Gwei", shortened(&whole)), exact: format!("{whole} Gwei ({wei} wei)") }
    }
}

/// Converts a number of smallest units to units, with grouped digits.
pub(crate) fn in_units(smallest: &str, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let padded = format!("{smallest:0>width$}", width = decimals + 1);
    let (whole, fraction) = padded.split_at(padded.len() - decimals);
    let fraction = fraction.trim_end_matches('0');
    let whole = grouped(whole);
    if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }
}

/// 1234567 as 1,234,567.
pub(crate) fn grouped(digits: impl ToString) -> String {
    let digits = digits.to_string();
    let first = digits.len() % 3;
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Cuts decimal places. A small amount is never shown as zero.
fn shortened(amount: &str) -> String {
    let Some((whole, fraction)) = amount.split_once('.') else { return amount.to_owned() };
    let Some(shown) = fraction.get(..SHOWN_DIGITS) else { return amount.to_owned() };
    let shown = shown.trim_end_matches('0');
    match (whole, shown) {
        ("0", "") => format!("<0.{}1", "0".repeat(SHOWN_DIGITS - 1)),
        (whole, "") => whole.to_owned(),
        (whole, shown) => format!("{whole}.{shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(smallest: &str, decimals: u8) -> String {
        Amount::of(smallest, decimals, "").shown
    }

    #[test]
    fn an_amount_is_shown_in_units_and_grouped() {
        assert_eq!(shown("1234567000000000000000000", 18), "1,234,567");
        assert_eq!(shown("1500000", 6), "1.5");
        assert_eq!(shown("42", 0), "42");
        assert_eq!(shown("0", 18), "0");
    }

    #[test]
    fn decimal_places_are_cut_but_a_small_amount_is_not_zero() {
        assert_eq!(shown("1000000000000000001", 18), "1");
        assert_eq!(shown("1123456789000000000", 18), "1.123456");
        assert_eq!(shown("1", 18), "<0.000001");
        assert_eq!(Amount::of("1", 18, "ETH").exact, "0.000000000000000001 ETH (1)");
    }

    #[test]
    fn extreme_decimals_are_supported() {
        assert_eq!(shown("5", 255), "<0.000001");
        assert_eq!(Amount::of("5", 255, "").exact.len(), 255 + 2 + " (5)".len());
    }

    #[test]
    fn digits_are_grouped_from_the_right() {
        assert_eq!(
            ["1", "12", "123", "1234", "123456", "1234567"].map(grouped),
            ["1", "12", "123", "1,234", "123,456", "1,234,567"]
        );
    }
}
