use egress::Target;

use crate::secrets::Secrets;

/// Where and with which secrets a message is sent.
pub(super) struct Route {
    pub(super) target: Target,
    pub(super) secrets: Secrets,
}
