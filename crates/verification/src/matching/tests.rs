//! Every matching rule, and every known way to a false match, on hand-made contracts.

use alloy_primitives::{Address, B256, Bytes, hex};

use super::*;
use crate::{
    CompiledCode, LibraryLink, MetadataHash,
    code::{HashKind, hash_metadata},
};

const HERE: Address = Address::repeat_byte(0x11);
const BODY: [u8; 8] = hex!("6080604052600080");
const INIT: [u8; 6] = hex!("608060405260");

/// Metadata as a compiler of this version would append it.
fn auxdata(metadata: &str, version: [u8; 3]) -> Vec<u8> {
    let Some(MetadataHash::Ipfs(hash)) = hash_metadata(HashKind::Ipfs, metadata.as_bytes()) else { panic!("no hash") };
    [&hex!("a2646970667358221220")[..], hash.as_slice(), &hex!("64736f6c6343"), &version, &hex!("0033")].concat()
}

const SOLC: [u8; 3] = [0, 8, 20];

/// A contract with this code, followed by its metadata, and with a constructor.
fn contract(body: &[u8], metadata: &str) -> CompiledContract {
    let runtime = [body, &[0xfe], &auxdata(metadata, SOLC)].concat();
    CompiledContract {
        file: "A.sol".to_owned(),
        name: "A".to_owned(),
        abi: "[]".to_owned(),
        metadata: metadata.to_owned(),
        creation: CompiledCode { bytes: [&INIT[..], &runtime].concat(), links: vec![] },
        runtime: CompiledCode { bytes: runtime, links: vec![] },
        immutables: vec![],
        ..CompiledContract::default()
    }
}

fn at(runtime: &[u8]) -> DeployedCode<'_> {
    DeployedCode { address: HERE, runtime, creation: None }
}

fn runtime(compiled: &CompiledContract, on_chain: &[u8]) -> Result<MatchKind, Difference> {
    compare(compiled, None, at(on_chain)).runtime.map(|found| found.kind)
}

fn creation(compiled: &CompiledContract, on_chain: &[u8]) -> Result<(MatchKind, Bytes), Difference> {
    let chain = DeployedCode { address: HERE, runtime: &[], creation: Some(on_chain) };
    compare(compiled, None, chain).creation.unwrap().map(|(found, arguments)| (found.kind, arguments))
}

#[test]
fn the_same_bytes_with_a_hash_over_the_sources_are_an_exact_match() {
    let compiled = contract(&BODY, "{one}");
    assert_eq!(runtime(&compiled, &compiled.runtime.bytes), Ok(MatchKind::Exact));
    assert_eq!(creation(&compiled, &compiled.creation.bytes), Ok((MatchKind::Exact, Bytes::new())));
}

#[test]
fn the_same_bytes_without_a_hash_are_a_partial_match() {
    let tail = hex!("a164736f6c6343000814000a");
    let mut compiled = contract(&BODY, "{one}");
    compiled.runtime.bytes = [&BODY[..], &[0xfe], &tail].concat();
    assert_eq!(runtime(&compiled, &compiled.runtime.bytes.clone()), Ok(MatchKind::Partial));
}

#[test]
fn a_different_hash_at_the_end_is_a_partial_match() {
    let (compiled, on_chain) = (contract(&BODY, "{one}"), contract(&BODY, "{two}"));
    assert_eq!(runtime(&compiled, &on_chain.runtime.bytes), Ok(MatchKind::Partial));
    assert_eq!(creation(&compiled, &on_chain.creation.bytes), Ok((MatchKind::Partial, Bytes::new())));
}

