//! What the fuzz targets call: URLs and addresses of receivers made of arbitrary bytes.

pub use crate::egress::fuzzing::{egress_address, egress_url};
