//! Amounts in units, grouped and limited in length, with the exact amount on hover, tap and focus.

use askama::{Template, filters::HtmlSafe};
use domain::U256;

/// Decimal places of an amount of at least 1.
const SHOWN_PLACES: usize = 6;
/// Significant digits of an amount below 1.
const SIGNIFICANT_DIGITS: usize = 4;
/// Amounts with more digits before the decimal point are shown with an exponent.
const MAX_WHOLE_DIGITS: usize = 15;
/// Amounts with more zeros after the decimal point are shown with an exponent.
const MAX_LEADING_ZEROS: usize = 8;
/// Significant digits of an amount with an exponent.
const MANTISSA_DIGITS: usize = 3;

/// An amount in units. If digits are left out, it can be focused or tapped for the exact amount.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"{% if is_cut %}<span class="num more" tabindex="0" title="{{ exact }}">{{ shown }}<span class="exact">{{ exact }}</span></span>{% else %}<span class="num" title="{{ exact }}">{{ shown }}</span>{% endif %}"#,
    ext = "html"
)]
pub(crate) struct Amount {
    shown: String,
    exact: String,
    is_cut: bool,
}

impl HtmlSafe for Amount {}

impl Amount {
    /// An amount of a token or coin in its smallest unit.
    pub(crate) fn of(smallest: impl ToString, decimals: u8, unit: &str) -> Self {
        let smallest = smallest.to_string();
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        Self::new(&smallest, decimals, &unit, &smallest)
    }

    /// An amount of a token in its smallest unit, which is also how it is shown if the decimals are unknown.
    pub(crate) fn of_token(smallest: impl ToString, decimals: Option<u8>) -> Self {
        match decimals {
            Some(decimals) => Self::of(smallest, decimals, ""),
            None => Self::of(smallest, 0, "units"),
        }
    }

    fn new(smallest: &str, decimals: u8, unit: &str, in_smallest: &str) -> Self {
        let whole = in_units(smallest, decimals);
        let shown = shortened(&whole);
        Self {
            is_cut: shown != whole,
            shown: format!("{shown}{unit}"),
            exact: format!("{whole}{unit} ({in_smallest})"),
        }
    }

    /// The shortened amount.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// All digits, if some are not shown.
    pub(crate) fn all_digits(&self) -> Option<&str> {
        self.is_cut.then_some(&self.exact)
    }

    pub(crate) fn coin(wei: U256, symbol: &str) -> Self {
        Self::of(wei, 18, symbol)
    }

    /// A gas price in Gwei.
    pub(crate) fn gas_price(wei: impl ToString) -> Self {
        let wei = wei.to_string();
        Self::new(&wei, 9, " Gwei", &format!("{wei} wei"))
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

/// 1234 and `block` as `1,234 blocks`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Cuts digits, without rounding. A small amount keeps its significant digits; a very large or small one gets an exponent.
fn shortened(amount: &str) -> String {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    if whole == "0" {
        return shortened_fraction(fraction);
    }
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    if digits.len() > MAX_WHOLE_DIGITS {
        return with_exponent(&digits, &(digits.len() - 1).to_string());
    }
    with_fraction(whole, fraction.get(..SHOWN_PLACES).unwrap_or(fraction))
}

/// The same for an amount below 1.
fn shortened_fraction(fraction: &str) -> String {
    let significant = fraction.trim_start_matches('0');
    let zeros = fraction.len() - significant.len();
    if significant.is_empty() {
        return "0".to_owned();
    }
    if zeros > MAX_LEADING_ZEROS {
        return with_exponent(significant, &format!("-{}", zeros + 1));
    }
    with_fraction("0", fraction.get(..zeros + SIGNIFICANT_DIGITS).unwrap_or(fraction))
}

fn with_fraction(whole: &str, fraction: &str) -> String {
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

fn with_exponent(digits: &str, exponent: &str) -> String {
    let (first, rest) = digits.split_at(1);
    let rest = rest.get(..MANTISSA_DIGITS - 1).unwrap_or(rest);
    format!("{}e{exponent}", with_fraction(first, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(smallest: &str, decimals: u8) -> String {
        Amount::of(smallest, decimals, "").shown
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 1_234].map(|count| counted(count, "block")), ["0 blocks", "1 block", "1,234 blocks"]);
    }

    #[test]
    fn an_amount_is_shown_in_units_and_grouped() {
        assert_eq!(shown("1234567000000000000000000", 18), "1,234,567");
        assert_eq!(shown("1500000", 6), "1.5");
        assert_eq!(shown("42", 0), "42");
        assert_eq!(shown("0", 18), "0");
        assert_eq!(Amount::of("1500000", 6, "").all_digits(), None);
    }

    #[test]
    fn decimal_places_are_cut_and_the_exact_amount_is_kept() {
        assert_eq!(shown("1000000000000000001", 18), "1");
        assert_eq!(shown("1123456789000000000", 18), "1.123456");
        assert_eq!(Amount::of("1", 18, "ETH").exact, "0.000000000000000001 ETH (1)");
        let cut = Amount::of("1123456789000000000", 18, "ETH");
        assert_eq!(cut.all_digits(), Some("1.123456789 ETH (1123456789000000000)"));
    }

    #[test]
    fn a_small_amount_keeps_its_significant_digits() {
        assert_eq!(shown("1953125678901", 18), "0.000001953");
        assert_eq!(shown("21000000000000", 18), "0.000021");
        assert_eq!(shown("147000", 18), "1.47e-13");
        assert_eq!(shown("1", 18), "1e-18");
    }

    #[test]
    fn an_amount_with_very_many_digits_has_an_exponent() {
        let largest = U256::MAX.to_string();
        assert_eq!(shown(&largest, 0), "1.15e77");
        assert_eq!(shown(&largest, 18), "1.15e59");
        assert_eq!(shown("999999999999999", 0), "999,999,999,999,999");
        assert_eq!(shown("1000000000000000", 0), "1e15");
        assert!(Amount::of(&largest, 0, "").all_digits().is_some_and(|all| all.ends_with(&format!("({largest})"))));
    }

    #[test]
    fn extreme_decimals_are_supported() {
        assert_eq!(shown("5", 255), "5e-255");
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