#[test]
fn a_different_byte_of_code_is_no_match_and_its_offset_is_reported() {
    let compiled = contract(&BODY, "{one}");
    for offset in 0..BODY.len() {
        let mut on_chain = compiled.runtime.bytes.clone();
        on_chain[offset] ^= 1;
        let Err(Difference::Code { offset: reported, differing: 1, maybe_metadata: false, .. }) =
            runtime(&compiled, &on_chain)
        else {
            panic!("byte {offset}")
        };
        assert_eq!(reported, offset);
    }
    // Nor if the metadata differs as well.
    let mut on_chain = contract(&BODY, "{two}").runtime.bytes;
    on_chain[3] ^= 1;
    assert!(matches!(runtime(&compiled, &on_chain), Err(Difference::Code { offset: 3, differing: 1, .. })));
}

#[test]
fn different_code_is_not_reported_as_different_metadata() {
    let compiled = contract(&BODY, "{one}");
    // Code of the same length without metadata: equal up to the start of the metadata, or different from the beginning.
    for start in [0, BODY.len() + 1] {
        let mut on_chain = compiled.runtime.bytes.clone();
        on_chain[start..].fill(0x5b);
        let found = runtime(&compiled, &on_chain);
        assert!(matches!(found, Err(Difference::Code { offset, .. }) if offset == start), "{found:?}");
    }
    let mut on_chain = compiled.creation.bytes.clone();
    on_chain.fill(0x5b);
    let found = creation(&compiled, &on_chain);
    assert!(matches!(found, Err(Difference::Code { offset: 0, .. })), "{found:?}");

    // The same code with metadata of other fields, as long as ours.
    let mut on_chain = compiled.runtime.bytes.clone();
    let key = on_chain.windows(4).position(|window| window == b"ipfs").unwrap();
    on_chain[key..key + 4].copy_from_slice(b"ipfz");
    assert_eq!(runtime(&compiled, &on_chain), Err(Difference::MetadataFields));
}

#[test]
fn a_different_length_is_no_match() {
    let compiled = contract(&BODY, "{one}");
    let longer = contract(&[&BODY[..], &[0]].concat(), "{one}");
    assert!(matches!(runtime(&compiled, &longer.runtime.bytes), Err(Difference::Length { .. })));
    assert!(matches!(runtime(&longer, &compiled.runtime.bytes), Err(Difference::Length { .. })));
    assert!(matches!(runtime(&compiled, &[]), Err(Difference::Length { .. })));
}

#[test]
fn an_abstract_contract_matches_nothing() {
    let nothing = CompiledContract { abi: "[]".to_owned(), ..CompiledContract::default() };
    let on_chain = contract(&BODY, "{one}");
    for chain in [on_chain.runtime.bytes.as_slice(), &[]] {
        assert_eq!(runtime(&nothing, chain), Err(Difference::NoCode));
        assert_eq!(creation(&nothing, chain), Err(Difference::NoCode));
    }
    let any = r#"[{"type":"constructor","stateMutability":"nonpayable","inputs":[{"name":"x","type":"bytes"}]}]"#;
    let greedy = CompiledContract { abi: any.to_owned(), ..nothing };
    assert_eq!(creation(&greedy, &on_chain.creation.bytes), Err(Difference::NoCode));
}

#[test]
fn code_on_the_chain_without_metadata_matches_code_whose_metadata_is_cut_off() {
    let compiled = contract(&BODY, "{one}");
    assert_eq!(runtime(&compiled, &BODY), Ok(MatchKind::Partial));
    assert_eq!(runtime(&compiled, &[&BODY[..], &[0xfe]].concat()), Ok(MatchKind::Partial));
    assert!(matches!(runtime(&compiled, &BODY[1..]), Err(Difference::Length { .. })));
    let mut other = BODY;
    other[2] ^= 1;
    assert!(matches!(runtime(&compiled, &other), Err(Difference::Code { offset: 2, .. })));
}

#[test]
fn metadata_may_not_be_cut_off_where_the_chain_has_some() {
    let none = hex!("a164736f6c6343000814000a");
    // Code that ends in the shorter metadata on the chain, as long as the compiled one without its own.
    let body = [&BODY[..], &none].concat();
    let compiled = contract(&body, "{one}");
    let on_chain = [&BODY[..], &none].concat();
    assert!(matches!(runtime(&compiled, &on_chain), Err(Difference::Length { .. })));
}

