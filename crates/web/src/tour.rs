//! A tour of the explorer: links of the first page.

/// A link to what a newcomer may want to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TourStop {
    /// Of a page of this site, from its root.
    pub path: String,
    /// The text of the link.
    pub title: String,
    /// What the page shows.
    pub text: String,
}
