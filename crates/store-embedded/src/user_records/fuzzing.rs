use super::row;
use crate::fuzzing::round_trip::reads_what_it_writes;

pub(crate) fn api_key(bytes: &[u8]) {
    reads_what_it_writes(bytes, |bytes| row::read(7, bytes), row::write);
}
