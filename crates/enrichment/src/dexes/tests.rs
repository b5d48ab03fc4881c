use super::*;

const PANCAKE: &str = "0xcA143Ce32Fe78f1f7019d7d551a6402fC5350c73";
const OTHER: &str = "0x00000000000000000000000000000000000000Ab";

fn exchange(style: PoolStyle, factory: &str) -> Exchange {
    Exchange { style, factory: factory.parse().unwrap() }
}

fn entry(name: &str, factory: &str) -> DexEntry {
    DexEntry { name: name.to_owned(), factory: factory.to_owned() }
}

#[test]
fn a_known_factory_has_a_name_only_for_its_own_style() {
    let dexes = Dexes::default();
    assert_eq!(dexes.name(exchange(PoolStyle::V2, PANCAKE)), "PancakeSwap v2");
    assert_eq!(
        dexes.name(exchange(PoolStyle::V3, PANCAKE)),
        "v3-0xca143ce32fe78f1f7019d7d551a6402fc5350c73",
        "a name implies the style"
    );
}

#[test]
fn an_unknown_factory_is_named_by_style_and_address_in_lower_case() {
    let dexes = Dexes::default();
    let name = dexes.name(exchange(PoolStyle::V3, OTHER));
    assert_eq!(name, "v3-0x00000000000000000000000000000000000000ab");
    assert_eq!(dexes.exchanges(&name), [exchange(PoolStyle::V3, OTHER)]);
}

#[test]
fn both_forms_are_found_in_any_letter_case() {
    let dexes = Dexes::default();
    for text in ["Biswap", "biswap", "BISWAP", "V2-0X858E3312ED3A876947EA49D572A7C42DE08AF7EE"] {
        let biswap = exchange(PoolStyle::V2, "0x858E3312ed3A876947EA49d572A7C42DE08af7EE");
        assert_eq!(dexes.exchanges(text), [biswap], "{text}");
    }
    assert_eq!(dexes.exchanges("pancakeswap V2").len(), 2, "one on each of two chains");
}

#[test]
fn an_unknown_name_has_no_exchange() {
    let dexes = Dexes::default();
    for text in ["Nowhere", " Biswap", "v2-", "v4-0x858e3312ed3a876947ea49d572a7c42de08af7ee", "v2-0x85", PANCAKE] {
        assert!(dexes.exchanges(text).is_empty(), "{text}");
    }
}

#[test]
fn known_names_and_factories_map_to_each_other() {
    let dexes = Dexes::default();
    for (name, exchange) in known::KNOWN {
        assert_eq!(dexes.name(exchange), name);
        assert!(dexes.exchanges(name).contains(&exchange), "{name}");
    }
}

#[test]
fn the_operators_names_are_added_to_the_known_ones() {
    let dexes = Dexes::with(&[entry("House Swap", OTHER)]).unwrap();
    for style in PoolStyle::ALL {
        assert_eq!(dexes.name(exchange(style, OTHER)), "House Swap");
        assert!(dexes.exchanges("house swap").contains(&exchange(style, OTHER)));
    }
    assert_eq!(dexes.name(exchange(PoolStyle::V2, PANCAKE)), "PancakeSwap v2");
}

#[test]
fn the_operators_names_take_precedence_over_the_known_ones() {
    let renamed = Dexes::with(&[entry("Pancake", PANCAKE)]).unwrap();
    assert_eq!(renamed.name(exchange(PoolStyle::V2, PANCAKE)), "Pancake");
    assert!(!renamed.exchanges("PancakeSwap v2").contains(&exchange(PoolStyle::V2, PANCAKE)));

    let taken = Dexes::with(&[entry("pancakeswap V2", OTHER)]).unwrap();
    assert_eq!(taken.exchanges("PancakeSwap v2"), [exchange(PoolStyle::V2, OTHER), exchange(PoolStyle::V3, OTHER)]);
    assert_eq!(taken.name(exchange(PoolStyle::V2, PANCAKE)), format!("v2-{}", PANCAKE.to_lowercase()));
}

#[test]
fn several_factories_may_share_a_name() {
    let dexes = Dexes::with(&[entry("House Swap", OTHER), entry("house swap", PANCAKE)]).unwrap();
    let found = dexes.exchanges("HOUSE SWAP");
    for factory in [OTHER, PANCAKE] {
        assert!(found.contains(&exchange(PoolStyle::V2, factory)), "{factory}");
    }
    assert_eq!(dexes.name(exchange(PoolStyle::V2, PANCAKE)), "house swap");
}

#[test]
fn invalid_entries_are_rejected() {
    let error = |entries: &[DexEntry]| Dexes::with(entries).unwrap_err();
    assert_eq!(
        error(&[entry("One", OTHER), entry("Two", &OTHER.to_lowercase())]),
        DexesError::RepeatedFactory { factory: OTHER.parse().unwrap() }
    );
    assert_eq!(error(&[entry("", OTHER)]), DexesError::EmptyName);
    for name in [" One", "One ", "O\u{7}e", "\n"] {
        assert_eq!(error(&[entry(name, OTHER)]), DexesError::UntidyName { name: name.to_owned() });
    }
    let long = "a".repeat(65);
    assert_eq!(error(&[entry(&long, OTHER)]), DexesError::LongName { name: long.clone() });
    let reserved = format!("V3-{OTHER}");
    assert_eq!(error(&[entry(&reserved, OTHER)]), DexesError::ReservedName { name: reserved.clone() });
    for factory in ["", "0x12", &OTHER[2..], "0xzz000000000000000000000000000000000000ab"] {
        let found = error(&[entry("One", factory)]);
        assert_eq!(found, DexesError::BadFactory { name: "One".to_owned(), factory: factory.to_owned() });
    }
}
