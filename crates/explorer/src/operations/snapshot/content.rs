use serde::{Deserialize, Serialize};
use store::SnapshotContent;

/// What a snapshot contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    Everything,
    /// Without records of users: to be published.
    Index,
}

impl Content {
    /// What to tell about its secrets; None if it is not known whether the key file is in it.
    pub(crate) fn secrecy(self, has_key: Option<bool>) -> &'static str {
        match self {
            Self::Index => {
                "It contains nothing but the index: keys, webhooks and verified contracts are not part of it."
            }
            Self::Everything => match has_key {
                Some(true) => {
                    "It contains keys, webhooks and the key of their secrets: keep it as private as the data folder."
                }
                Some(false) => "The key of webhook secrets is not in the data folder: keep a copy of it, too.",
                None => {
                    "It contains keys, webhooks and, if it is in the data folder, the key of their secrets: keep it as private as \
                     the data folder."
                }
            },
        }
    }
}

impl From<Content> for SnapshotContent {
    fn from(content: Content) -> Self {
        match content {
            Content::Everything => Self::Everything,
            Content::Index => Self::Index,
        }
    }
}
