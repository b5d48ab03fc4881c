//! Amounts in the unit that fits, grouped and limited in length, with the exact amount on hover, tap and focus.

use askama::{Template, filters::HtmlSafe};
use domain::U256;

/// Decimal places of an amount of at least 1.
const SHOWN_PLACES: usize = 6;
/// Significant digits of an amount below 1.
const SIGNIFICANT_DIGITS: usize = 4;
/// Amounts with more digits before the decimal point are shown with an exponent.
const MAX_WHOLE_DIGITS: usize = 15;
/// Amounts with more zeros after the decimal point are only said to be smaller than the smallest that is shown.
const MAX_LEADING_ZEROS: usize = 8;
/// Significant digits of an amount with an exponent.
const MANTISSA_DIGITS: usize = 3;
const COIN_DECIMALS: u8 = 18;
const GWEI_DECIMALS: u8 = 9;
/// Smaller amounts of the coin, in wei, are shown in Gwei: a millionth of the coin.
const MIN_IN_COINS: u64 = 1_000_000_000_000;
/// Those with no more digits are shown in wei: less than a thousandth of a Gwei.
const MAX_DIGITS_IN_WEI: usize = 6;

/// An amount in units. If digits are left out or the unit is a smaller one, it can be focused or tapped for the exact amount.
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
    /// An amount of a token in its smallest unit.
    pub(crate) fn of(smallest: impl ToString, decimals: u8, unit: &str) -> Self {
        let smallest = smallest.to_string();
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let whole = in_units(&smallest, decimals);
        let shown = shortened(&whole);
        Self { is_cut: shown != whole, shown: format!("{shown}{unit}"), exact: format!("{whole}{unit} ({smallest})") }
    }

    /// Whether a reader sees the same number.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        self.shown == other.shown
    }

    /// Shown in words instead of digits, and exactly on tap.
    pub(crate) fn in_words(self, words: &str) -> Self {
        Self { shown: words.to_owned(), is_cut: true, ..self }
    }

    /// An amount of a token in its smallest unit, which is also how it is shown if the decimals are unknown.
    pub(crate) fn of_token(smallest: impl ToString, decimals: Option<u8>) -> Self {
        match decimals {
            Some(decimals) => Self::of(smallest, decimals, ""),
            None => Self::of(smallest, 0, "units"),
        }
    }

    /// The shortened amount.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// An amount of the chain's coin, in Gwei or wei if it is small.
    pub(crate) fn coin(wei: U256, symbol: &str) -> Self {
        let is_small = !wei.is_zero() && wei < U256::from(MIN_IN_COINS);
        let wei = wei.to_string();
        let (decimals, unit) = match wei.len() {
            ..=MAX_DIGITS_IN_WEI if is_small => (0, "wei"),
            _ if is_small => (GWEI_DECIMALS, "Gwei"),
            _ => (COIN_DECIMALS, symbol),
        };
        let exact = format!("{} {symbol} ({wei} wei)", in_units(&wei, COIN_DECIMALS));
        let (shown, is_cut) = in_unit(&wei, decimals, unit);
        Self { shown, exact, is_cut: is_cut || is_small }
    }

    /// A gas price in Gwei, or in wei if it is small.
    pub(crate) fn gas_price(wei: impl ToString) -> Self {
        let wei = wei.to_string();
        let is_small = wei != "0" && wei.len() <= MAX_DIGITS_IN_WEI;
        let (decimals, unit) = if is_small { (0, "wei") } else { (GWEI_DECIMALS, "Gwei") };
        let exact = format!("{} Gwei ({wei} wei)", in_units(&wei, GWEI_DECIMALS));
        let (shown, is_cut) = in_unit(&wei, decimals, unit);
        Self { shown, exact, is_cut: is_cut || is_small }
    }
}

/// An amount in a unit, and whether digits of it are left out.
fn in_unit(wei: &str, decimals: u8, unit: &str) -> (String, bool) {
    let whole = in_units(wei, decimals);
    let shown = shortened(&whole);
    let is_cut = shown != whole;
    (format!("{shown} {unit}"), is_cut)
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

/// Cuts digits, without rounding. A small amount keeps its significant digits; a very large one gets an exponent.
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
        return format!("<0.{:0>width$}", 1, width = MAX_LEADING_ZEROS);
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
        assert!(!Amount::of("1500000", 6, "").is_cut);
    }

    #[test]
    fn decimal_places_are_cut_and_the_exact_amount_is_kept() {
        assert_eq!(shown("1000000000000000001", 18), "1");
        assert_eq!(shown("1123456789000000000", 18), "1.123456");
        let cut = Amount::of("1123456789000000000", 18, "ABC");
        assert_eq!((cut.is_cut, cut.exact.as_str()), (true, "1.123456789 ABC (1123456789000000000)"));
    }

    #[test]
    fn a_small_amount_keeps_its_significant_digits() {
        assert_eq!(shown("1953125678901", 18), "0.000001953");
        assert_eq!(shown("21000000000000", 18), "0.000021");
        assert_eq!(shown("147000", 18), "<0.00000001");
        assert_eq!(shown("10000000000", 18), "0.00000001");
        assert_eq!(shown("1", 18), "<0.00000001");
    }

    #[test]
    fn an_amount_of_the_coin_is_in_the_unit_that_fits() {
        let coin = |wei: u64| Amount::coin(U256::from(wei), "ETH");
        for (wei, shown, exact) in [
            (0, "0 ETH", "0 ETH (0 wei)"),
            (1, "1 wei", "0.000000000000000001 ETH (1 wei)"),
            (658, "658 wei", "0.000000000000000658 ETH (658 wei)"),
            (999_999, "999,999 wei", "0.000000000000999999 ETH (999999 wei)"),
            (8_463_000_000, "8.463 Gwei", "0.000000008463 ETH (8463000000 wei)"),
            (21_000_000_000_000, "0.000021 ETH", "0.000021 ETH (21000000000000 wei)"),
            (50_000_000_000_000_000, "0.05 ETH", "0.05 ETH (50000000000000000 wei)"),
        ] {
            assert_eq!((coin(wei).shown(), coin(wei).exact.as_str()), (shown, exact));
        }
        assert!(coin(658).is_cut && coin(8_463_000_000).is_cut && !coin(21_000_000_000_000).is_cut);
    }

    #[test]
    fn a_gas_price_is_in_gwei_unless_it_is_very_small() {
        let price = |wei: u64| Amount::gas_price(wei).shown;
        assert_eq!([0, 7, 999_999].map(price), ["0 Gwei", "7 wei", "999,999 wei"]);
        assert_eq!([1_000_000, 1_100_000_000, 5_000_000_000_000].map(price), ["0.001 Gwei", "1.1 Gwei", "5,000 Gwei"]);
        assert_eq!(Amount::gas_price(7).exact, "0.000000007 Gwei (7 wei)");
    }

    #[test]
    fn an_amount_with_very_many_digits_has_an_exponent() {
        let largest = U256::MAX.to_string();
        assert_eq!(shown(&largest, 0), "1.15e77");
        assert_eq!(shown(&largest, 18), "1.15e59");
        assert_eq!(shown("999999999999999", 0), "999,999,999,999,999");
        assert_eq!(shown("1000000000000000", 0), "1e15");
        let all = Amount::of(&largest, 0, "");
        assert!(all.is_cut && all.exact.ends_with(&format!("({largest})")), "{all:?}");
    }

    #[test]
    fn extreme_decimals_are_supported() {
        assert_eq!(shown("5", 255), "<0.00000001");
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