fn library() -> CompiledContract {
    contract(&[&[0x73][..], &[0; 20], &hex!("3014608060")].concat(), "{library}")
}

#[test]
fn call_protection_with_the_library_s_own_address_matches() {
    let compiled = library();
    let mut on_chain = compiled.runtime.bytes.clone();
    on_chain[1..21].copy_from_slice(HERE.as_slice());
    assert_eq!(runtime(&compiled, &on_chain), Ok(MatchKind::Exact));
}

#[test]
fn call_protection_with_another_address_is_no_match() {
    let compiled = library();
    let mut on_chain = compiled.runtime.bytes.clone();
    let foreign = Address::repeat_byte(0x22);
    on_chain[1..21].copy_from_slice(foreign.as_slice());
    assert_eq!(runtime(&compiled, &on_chain), Err(Difference::CallProtection { found: foreign }));
    // With the zero address it is not deployed code.
    assert_eq!(runtime(&compiled, &compiled.runtime.bytes), Err(Difference::CallProtection { found: Address::ZERO }));
}

fn with_immutables() -> CompiledContract {
    let body = [&[0x7f][..], &[0; 32], &[0x7f], &[0; 32], &[0x7f], &[0; 32]].concat();
    let mut compiled = contract(&body, "{immutables}");
    compiled.immutables =
        vec![("5".to_owned(), vec![1..33, 34..66]), ("9".to_owned(), std::iter::once(67..99).collect())];
    compiled
}

#[test]
fn immutables_are_taken_from_the_chain() {
    let compiled = with_immutables();
    let mut on_chain = compiled.runtime.bytes.clone();
    on_chain[1..33].fill(7);
    on_chain[34..66].fill(7);
    on_chain[67..99].fill(8);
    let found = compare(&compiled, None, at(&on_chain)).runtime.unwrap();
    assert_eq!(found.kind, MatchKind::Exact);
    assert_eq!(found.immutables["5"], Bytes::from(vec![7; 32]));
    assert_eq!(found.immutables["9"], Bytes::from(vec![8; 32]));
}

#[test]
fn one_immutable_with_two_values_is_no_match() {
    let compiled = with_immutables();
    let mut on_chain = compiled.runtime.bytes.clone();
    on_chain[1..33].fill(7);
    on_chain[34..66].fill(6);
    assert_eq!(runtime(&compiled, &on_chain), Err(Difference::Immutables { id: "5".to_owned() }));
}

#[test]
fn bytes_next_to_an_immutable_must_match() {
    let compiled = with_immutables();
    let mut on_chain = compiled.runtime.bytes.clone();
    on_chain[33] = 0x7e;
    assert!(matches!(runtime(&compiled, &on_chain), Err(Difference::Code { offset: 33, .. })));
}

fn linked() -> CompiledContract {
    let body = [&[0x73][..], &[1; 1], &[0; 20], &[0x73], &[0; 20]].concat();
    let mut compiled = contract(&body, "{linked}");
    let link = |start: usize| LibraryLink { library: "l.sol:L".to_owned(), span: start..start + 20 };
    compiled.runtime.links = vec![link(2), link(23)];
    compiled.creation.links = vec![link(2 + INIT.len()), link(23 + INIT.len())];
    compiled
}

#[test]
fn addresses_of_libraries_are_taken_from_the_chain() {
    let compiled = linked();
    let library = Address::repeat_byte(0x33);
    let mut on_chain = compiled.runtime.bytes.clone();
    on_chain[2..22].copy_from_slice(library.as_slice());
    on_chain[23..43].copy_from_slice(library.as_slice());
    let found = compare(&compiled, None, at(&on_chain)).runtime.unwrap();
    assert_eq!((found.kind, found.libraries["l.sol:L"]), (MatchKind::Exact, library));
}

