use std::{ops::Deref, sync::Arc};

use crate::{Interface, decode::Decoder};

#[derive(Debug)]
pub(super) struct SizedDecoder {
    decoder: Decoder,
    pub(super) bytes: u64,
}

impl SizedDecoder {
    pub(super) fn new(interface: Interface, bytes: u64) -> Self {
        Self { decoder: Decoder::new(interface), bytes }
    }
}

/// An interface to decode calls and logs with.
#[derive(Debug, Clone)]
pub struct KnownInterface(pub(super) Arc<SizedDecoder>);

impl KnownInterface {
    pub(super) fn new(interface: Interface, bytes: u64) -> Self {
        Self(Arc::new(SizedDecoder::new(interface, bytes)))
    }
}

impl Deref for KnownInterface {
    type Target = Decoder;

    fn deref(&self) -> &Decoder {
        &self.0.decoder
    }
}
