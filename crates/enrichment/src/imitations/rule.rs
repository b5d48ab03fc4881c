//! Which of two tokens that look the same is the original.

use domain::Address;

use super::likeness::Look;

/// What the rule knows of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) address: Address,
    pub(super) symbol: Look,
    pub(super) name: Look,
    pub(super) holders: u64,
    /// Time of the first block that involves it; None if that is not known.
    pub(super) first_seen: Option<u64>,
    /// Whether the operator gave it a label, and so vouches for it.
    pub(super) is_labelled: bool,
    /// The tokens of pools of one exchange all have the same name.
    pub(super) is_pool: bool,
}

/// What two tokens have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    Symbol,
    Name,
}

/// Set if a token imitates another one: it looks the same, and the other one came first and has more holders, or is the one that
/// needs no disguise, or has the operator's label.
pub(super) fn imitation(token: &Candidate, other: &Candidate) -> Option<Likeness> {
    if token.address == other.address || token.is_labelled || (token.is_pool && other.is_pool) {
        return None;
    }
    let pairs = [(Likeness::Symbol, &token.symbol, &other.symbol), (Likeness::Name, &token.name, &other.name)];
    let imitated = |own: &Look, original: &Look| {
        own.keys.iter().any(|key| original.keys.contains(key))
            && (other.is_labelled
                || match (own.is_disguised, original.is_disguised) {
                    (true, false) => true,
                    (false, true) => false,
                    _ => is_earlier_and_larger(other, token),
                })
    };
    // A token may have the symbol of one and the name of another, such as a collection named after a coin.
    pairs.into_iter().find(|(_, own, original)| imitated(own, original)).map(|(likeness, ..)| likeness)
}

/// Not decided if it is only one of both: imitations are given away to many addresses, and an older token need not be the known one.
fn is_earlier_and_larger(other: &Candidate, token: &Candidate) -> bool {
    let Some((first, later)) = other.first_seen.zip(token.first_seen) else { return false };
    first <= later && other.holders >= token.holders && (first < later || other.holders > token.holders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(byte: u8, symbol: &str, name: &str, holders: u64, first_seen: u64) -> Candidate {
        Candidate {
            address: Address::repeat_byte(byte),
            symbol: Look::of(symbol),
            name: Look::of(name),
            holders,
            first_seen: Some(first_seen),
            is_labelled: false,
            is_pool: false,
        }
    }

    #[test]
    fn the_later_and_smaller_one_is_the_imitation() {
        let (real, copy) = (token(1, "USDC", "USD Coin", 9, 10), token(2, "USDC", "USD Coin", 3, 11));
        assert_eq!((imitation(&copy, &real), imitation(&real, &copy)), (Some(Likeness::Symbol), None));
        let named = token(3, "XYZ", "Usd coin", 3, 11);
        assert_eq!((imitation(&named, &real), imitation(&real, &named)), (Some(Likeness::Name), None));
        assert_eq!(imitation(&token(4, "XYZ", "Other", 3, 11), &real), None);
    }

    #[test]
    fn with_as_many_holders_the_first_is_the_original_and_at_the_same_time_the_larger() {
        let real = token(1, "USDC", "", 1, 10);
        assert_eq!(imitation(&token(2, "USDC", "", 1, 11), &real), Some(Likeness::Symbol));
        assert_eq!(imitation(&token(2, "USDC", "", 0, 10), &real), Some(Likeness::Symbol));
        assert_eq!(imitation(&token(2, "USDC", "", 1, 10), &real), None);
    }

    #[test]
    fn nothing_is_decided_if_the_later_one_is_larger_or_an_age_is_unknown() {
        let (older, larger) = (token(1, "PEPE", "", 5, 10), token(2, "PEPE", "", 900, 20));
        assert_eq!((imitation(&older, &larger), imitation(&larger, &older)), (None, None));
        let unknown = Candidate { first_seen: None, ..token(3, "PEPE", "", 0, 0) };
        assert_eq!((imitation(&unknown, &older), imitation(&older, &unknown)), (None, None));
    }

    #[test]
    fn a_disguise_is_an_imitation_whatever_its_holders() {
        let (real, disguised) = (token(1, "HUSD", "", 5, 10), token(2, "\u{41d}USD", "", 900, 5));
        assert_eq!((imitation(&disguised, &real), imitation(&real, &disguised)), (Some(Likeness::Symbol), None));
    }

    #[test]
    fn a_label_decides_and_tokens_of_pools_do_not_imitate_each_other() {
        let (older, labelled) =
            (token(1, "USDC", "", 50, 10), Candidate { is_labelled: true, ..token(2, "USDC", "", 3, 11) });
        assert_eq!((imitation(&labelled, &older), imitation(&older, &labelled)), (None, Some(Likeness::Symbol)));
        let pool = |byte, first_seen| Candidate { is_pool: true, ..token(byte, "LP", "", 3, first_seen) };
        assert_eq!(imitation(&pool(2, 20), &pool(1, 10)), None);
        assert_eq!(imitation(&pool(2, 20), &token(1, "LP", "", 3, 10)), Some(Likeness::Symbol));
    }
}
