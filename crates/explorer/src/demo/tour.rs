//! What to try first on the demo chain.

use devchain::traffic::{DeployedContracts, Showcase};
use web::TourStop;

pub(super) fn tour(contracts: &DeployedContracts, showcase: &Showcase) -> Vec<TourStop> {
    let Showcase { contracts: shown, .. } = showcase;
    let stop =
        |path: String, title: &str, text: &str| TourStop { path, title: title.to_owned(), text: text.to_owned() };
    vec![
        stop(format!("/tx/{:#x}", showcase.swap), "A swap", "in one sentence, with its trades"),
        stop(format!("/tx/{:#x}", showcase.failed_swap), "A failed swap", "with the error of the contract"),
        stop(format!("/address/{:#x}", contracts.failing), "Other failures", "a text, a panic, out of gas"),
        stop(format!("/tx/{:#x}", showcase.payday), "Payments inside a call", "for a crew of three"),
        stop(format!("/tx/{:#x}/calls", showcase.payday), "Its tree of calls", "through the proxy"),
        stop(format!("/address/{:#x}?tab=contract", shown.payroll), "A proxy", "call its function crew()"),
        stop(format!("/token/{:#x}/{}", contracts.collectible, shown.boat), "An NFT", "with a picture by its contract"),
        stop(format!("/token/{:#x}", shown.impostor), "An impostor", "imitates the symbol HUSD"),
        stop(format!("/tx/{:#x}", showcase.message), "A message", "text in a payment"),
        stop("/contracts".to_owned(), "Verified contracts", "with their sources"),
        stop("/charts".to_owned(), "Charts", "figures by day"),
        stop("/docs".to_owned(), "API", "with an OpenAPI document"),
        stop("/keys".to_owned(), "API keys", "one is in the terminal"),
    ]
}
