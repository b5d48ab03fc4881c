use alloy_primitives::address;
use domain::{
    Address, Exchange,
    PoolStyle::{self, V2, V3},
};

/// Exchanges of BSC and Ethereum mainnet. A name that appears twice is one exchange on two chains. The key includes the
/// style, since some factory addresses have another style on another chain.
pub(super) const KNOWN: [(&str, Exchange); 19] = [
    // BSC
    ("PancakeSwap v1", exchange(V2, address!("0xBCfCcbde45cE874adCB698cC183deBcF17952812"))),
    ("PancakeSwap v2", exchange(V2, address!("0xcA143Ce32Fe78f1f7019d7d551a6402fC5350c73"))),
    ("Uniswap v2", exchange(V2, address!("0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6"))),
    ("Uniswap v3", exchange(V3, address!("0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7"))),
    ("SushiSwap", exchange(V2, address!("0xc35DADB65012eC5796536bD9864eD8773aBc74C4"))),
    ("SushiSwap v3", exchange(V3, address!("0x126555dd55a39328F69400d6aE4F782Bd4C34ABb"))),
    ("Biswap", exchange(V2, address!("0x858E3312ed3A876947EA49d572A7C42DE08af7EE"))),
    ("ApeSwap", exchange(V2, address!("0x0841BD0B734E4F5853f0dD8d7Ea041c241fb0Da6"))),
    ("ApeSwap v3", exchange(V3, address!("0x7Bc382DdC5928964D7af60e7e2f6299A1eA6F48d"))),
    ("BabySwap", exchange(V2, address!("0x86407bEa2078ea5f5EB5A52B2caA963bC1F889Da"))),
    ("BakerySwap", exchange(V2, address!("0x01bF7C66c6BD861915CdaaE475042d3c4BaE16A7"))),
    ("MDEX", exchange(V2, address!("0x3CD1C46068dAEa5Ebb0d3f55F6915B10648062B8"))),
    // Both
    ("PancakeSwap v3", exchange(V3, address!("0x0BFbCF9fa4f9C56B0F40a671Ad40E0805A091865"))),
    // Ethereum
    ("PancakeSwap v2", exchange(V2, address!("0x1097053Fd2ea711dad45caCcc45EfF7548fCB362"))),
    ("Uniswap v2", exchange(V2, address!("0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f"))),
    ("Uniswap v3", exchange(V3, address!("0x1F98431c8aD98523631AE4a59f267346ea31F984"))),
    ("SushiSwap", exchange(V2, address!("0xC0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac"))),
    ("SushiSwap v3", exchange(V3, address!("0xbACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F"))),
    ("ShibaSwap", exchange(V2, address!("0x115934131916C8b277DD010Ee02de363c09d037c"))),
];

const fn exchange(style: PoolStyle, factory: Address) -> Exchange {
    Exchange { style, factory }
}