#[test]
fn one_library_at_two_addresses_is_no_match() {
    let compiled = linked();
    let mut on_chain = compiled.runtime.bytes.clone();
    on_chain[2..22].fill(0x33);
    on_chain[23..43].fill(0x44);
    let refused = Difference::Library { library: "l.sol:L".to_owned() };
    assert_eq!(runtime(&compiled, &on_chain), Err(refused.clone()));

    // Nor may the creation code name another one than the runtime code.
    on_chain[23..43].fill(0x33);
    let mut created = compiled.creation.bytes.clone();
    created[2 + INIT.len()..22 + INIT.len()].fill(0x55);
    created[23 + INIT.len()..43 + INIT.len()].fill(0x55);
    let chain = DeployedCode { address: HERE, runtime: &on_chain, creation: Some(&created) };
    assert_eq!(compare(&compiled, None, chain).creation, Some(Err(refused)));
}

#[test]
fn equal_code_of_another_compiler_is_no_match() {
    let compiled = contract(&BODY, "{one}");
    let older = [&BODY[..], &[0xfe], &auxdata("{two}", [0, 8, 19])].concat();
    let refused = Difference::Compiler { compiled: "0.8.20".to_owned(), on_chain: "0.8.19".to_owned() };
    assert_eq!(runtime(&compiled, &older), Err(refused.clone()));
    assert_eq!(creation(&compiled, &[&INIT[..], &older].concat()), Err(refused.clone()));

    // Also without a hash to compare.
    let mut bare = compiled.clone();
    bare.runtime.bytes = [&BODY[..], &hex!("a164736f6c6343000814000a")].concat();
    let older = [&BODY[..], &hex!("a164736f6c6343000813000a")].concat();
    assert_eq!(runtime(&bare, &older), Err(refused));
}

#[test]
fn a_constant_that_looks_like_metadata_is_code() {
    let fake = |byte: u8| [&hex!("a2646970667358221220")[..], &[byte; 32], &hex!("64736f6c63430008140033")].concat();
    // In the middle of code.
    let body = |byte| [&BODY[..], &fake(byte), &BODY].concat();
    let (compiled, on_chain) = (contract(&body(1), "{one}"), contract(&body(2), "{one}"));
    let found = runtime(&compiled, &on_chain.runtime.bytes);
    assert!(matches!(found, Err(Difference::Code { maybe_metadata: true, .. })), "{found:?}");
    // The second compilation shows that it does not change with the sources.
    let altered = contract(&body(1), "{one }");
    let compared = compare(&compiled, Some(&altered), at(&on_chain.runtime.bytes));
    assert!(matches!(compared.runtime, Err(Difference::Code { maybe_metadata: false, .. })), "{compared:?}");

    // At the end of code without metadata.
    let mut compiled = contract(&BODY, "{one}");
    compiled.runtime.bytes = [&BODY[..], &fake(1)].concat();
    let on_chain = [&BODY[..], &fake(2)].concat();
    assert!(matches!(runtime(&compiled, &on_chain), Err(Difference::Code { .. })));
    compiled.creation.bytes = [&INIT[..], &compiled.runtime.bytes].concat();
    assert!(creation(&compiled, &[&INIT[..], &on_chain].concat()).is_err());
}

/// A contract that contains another one, with its own metadata.
fn factory(metadata: &str, child: &str) -> CompiledContract {
    contract(&[&BODY[..], &contract(&BODY, child).runtime.bytes, &BODY].concat(), metadata)
}

#[test]
fn metadata_of_created_contracts_is_located_by_a_second_compilation() {
    let (compiled, altered) = (factory("{one}", "{child}"), factory("{one }", "{child }"));
    let on_chain = factory("{two}", "{other child}");
    let chain =
        DeployedCode { address: HERE, runtime: &on_chain.runtime.bytes, creation: Some(&on_chain.creation.bytes) };
    let once = compare(&compiled, None, chain);
    assert!(once.verdict().is_none() && once.needs_altered());
    let twice = compare(&compiled, Some(&altered), chain);
    assert_eq!((twice.runtime_kind(), twice.creation_kind()), (Some(MatchKind::Partial), Some(MatchKind::Partial)));

    // A byte of the created contract's code is still code.
    let mut changed = on_chain.runtime.bytes.clone();
    changed[BODY.len() + 1] ^= 1;
    let refused = compare(&compiled, Some(&altered), at(&changed));
    assert!(matches!(refused.runtime, Err(Difference::Code { differing: 1, .. })), "{refused:?}");
    assert!(!refused.needs_altered());
}

