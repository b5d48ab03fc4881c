//! Ids of tokens: every list of every token, id and holder, compared with the model.

use std::cmp::Reverse;

use domain::{
    Address, B256, BlockRef, HeldNft, Nft, NftAttribute, NftDocument, NftMetadata, Order, Page, PageRequest, U256,
};

use super::{
    Model, RandomChain, Subject,
    queries::ORDERS,
    walk::{in_order, walk},
};

pub(super) async fn nfts(subject: &Subject, model: &Model, chain: &RandomChain) {
    let reader = &subject.reader;
    let (every, tokens) = (model.nfts(), model.tokens());
    for token in chain.tokens().chain([Address::repeat_byte(0xee)]) {
        let expected: Vec<Nft> = every.iter().map(|nft| nft.nft).filter(|nft| nft.token == token).collect();
        let is_known = tokens.iter().any(|known| known.address == token);
        let first = reader.list_nfts(token, PageRequest::newest(1)).await.expect("ids");
        assert_eq!(first.map(|page| page.total), is_known.then_some(expected.len() as u64), "ids of {token}");
        for order in ORDERS {
            let list = async |page| Ok(reader.list_nfts(token, page).await?.unwrap_or(Page::empty(0)));
            assert_eq!(walk(order, 13, list).await, in_order(expected.clone(), order), "ids of {token} {order:?}");
        }
        assert_eq!(reader.find_nft(token, U256::MAX).await.expect("id"), None);
        assert_eq!(reader.list_nft_holders(token, U256::MAX, PageRequest::newest(1)).await.expect("holders"), None);
        assert_eq!(reader.list_nft_transfers(token, U256::MAX, PageRequest::newest(1)).await.expect("transfers"), None);
    }
    // All of them would take most of the time of a run: others each time.
    let step = every.len() / 40 + 1;
    for expected in every.iter().skip(every.len() % step).step_by(step) {
        let Nft { token, id, .. } = expected.nft;
        assert_eq!(reader.find_nft(token, id).await.expect("id"), Some(expected.nft));
        let list = async |page| Ok(reader.list_nft_holders(token, id, page).await?.expect("a known id"));
        let mut holders = walk(Order::NewestFirst, 5, list).await;
        assert!(holders.is_sorted_by_key(|holder| Reverse(holder.balance)), "the largest amount comes first");
        let reversed = walk(Order::OldestFirst, 5, list).await;
        assert!(reversed.iter().eq(holders.iter().rev()), "holders from the other end");
        holders.sort_by_key(|holder| (Reverse(holder.balance), holder.address));
        assert_eq!(holders, expected.holders, "holders of {id} of {token}");
        for order in ORDERS {
            let list = async |page| Ok(reader.list_nft_transfers(token, id, page).await?.expect("a known id"));
            let expected = in_order(expected.transfers.clone(), order);
            assert_eq!(walk(order, 7, list).await, expected, "transfers of {id} of {token} {order:?}");
        }
    }
    let held = model.held_nfts(&every);
    let sample = chain.addresses().iter().take(20).chain(chain.addresses().iter().rev().take(20));
    for address in sample.chain([&Address::ZERO, &Address::repeat_byte(0xee)]) {
        let expected: Vec<HeldNft> = held.get(address).cloned().unwrap_or_default();
        for order in ORDERS {
            let list = async |page| reader.list_held_nfts(*address, page).await;
            assert_eq!(walk(order, 17, list).await, in_order(expected.clone(), order), "ids of {address} {order:?}");
        }
    }
}

/// Metadata is kept as it is, one for each id: texts may be empty, long, or contain zeros.
pub(super) async fn cached_metadata(subject: &Subject) {
    let (kept, token) = (&subject.nft_metadata, Address::repeat_byte(0x71));
    let find = async |id| kept.find_nft_metadata(token, id).await.expect("metadata");
    assert_eq!(find(U256::ZERO).await, None);
    let document = NftDocument {
        name: Some("a\0b \u{202e}<script>".to_owned()),
        description: Some(String::new()),
        image: Some("x".repeat(60_000)),
        attributes: vec![
            NftAttribute { trait_type: None, value: String::new() },
            NftAttribute { trait_type: Some("color".to_owned()), value: "\0".to_owned() },
        ],
    };
    let (uri, block) = (Some("https://host.example/0".to_owned()), BlockRef { number: 7, hash: B256::repeat_byte(9) });
    let first = NftMetadata { uri, block, fetched_at: 1, document: Ok(document) };
    let empty = NftMetadata { fetched_at: 2, document: Ok(NftDocument::default()), ..first.clone() };
    let failed = NftMetadata { uri: None, fetched_at: 3, document: Err("no such host".to_owned()), ..first.clone() };
    for metadata in [first, empty, failed.clone()] {
        kept.save_nft_metadata(token, U256::ZERO, metadata.clone()).await.expect("save");
        assert_eq!(find(U256::ZERO).await, Some(metadata));
    }
    assert_eq!(find(U256::MAX).await, None, "another id");
    kept.save_nft_metadata(token, U256::MAX, failed.clone()).await.expect("save");
    assert_eq!(find(U256::MAX).await, Some(failed));
    assert_eq!(kept.find_nft_metadata(Address::ZERO, U256::ZERO).await.expect("metadata"), None, "another token");
}
