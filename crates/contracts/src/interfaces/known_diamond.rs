use super::known_interface::KnownInterface;
use crate::calls::Diamond;

/// Estimated memory of a function or event in an interface and its decoder.
const ENTRY_BYTES: usize = 2_048;

/// A diamond with the interface to decode its calls and logs.
#[derive(Debug)]
pub struct KnownDiamond {
    pub diamond: Diamond,
    /// None if no facet is verified.
    pub interface: Option<KnownInterface>,
    pub(super) bytes: u64,
}

impl KnownDiamond {
    pub(super) fn new(diamond: Diamond) -> Self {
        let interface = diamond.interface();
        let entries = interface
            .as_ref()
            .map_or(0, |interface| interface.functions.len() + interface.events.len() + interface.errors.len());
        let selectors: usize = diamond.facets.iter().map(|facet| facet.selectors.len()).sum();
        let bytes = (entries * ENTRY_BYTES + selectors * 4) as u64;
        Self { interface: interface.map(|interface| KnownInterface::new(interface, bytes)), diamond, bytes }
    }
}
