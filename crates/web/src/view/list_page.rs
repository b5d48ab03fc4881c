//! Pages of one list among several of a page: each has a parameter of its own in the URL.

use askama::{Template, filters::HtmlSafe};
use domain::{Order, PageRequest};

use super::amount::grouped;

/// A page of a list, by its number in a URL. An invalid one is the first, since users type it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListPage {
    page: u64,
    size: u32,
}

impl ListPage {
    pub(crate) fn new(text: Option<&str>, size: u32) -> Self {
        let page = text.and_then(|text| text.trim().parse().ok()).filter(|page| *page > 0).unwrap_or(1);
        Self { page, size }
    }

    /// The page that has the entry at a position, which begins at 0.
    pub(crate) fn with_position(position: u64, size: u32) -> Self {
        Self { page: position / u64::from(size) + 1, size }
    }

    pub(crate) fn is_first(self) -> bool {
        self.page == 1
    }

    pub(crate) fn offset(self) -> u64 {
        (self.page - 1).saturating_mul(u64::from(self.size))
    }

    /// The entries in their own order.
    pub(crate) fn request(self) -> PageRequest {
        PageRequest { offset: self.offset(), limit: self.size, order: Order::OldestFirst }
    }
}

/// Where the pages of a list are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListLocation<'a> {
    /// In the plural, such as `Logs`.
    pub(crate) what: &'static str,
    pub(crate) path: &'a str,
    /// The parameter, which is also the id of the list.
    pub(crate) name: &'static str,
}

/// Links to the other pages; nothing if there is only one.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"{% if last > 1 %}<nav class="pager" aria-label="Pages of {{ what|lower }}"><span class="muted">{% if page > last %}There are only {{ shown_last }} pages: <a href="{{ link }}{{ last }}#{{ name }}">the last page</a>{% else %}{{ what }} {{ first_shown }} to {{ last_shown }} of {{ total }}{% endif %}</span><span class="turn">
{%- if page > 1 %}<a href="{{ link }}1#{{ name }}" rel="first">First</a><a href="{{ link }}{{ previous }}#{{ name }}" rel="prev">Previous</a>{% else %}<span aria-disabled="true">First</span><span aria-disabled="true">Previous</span>{% endif -%}
{%- if page < last %}<a href="{{ link }}{{ page + 1 }}#{{ name }}" rel="next">Next</a><a href="{{ link }}{{ last }}#{{ name }}" rel="last">Last</a>{% else %}<span aria-disabled="true">Next</span><span aria-disabled="true">Last</span>{% endif -%}
</span></nav>{% endif %}"#,
    ext = "html"
)]
pub(crate) struct ListPager {
    what: &'static str,
    name: &'static str,
    link: String,
    page: u64,
    previous: u64,
    last: u64,
    shown_last: String,
    first_shown: String,
    last_shown: String,
    total: String,
}

impl HtmlSafe for ListPager {}

impl ListPager {
    pub(crate) fn new(page: ListPage, total: u64, location: ListLocation<'_>) -> Self {
        let size = u64::from(page.size);
        let last = total.div_ceil(size).max(1);
        Self {
            what: location.what,
            name: location.name,
            link: format!("{}?{}=", location.path, location.name),
            page: page.page,
            previous: (page.page - 1).min(last),
            last,
            shown_last: grouped(last),
            first_shown: grouped(page.offset().saturating_add(1)),
            last_shown: grouped(page.offset().saturating_add(size).min(total)),
            total: grouped(total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGS: ListLocation<'_> = ListLocation { what: "Logs", path: "/tx/0x1", name: "logs" };

    fn shown(page: &str, total: u64) -> String {
        ListPager::new(ListPage::new(Some(page), 25), total, LOGS).render().unwrap()
    }

    #[test]
    fn a_list_of_one_page_has_no_links() {
        assert_eq!(shown("1", 25), "");
        assert_eq!(shown("1", 0), "");
    }

    #[test]
    fn the_pages_around_are_linked() {
        let middle = shown("17", 600);
        assert!(middle.contains("Logs 401 to 425 of 600"), "{middle}");
        for link in ["logs=1#logs\" rel=\"first", "logs=16#logs\" rel=\"prev", "logs=18#", "logs=24#logs\" rel=\"last"]
        {
            assert!(middle.contains(link), "{link} in {middle}");
        }
        assert!(shown("99", 600).contains("There are only 24 pages"));
    }

    #[test]
    fn an_entry_is_on_the_page_of_its_position() {
        assert_eq!(ListPage::with_position(419, 25), ListPage::new(Some("17"), 25));
        assert_eq!(ListPage::with_position(0, 25), ListPage::new(Some("x"), 25));
        assert_eq!(ListPage::new(Some(&u64::MAX.to_string()), 25).offset(), u64::MAX);
    }
}