#[test]
fn a_created_contract_of_another_compiler_is_no_match() {
    let (compiled, altered) = (factory("{one}", "{child}"), factory("{one }", "{child }"));
    let mut on_chain = factory("{two}", "{other child}").runtime.bytes;
    let inner = BODY.len() + BODY.len() + 1;
    let end = inner + auxdata("{child}", SOLC).len();
    let version = end - 3;
    assert_eq!(on_chain[version], 20);
    on_chain[version] = 19;
    assert!(compare(&compiled, Some(&altered), at(&on_chain)).runtime.is_err());
}

fn abi_of_constructor(types: &[&str]) -> String {
    let inputs: Vec<String> = types.iter().map(|kind| format!(r#"{{"name":"","type":"{kind}"}}"#)).collect();
    format!(r#"[{{"type":"constructor","stateMutability":"nonpayable","inputs":[{}]}}]"#, inputs.join(","))
}

#[test]
fn constructor_arguments_are_decoded_and_encoded_again() {
    let mut compiled = contract(&BODY, "{one}");
    compiled.abi = abi_of_constructor(&["uint256", "address"]);
    let arguments = [B256::with_last_byte(7).to_vec(), B256::left_padding_from(HERE.as_slice()).to_vec()].concat();
    let with = |more: &[u8]| [&compiled.creation.bytes[..], more].concat();
    assert_eq!(creation(&compiled, &with(&arguments)), Ok((MatchKind::Exact, Bytes::from(arguments.clone()))));

    let refused = |on_chain: &[u8]| {
        assert!(matches!(creation(&compiled, on_chain), Err(Difference::ConstructorArguments(_))));
    };
    refused(&with(&[]));
    refused(&with(&arguments[..63]));
    refused(&with(&[&arguments[..], &[0]].concat()));
    refused(&with(&[&arguments[..], &[0; 32]].concat()));
    // A word that is not an address.
    let mut dirty = arguments;
    dirty[32] = 1;
    refused(&with(&dirty));
}

#[test]
fn bytes_after_a_constructor_without_arguments_are_no_match() {
    let compiled = contract(&BODY, "{one}");
    let longer = [&compiled.creation.bytes[..], &[0; 32]].concat();
    assert!(matches!(creation(&compiled, &longer), Err(Difference::ConstructorArguments(_))));
    assert!(matches!(creation(&compiled, &longer[..20]), Err(Difference::Length { .. })));
}

#[test]
fn non_standard_encodings_of_arguments_are_no_match() {
    let mut compiled = contract(&BODY, "{one}");
    compiled.abi = abi_of_constructor(&["string"]);
    let word = |byte: u8| B256::with_last_byte(byte).to_vec();
    let mut text = vec![b'h', b'i'];
    text.resize(32, 0);
    let usual = [word(32), word(2), text.clone()].concat();
    let unusual = [word(64), word(0), word(2), text].concat();
    let with = |more: &[u8]| [&compiled.creation.bytes[..], more].concat();
    assert!(creation(&compiled, &with(&usual)).is_ok());
    assert!(matches!(creation(&compiled, &with(&unusual)), Err(Difference::ConstructorArguments(_))));
}

#[test]
fn runtime_and_creation_are_compared_independently_and_the_runtime_decides() {
    let (compiled, other) = (contract(&BODY, "{one}"), contract(&BODY, "{two}"));
    let chain = DeployedCode { address: HERE, runtime: &other.runtime.bytes, creation: Some(&compiled.creation.bytes) };
    let compared = compare(&compiled, None, chain);
    assert_eq!(compared.runtime_kind(), Some(MatchKind::Partial));
    assert_eq!(compared.creation_kind(), Some(MatchKind::Exact));
    assert_eq!(compared.verdict(), Some(MatchKind::Partial));

    let foreign = [0; 60];
    let chain = DeployedCode { address: HERE, runtime: &compiled.runtime.bytes, creation: Some(&foreign) };
    let compared = compare(&compiled, None, chain);
    assert_eq!((compared.creation_kind(), compared.verdict()), (None, Some(MatchKind::Exact)));
}

#[test]
fn matching_creation_code_alone_is_no_match() {
    // A constructor can return any code, for example that of somebody else's contract.
    let (compiled, victim) = (contract(&BODY, "{one}"), contract(&hex!("60016002"), "{victim}"));
    let chain =
        DeployedCode { address: HERE, runtime: &victim.runtime.bytes, creation: Some(&compiled.creation.bytes) };
    let compared = compare(&compiled, None, chain);
    assert_eq!((compared.verdict(), compared.creation_kind()), (None, Some(MatchKind::Exact)));
}

#[test]
fn extra_bytes_after_the_code_are_no_match() {
    let compiled = contract(&BODY, "{one}");
    for extra in [&hex!("00")[..], &hex!("fe"), &auxdata("{two}", SOLC), &[0; 64]] {
        let longer = [&compiled.runtime.bytes[..], extra].concat();
        assert!(matches!(runtime(&compiled, &longer), Err(Difference::Length { .. })), "{} bytes", extra.len());
    }
}

#[test]
fn only_libraries_name_their_own_address() {
    let compiled = library();
    let mut on_chain = compiled.runtime.bytes.clone();
    on_chain[1..21].copy_from_slice(HERE.as_slice());
    assert!(compare(&compiled, None, at(&on_chain)).runtime.unwrap().names_own_address);
    let plain = contract(&BODY, "{one}");
    assert!(!compare(&plain, None, at(&plain.runtime.bytes)).runtime.unwrap().names_own_address);
}

#[test]
fn a_stored_template_compares_like_the_compiled_contract() {
    let (compiled, altered) = (factory("{one}", "{child}"), factory("{one }", "{child }"));
    let (mut compiled, mut altered) = (compiled, altered);
    compiled.abi = abi_of_constructor(&["uint256"]);
    altered.abi.clone_from(&compiled.abi);
    let kept = creation_template(&compiled, Some(&altered)).unwrap();
    let argument = B256::with_last_byte(7);
    let others =
        [compiled.clone(), factory("{two}", "{other child}"), factory("{two}", "{child}"), contract(&BODY, "{x}")];
    for other in others {
        for extra in [&argument[..], &[], &argument[1..]] {
            let created = [&other.creation.bytes[..], extra].concat();
            let chain = DeployedCode { address: HERE, runtime: &[], creation: Some(&created) };
            let at_once = compare(&compiled, Some(&altered), chain).creation.unwrap();
            assert_eq!(compare_creation(&kept, &compiled.abi, &created, None), at_once);
        }
    }
    assert_eq!(creation_template(&CompiledContract::default(), None), None);
}

proptest::proptest! {
    #[test]
    fn changed_code_never_matches(offset in 0_usize..8, mask in 1_u8..) {
        let compiled = contract(&BODY, "{one}");
        let mut on_chain = contract(&BODY, "{two}").runtime.bytes;
        on_chain[offset] ^= mask;
        proptest::prop_assert!(runtime(&compiled, &on_chain).is_err());
    }

    #[test]
    fn arbitrary_chain_code_never_panics(code: Vec<u8>, creation: Vec<u8>) {
        let chain = DeployedCode { address: HERE, runtime: &code, creation: Some(&creation) };
        for compiled in [contract(&BODY, "{one}"), linked(), with_immutables(), library()] {
            let _ = compare(&compiled, Some(&compiled), chain);
        }
    }
}
