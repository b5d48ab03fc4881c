//! Entry points of the fuzz targets: URLs and addresses from arbitrary bytes.

pub use crate::egress::fuzzing::{egress_address, egress_url};
