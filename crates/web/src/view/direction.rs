use askama::{Template, filters::HtmlSafe};

/// On the page of an address: whether an entry comes in or goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Template)]
#[template(
    source = r##"<span class="direction {{ self.name() }}"><svg class="i" aria-hidden="true"><use href="#i-{{ self.name() }}"/></svg>{{ self.name() }}</span> "##,
    ext = "html"
)]
pub(crate) enum Direction {
    In,
    Out,
    /// From the address to itself.
    ToSelf,
}

impl HtmlSafe for Direction {}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::ToSelf => "self",
        }
    }
}
