//! Approvals of every owner, compared with the model.

use domain::Address;

use super::{
    Model, RandomChain, Subject,
    queries::ORDERS,
    walk::{in_order, walk},
};

pub(super) async fn approvals(subject: &Subject, model: &Model, chain: &RandomChain) {
    let given = model.approvals();
    let sample = chain.addresses().iter().take(20).chain(chain.addresses().iter().rev().take(20));
    for owner in sample.chain([&Address::ZERO, &Address::repeat_byte(0xee)]) {
        let expected = given.get(owner).cloned().unwrap_or_default();
        for order in ORDERS {
            let list = async |page| subject.reader.list_approvals(*owner, page).await;
            let found = walk(order, 6, list).await;
            assert_eq!(found, in_order(expected.clone(), order), "approvals of {owner} {order:?}");
        }
    }
}
