//! Verified contracts are removed by the operator.

use super::commands::{operate, printed};
use crate::contracts::verifier_fixture::VerifierFixture;

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_contract_is_removed_and_can_be_verified_again() {
    let fixture = VerifierFixture::start().await;
    let folder = fixture.explorer.data().path().to_owned();
    let address = fixture.verified_coin().await;
    let path = format!("/api/v1/contracts/{address}");
    let page = format!("/address/{address}?tab=contract");
    let listed = async || fixture.explorer.json("/api/v1/contracts").await["total"].clone();
    assert_eq!(fixture.explorer.get(&path).await.status, 200, "{path}");
    assert!(fixture.page(&page).await.contains("Coin.sol"));
    assert_eq!(listed().await, 1);

    let text = printed(&folder, &["contracts", "remove", &address]).await;
    assert!(text.contains("are removed"), "{text}");
    assert_eq!(fixture.explorer.get(&path).await.status, 404);
    assert!(!fixture.page(&page).await.contains("Coin.sol"));
    assert_eq!(listed().await, 0);
    let (is_done, text) = operate(&folder, &["contracts", "remove", &address]).await;
    assert!(!is_done && text.contains("is not verified"), "{text}");
    let nobody = "0x00000000000000000000000000000000000000ff";
    let (is_done, text) = operate(&folder, &["contracts", "remove", nobody]).await;
    assert!(!is_done && text.contains("knows no contract"), "{text}");

    assert_eq!(fixture.verified_coin().await.len(), address.len(), "another one with the same code is verified");
    assert_eq!(listed().await, 1);
    let (_, data) = fixture.explorer.stop().await;
    let text = printed(data.path(), &["contracts", "remove", &address]).await;
    assert!(text.contains("are removed"), "the folder itself: {text}");
}
