//! Buffer pool for responses. A block is some hundred kilobytes of JSON that is dropped once decoded, and allocating fresh
//! memory for each costs more than reading it from the socket.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::bytes::Bytes;

/// Maximum bytes in the pool.
const MAX_POOL_BYTES: usize = 32 << 20;
/// Larger buffers are rare and returned to the allocator.
const MAX_BUFFER_BYTES: usize = 4 << 20;

/// Unused buffers.
#[derive(Debug, Default)]
pub(super) struct Bodies(Mutex<Vec<Vec<u8>>>);

impl Bodies {
    /// An empty buffer with this capacity.
    pub(super) fn take(self: &Arc<Self>, capacity: usize) -> Body {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        bytes.reserve(capacity);
        Body { bytes, pool: Arc::clone(self) }
    }

    fn give_back(&self, mut bytes: Vec<u8>) {
        if bytes.capacity() > MAX_BUFFER_BYTES {
            return;
        }
        bytes.clear();
        let mut pooled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pooled.iter().map(Vec::capacity).sum::<usize>() + bytes.capacity() <= MAX_POOL_BYTES {
            pooled.push(bytes);
        }
    }
}

/// One response. Its buffer returns to the pool when its last part is dropped.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Vec<u8>,
    pool: Arc<Bodies>,
}

impl Body {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

impl From<Body> for Bytes {
    fn from(body: Body) -> Self {
        Self::from_owner(body)
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pooled(bodies: &Bodies) -> Vec<usize> {
        bodies.0.lock().unwrap().iter().map(Vec::capacity).collect()
    }

    #[test]
    fn a_buffer_returns_to_the_pool_when_its_last_part_is_dropped() {
        let bodies = Arc::new(Bodies::default());
        let mut body = bodies.take(100);
        body.extend(b"{\"result\":1}");
        let response = Bytes::from(body);
        let part = response.slice(2..8);
        drop(response);
        assert_eq!((part.as_ref(), pooled(&bodies)), (b"result".as_slice(), vec![]));
        drop(part);
        assert_eq!(pooled(&bodies), [100]);
        let next = bodies.take(50);
        assert_eq!((next.len(), next.bytes.capacity()), (0, 100));
    }

    #[test]
    fn the_pool_is_bounded() {
        let bodies = Arc::new(Bodies::default());
        let many: Vec<Body> = (0..20).map(|_| bodies.take(MAX_BUFFER_BYTES)).collect();
        drop(many);
        assert_eq!(pooled(&bodies).iter().sum::<usize>(), MAX_POOL_BYTES);
        drop(bodies.take(MAX_BUFFER_BYTES + 1));
        assert_eq!(pooled(&bodies).len(), MAX_POOL_BYTES / MAX_BUFFER_BYTES - 1);
    }
}
