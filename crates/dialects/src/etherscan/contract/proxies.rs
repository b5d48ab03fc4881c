//! The verification of proxies: the implementation is read from the chain, so nothing has to be stored. The id of a submission
//! is the proxy's address, and the expected implementation.

use alloy_primitives::{Address, hex};

use crate::{
    app::App,
    etherscan::{
        answer::{Answer, Failure},
        params::Params,
    },
};

pub(super) async fn submit(app: &App, params: &Params) -> Result<Answer, Failure> {
    let address = params.address("address")?;
    let expected = params.find_address("expectedimplementation")?;
    let code = app.services.node.code(address, node::CallBlock::Latest).await?;
    if code.is_empty() {
        return Err(Failure::text(format!("Unable to locate ContractCode at {address:#x}")));
    }
    let mut id = address.to_vec();
    id.extend(expected.iter().flat_map(|expected| expected.iter()));
    Ok(Answer::text(hex::encode(id)))
}

pub(super) async fn check(app: &App, params: &Params) -> Result<Answer, Failure> {
    let (address, expected) = read_id(params.get("guid")?).ok_or_else(|| Failure::text("Unknown UID"))?;
    let proxy = app.services.delegations.find_proxy(address).await?;
    match proxy.map(|proxy| proxy.implementation).filter(|found| expected.is_none_or(|expected| expected == *found)) {
        Some(found) => Ok(Answer::text(format!(
            "The proxy's ({address:#x}) implementation contract is found at {found:#x} and is successfully updated."
        ))),
        None => Err(Failure::text(
            "A corresponding implementation contract was unfortunately not detected for the proxy address.",
        )),
    }
}

fn read_id(id: &str) -> Option<(Address, Option<Address>)> {
    if !matches!(id.len(), 40 | 80) || id.starts_with("0x") {
        return None;
    }
    let bytes = hex::decode(id).ok()?;
    let (address, expected) = bytes.split_at_checked(20)?;
    Some((Address::try_from(address).ok()?, Address::try_from(expected).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_holds_the_proxy_and_the_expected_implementation() {
        let (one, other) = ("11".repeat(20), "22".repeat(20));
        assert_eq!(read_id(&one), Some((Address::repeat_byte(0x11), None)));
        let both = Some((Address::repeat_byte(0x11), Some(Address::repeat_byte(0x22))));
        assert_eq!(read_id(&format!("{one}{other}")), both);
        for id in ["", "11", &format!("0x{}", "11".repeat(19)), &"zz".repeat(20)] {
            assert_eq!(read_id(id), None, "{id}");
        }
    }
}
