//! How often each activity occurs.

use rand::{Rng, rngs::StdRng};

use super::{
    TrafficError, collectibles, context::ActivityContext, creations, dex, failures, intent::Intent, native, tokens,
};

type Activity = fn(&mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError>;

/// A distribution of activities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mix {
    /// All activities.
    #[default]
    Everyday,
    /// Mostly token transfers and swaps: about 1.3 token transfers per transaction.
    Trading,
}

impl Mix {
    fn activities(self) -> &'static [(u32, Activity)] {
        match self {
            Self::Everyday => EVERYDAY,
            Self::Trading => TRADING,
        }
    }
}

/// Activities with their share, in thousandths.
const EVERYDAY: &[(u32, Activity)] = &[
    (160, native::pay),
    (40, native::pay_large_amount),
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

const TRADING: &[(u32, Activity)] = &[
    (70, native::pay),
    (10, native::pay_large_amount),
    (5, native::pay_nothing),
    (5, native::pay_oneself),
    (10, native::count),
    (10, native::use_vault),
    (230, tokens::transfer),
    (20, tokens::approve),
    (40, tokens::transfer_from),
    (10, tokens::mint),
    (10, tokens::burn),
    (10, tokens::wrap),
    (10, tokens::unwrap),
    (15, collectibles::mint),
    (15, collectibles::transfer),
    (5, collectibles::approve),
    (5, collectibles::burn),
    (15, collectibles::mint_items),
    (30, collectibles::transfer_items),
    (10, collectibles::burn_items),
    (190, dex::swap_tokens),
    (60, dex::buy_with_coins),
    (60, dex::sell_for_coins),
    (100, dex::swap_v3),
    (10, dex::add_liquidity),
    (6, dex::remove_liquidity),
    (4, dex::add_liquidity_v3),
    (2, dex::pretend),
    (4, creations::create),
    (4, creations::create_inside),
    (25, failures::fail),
];

/// A random activity, weighted by share.
pub(super) fn draw(mix: Mix, rng: &mut StdRng) -> Activity {
    let activities = mix.activities();
    let total: u32 = activities.iter().map(|(share, _)| share).sum();
    let mut drawn = rng.random_range(0..total);
    for (share, activity) in activities {
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
    fn the_shares_add_up_to_one_thousand() {
        for mix in [Mix::Everyday, Mix::Trading] {
            assert_eq!(mix.activities().iter().map(|(share, _)| share).sum::<u32>(), 1_000, "{mix:?}");
        }
    }
}
