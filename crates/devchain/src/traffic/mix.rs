//! How often each thing happens.

use rand::{Rng, rngs::StdRng};

use super::{TrafficError, collectibles, creations, dex, failures, intent::Intent, native, tokens, turn::Turn};

type Draw = fn(&mut Turn<'_>) -> Result<Vec<Intent>, TrafficError>;

/// Each activity with its share, in thousandths.
const ACTIVITIES: &[(u32, Draw)] = &[
    (160, native::pay),
    (40, native::pay_much),
    (12, native::pay_nothing),
    (12, native::pay_oneself),
    (20, native::count),
    (24, native::use_vault),
    (180, tokens::transfer),
    (30, tokens::approve),
    (34, tokens::transfer_from),
    (16, tokens::mint),
    (16, tokens::burn),
    (34, tokens::wrap),
    (26, tokens::unwrap),
    (30, collectibles::mint),
    (28, collectibles::transfer),
    (10, collectibles::approve),
    (8, collectibles::burn),
    (14, collectibles::mint_items),
    (22, collectibles::transfer_items),
    (8, collectibles::burn_items),
    (60, dex::swap_tokens),
    (20, dex::buy_with_coins),
    (20, dex::sell_for_coins),
    (44, dex::swap_v3),
    (14, dex::add_liquidity),
    (8, dex::remove_liquidity),
    (6, dex::add_liquidity_v3),
    (6, dex::pretend),
    (10, creations::create),
    (12, creations::create_inside),
    (76, failures::fail),
];

/// The next activity, drawn by its share.
pub(super) fn draw(rng: &mut StdRng) -> Draw {
    let total: u32 = ACTIVITIES.iter().map(|(share, _)| share).sum();
    let mut drawn = rng.random_range(0..total);
    for (share, activity) in ACTIVITIES {
        if drawn < *share {
            return *activity;
        }
        drawn -= share;
    }
    native::pay
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_thousandths() {
        assert_eq!(ACTIVITIES.iter().map(|(share, _)| share).sum::<u32>(), 1_000);
    }
}
