//! Paging through lists.

use askama::{Template, filters::HtmlSafe};
use domain::{Order, PageRequest};
use serde::Deserialize;

use super::amount::grouped;

const PAGE_SIZE: u32 = 25;

/// The page number in a URL. An invalid number means the first page, since users type it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Paging {
    #[serde(default)]
    page: Option<String>,
}

impl Paging {
    fn number(&self) -> u64 {
        self.page.as_deref().and_then(|page| page.parse().ok()).filter(|page| *page > 0).unwrap_or(1)
    }

    pub(crate) fn request(&self) -> PageRequest {
        let offset = (self.number() - 1).saturating_mul(u64::from(PAGE_SIZE));
        PageRequest { offset, limit: PAGE_SIZE, order: Order::NewestFirst }
    }

    /// Whether this is the first page, the only one that new blocks change.
    pub(crate) fn is_first(&self) -> bool {
        self.number() == 1
    }

    /// Links to the other pages of a list with `total` entries, whose first page is at `path`.
    pub(crate) fn pager(&self, path: impl Into<String>, total: u64) -> Pager {
        Pager::new(path.into(), self.number(), total)
    }
}

#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<nav class="pager" aria-label="Pages"><span class="muted">{% if page > last %}There {% if last == 1 %}is only 1 page{% else %}are only {{ shown_last }} pages{% endif %}: <a href="{{ link }}page={{ last }}">the last page</a>{% else %}{{ count }} total{% if last > 1 %}, page {{ shown }} of {{ shown_last }}{% endif %}{% endif %}</span>{% if last > 1 %}<span class="turn">
{%- if page > 1 %}<a href="{{ link }}page=1" rel="first">First</a><a href="{{ link }}page={{ previous }}" rel="prev">Previous</a>{% else %}<span aria-disabled="true">First</span><span aria-disabled="true">Previous</span>{% endif -%}
{%- if page < last %}<a href="{{ link }}page={{ page + 1 }}" rel="next">Next</a><a href="{{ link }}page={{ last }}" rel="last">Last</a>{% else %}<span aria-disabled="true">Next</span><span aria-disabled="true">Last</span>{% endif -%}
</span>{% endif %}</nav>"#,
    ext = "html"
)]
pub(crate) struct Pager {
    link: String,
    page: u64,
    previous: u64,
    last: u64,
    shown: String,
    shown_last: String,
    count: String,
}

impl HtmlSafe for Pager {}

impl Pager {
    fn new(path: String, page: u64, total: u64) -> Self {
        let last = total.div_ceil(u64::from(PAGE_SIZE)).max(1);
        let separator = if path.contains('?') { '&' } else { '?' };
        Self {
            link: format!("{path}{separator}"),
            page,
            // Past the end, the previous page is the last one.
            previous: page.saturating_sub(1).min(last),
            last,
            shown: grouped(page),
            shown_last: grouped(last),
            count: grouped(total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paging(page: &str) -> Paging {
        Paging { page: Some(page.to_owned()) }
    }

    #[test]
    fn an_invalid_page_number_is_the_first_page() {
        for page in ["", "x", "0", "-1", "1.5"] {
            assert_eq!(paging(page).request().offset, 0);
        }
        assert_eq!(paging("3").request().offset, 50);
    }

    #[test]
    fn the_largest_page_number_does_not_overflow() {
        let far = paging(&u64::MAX.to_string());
        assert!(far.request().offset > 1 << 60);
        assert!(far.pager("/blocks", 100).render().unwrap().contains("page=4"));
    }

    #[test]
    fn a_page_past_the_end_says_how_many_there_are() {
        let past = paging("99999").pager("/blocks", 100).render().unwrap();
        assert!(past.contains(r#"There are only 4 pages: <a href="/blocks?page=4">the last page</a>"#), "{past}");
        assert!(!past.contains("99,999"), "{past}");
        let one = paging("2").pager("/blocks", 3).render().unwrap();
        assert!(one.contains(r#"There is only 1 page: <a href="/blocks?page=1">the last page</a>"#), "{one}");
    }

    #[test]
    fn the_first_page_has_a_next_link_and_the_last_a_previous_one() {
        let first = paging("1").pager("/blocks", 60).render().unwrap();
        assert!(first.contains(r#"href="/blocks?page=2" rel="next""#) && !first.contains(r#"rel="prev""#));
        let last = paging("3").pager("/address/0x1?tab=transfers", 60).render().unwrap();
        assert!(last.contains(r#"tab=transfers&#38;page=2" rel="prev""#) && !last.contains(r#"rel="next""#));
    }

    #[test]
    fn a_list_of_one_page_has_no_links() {
        assert!(!paging("1").pager("/blocks", 25).render().unwrap().contains("href"));
    }
}
