//! Amounts as people read them: in units, grouped, and short. The exact one is kept beside it.

use askama::Template;
use askama::filters::HtmlSafe;
use domain::U256;

/// Digits behind the point that a table shows; the rest is on hover.
const SHOWN_DIGITS: usize = 6;

/// An amount in units, with the exact one on hover.
#[derive(Debug, Clone, Template)]
#[template(source = r#"<span class="num" title="{{ exact }}">{{ shown }}</span>"#, ext = "html")]
pub(crate) struct Amount {
    shown: String,
    exact: String,
}

impl HtmlSafe for Amount {}

impl Amount {
    /// An amount of a token or coin, given in its smallest parts.
    pub(crate) fn of(parts: impl ToString, decimals: u8, unit: &str) -> Self {
        let parts = parts.to_string();
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let whole = in_units(&parts, decimals);
        Self { shown: format!("{}{unit}", shortened(&whole)), exact: format!("{whole}{unit} ({parts})") }
    }

    /// What a table shows, as text.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn coin(wei: U256, symbol: &str) -> Self {
        Self::of(wei, 18, symbol)
    }

    /// A price of gas, in Gwei.
    pub(crate) fn gas_price(wei: impl ToString) -> Self {
        let wei = wei.to_string();
        let whole = in_units(&wei, 9);
        Self { shown: format!("{} Gwei", shortened(&whole)), exact: format!("{whole} Gwei ({wei} wei)") }
    }
}

/// Sets the point in a whole number of smallest parts, and groups what stands before it.
pub(crate) fn in_units(parts: &str, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let padded = format!("{parts:0>width$}", width = decimals + 1);
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
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && place % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Cuts what stands far behind the point. Something is never shown as nothing.
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

    fn shown(parts: &str, decimals: u8) -> String {
        Amount::of(parts, decimals, "").shown
    }

    #[test]
    fn an_amount_is_shown_in_units_and_grouped() {
        assert_eq!(shown("1234567000000000000000000", 18), "1,234,567");
        assert_eq!(shown("1500000", 6), "1.5");
        assert_eq!(shown("42", 0), "42");
        assert_eq!(shown("0", 18), "0");
    }

    #[test]
    fn far_digits_are_cut_but_something_never_shows_as_nothing() {
        assert_eq!(shown("1000000000000000001", 18), "1");
        assert_eq!(shown("1123456789000000000", 18), "1.123456");
        assert_eq!(shown("1", 18), "<0.000001");
        assert_eq!(Amount::of("1", 18, "ETH").exact, "0.000000000000000001 ETH (1)");
    }

    #[test]
    fn absurd_decimals_do_no_harm() {
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
