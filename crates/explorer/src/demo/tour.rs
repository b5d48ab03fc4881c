//! What to try first on the demo chain.

use devchain::traffic::{DeployedContracts, Showcase};
use web::TourStop;

pub(super) fn tour(contracts: &DeployedContracts, showcase: &Showcase) -> Vec<TourStop> {
    let Showcase { contracts: shown, .. } = showcase;
    let stop =
        |path: String, title: &str, text: &str| TourStop { path, title: title.to_owned(), text: text.to_owned() };
    vec![
        stop(format!("/tx/{:#x}", showcase.swap), "A swap", "in one sentence, with its trades and decoded logs"),
        stop(format!("/tx/{:#x}", showcase.failed_swap), "A failed swap", "with the error that its contract returned"),
        stop(
            format!("/address/{:#x}", contracts.failing),
            "Other failures",
            "with a text, with a panic, or out of gas",
        ),
        stop(format!("/tx/{:#x}", showcase.payday), "Payments inside a call", "wages for a crew of three"),
        stop(format!("/tx/{:#x}/calls", showcase.payday), "Its tree of calls", "through the proxy to the receivers"),
        stop(
            format!("/address/{:#x}?tab=contract", shown.payroll),
            "A proxy",
            "call crew() of its verified implementation",
        ),
        stop(
            format!("/token/{:#x}/{}", contracts.collectible, shown.boat),
            "An NFT",
            "with a picture that its contract draws",
        ),
        stop(format!("/token/{:#x}", shown.impostor), "An impostor", "a token that imitates the symbol HUSD"),
        stop(format!("/tx/{:#x}", showcase.message), "A message", "text in the input of a payment"),
        stop("/contracts".to_owned(), "Verified contracts", "with their sources and interfaces"),
        stop("/charts".to_owned(), "Charts", "transactions, addresses and gas by day"),
        stop("/docs".to_owned(), "API", "every page as JSON, with an OpenAPI document"),
        stop("/keys".to_owned(), "API keys", "the terminal shows one for this demo"),
    ]
}
