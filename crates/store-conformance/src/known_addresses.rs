//! All addresses of the index, by position, and their numbers of transactions.

use std::collections::BTreeSet;

use domain::{Address, AddressOrigin, TransactionFilter};

use super::{Model, RandomChain, Subject};

pub(super) async fn known_addresses(subject: &Subject, model: &Model, chain: &RandomChain) {
    let seen = model.seen();
    let walked = walk(subject, AddressOrigin::Blocks, 97).await;
    assert_eq!(walked, walk(subject, AddressOrigin::Blocks, u32::MAX).await, "the size of a part changes nothing");
    assert_eq!(walked.len(), seen.len(), "each address once");
    assert_eq!(walked.into_iter().collect::<BTreeSet<_>>(), seen);

    positions(subject, model, seen.len() as u64).await;

    // Parties of reverted blocks stay.
    let internal = walk(subject, AddressOrigin::InternalTransactions, 31).await;
    let distinct: BTreeSet<Address> = internal.iter().copied().collect();
    assert_eq!(distinct.len(), internal.len(), "each address once");
    assert!(distinct.is_disjoint(&seen), "an address of a block");
    assert!(distinct.is_superset(&model.internal_parties().difference(&seen).copied().collect()));

    let sample: Vec<Address> =
        chain.addresses().iter().take(30).chain([&Address::repeat_byte(0xee)]).copied().collect();
    let counts = subject.reader.count_transactions(&sample).await.expect("counts");
    let count = |address: &Address| {
        let touching = TransactionFilter::touching(*address);
        model.transactions().filter(|tx| touching.matches(tx)).count() as u64
    };
    assert_eq!(counts, sample.iter().map(count).collect::<Vec<_>>());
    assert_eq!(subject.reader.count_transactions(&[]).await.expect("counts"), [] as [u64; 0]);
}

/// Where the addresses of some blocks end.
async fn positions(subject: &Subject, model: &Model, end: u64) {
    let find = async |block| subject.reader.find_address_position(block).await.expect("position");
    let Some(tip) = model.tip() else {
        assert_eq!(find(0).await, None);
        return;
    };
    assert_eq!((find(tip.number).await, find(tip.number + 1).await, find(u64::MAX).await), (Some(end), None, None));
    for below in [1, 2, 7, 30] {
        let Some(block) = tip.number.checked_sub(below) else { break };
        let known = model.seen_up_to(block).len() as u64;
        let indexed = model.find_changes(block).is_some();
        assert_eq!(find(block).await, indexed.then_some(known), "addresses up to block {block}");
    }
}

async fn walk(subject: &Subject, origin: AddressOrigin, limit: u32) -> Vec<Address> {
    let (mut walked, mut from) = (Vec::new(), 0);
    loop {
        let found = subject.reader.list_known_addresses(origin, from, limit).await.expect("addresses");
        let positions = found.next - from;
        assert!(found.addresses.len() as u64 <= positions && positions <= u64::from(limit), "{origin:?} from {from}");
        walked.extend(found.addresses);
        if found.next == found.end {
            let past = subject.reader.list_known_addresses(origin, found.end + 5, limit).await.expect("addresses");
            assert_eq!((past.addresses, past.next, past.end), (Vec::new(), found.end, found.end), "past the end");
            return walked;
        }
        assert!(positions > 0, "{origin:?} from {from}");
        from = found.next;
    }
}
