//! Paging through lists.

#[allow(clippy::expect_used, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;

use askama::{Template, filters::HtmlSafe};
use domain::{Order, PageRequest};
use serde::Deserialize;
use url::form_urlencoded;

use super::{amount::grouped, list_file::ListFile};

/// Rows of a page; the first is the default.
const PAGE_SIZES: [u32; 3] = [25, 50, 100];
/// Lists with fewer pages have no field for the page.
const PAGES_TO_JUMP: u64 = 5;

/// The page number and size in a URL. An invalid one means the default, since users type it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Paging {
    #[serde(default)]
    page: Option<String>,
    #[serde(default)]
    limit: Option<String>,
    #[serde(default)]
    format: Option<String>,
}

impl Paging {
    fn number(&self) -> u64 {
        self.page.as_deref().and_then(|page| page.parse().ok()).filter(|page| *page > 0).unwrap_or(1)
    }

    fn size(&self) -> u32 {
        let [default, ..] = PAGE_SIZES;
        let wanted = self.limit.as_deref().and_then(|limit| limit.parse().ok());
        wanted.filter(|wanted| PAGE_SIZES.contains(wanted)).unwrap_or(default)
    }

    pub(crate) fn request(&self) -> PageRequest {
        let offset = (self.number() - 1).saturating_mul(u64::from(self.size()));
        PageRequest { offset, limit: self.size(), order: Order::NewestFirst }
    }

    /// Whether this is the first page, the only one that new blocks change.
    pub(crate) fn is_first(&self) -> bool {
        self.number() == 1
    }

    /// The file that is wanted instead of the page.
    pub(crate) fn file(&self) -> Option<ListFile> {
        match self.format.as_deref() {
            Some("csv") => Some(ListFile::Csv),
            Some("json") => Some(ListFile::Json),
            _ => None,
        }
    }

    /// Links to the other pages of a list with `total` entries, whose first page is at `path`.
    pub(crate) fn pager(&self, path: impl Into<String>, total: u64) -> Pager {
        Pager::new(path.into(), self, total)
    }
}

#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<nav class="pager" aria-label="Pages"><span class="muted">{% if page > last %}There {% if last == 1 %}is only 1 page{% else %}are only {{ shown_last }} pages{% endif %}: <a href="{{ link }}page={{ last }}">the last page</a>{% else %}{{ count }} total{% if last > 1 %}, page {{ shown }} of {{ shown_last }}{% endif %}{% endif %}</span>
{%- if total > smallest %}<span class="sizes muted">Rows {% for size in sizes %}{% if size.is_chosen %}<strong aria-current="true">{{ size.rows }}</strong> {% else %}<a href="{{ size.link }}">{{ size.rows }}</a> {% endif %}{% endfor %}</span>{% endif -%}
{%- if has_files && total > 0 %}<span class="muted"><a href="{{ link }}page={{ page }}&amp;format=csv" download>CSV</a> <a href="{{ link }}page={{ page }}&amp;format=json" download>JSON</a></span>{% endif -%}
{%- if last > 1 %}<span class="turn">
{%- if page > 1 %}<a href="{{ link }}page=1" rel="first">First</a><a href="{{ link }}page={{ previous }}" rel="prev">Previous</a>{% else %}<span aria-disabled="true">First</span><span aria-disabled="true">Previous</span>{% endif -%}
{%- if page < last %}<a href="{{ link }}page={{ page + 1 }}" rel="next">Next</a><a href="{{ link }}page={{ last }}" rel="last">Last</a>{% else %}<span aria-disabled="true">Next</span><span aria-disabled="true">Last</span>{% endif -%}
</span>{% if last > jump_from %}<form class="jump" action="{{ action }}">{% for field in fields %}<input type="hidden" name="{{ field.0 }}" value="{{ field.1 }}">{% endfor %}<label>Page <input name="page" inputmode="numeric" pattern="[0-9]*" size="6" autocomplete="off" required></label><button type="submit">Go</button></form>{% endif %}{% endif %}</nav>"#,
    ext = "html"
)]
pub(crate) struct Pager {
    /// Of the first page, with the default number of rows.
    path: String,
    link: String,
    page: u64,
    previous: u64,
    last: u64,
    total: u64,
    shown: String,
    shown_last: String,
    count: String,
    smallest: u64,
    sizes: Vec<PageSize>,
    has_files: bool,
    jump_from: u64,
    /// Of the form for a page number, with the rest of the query.
    action: String,
    fields: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
struct PageSize {
    rows: u32,
    link: String,
    is_chosen: bool,
}

impl HtmlSafe for Pager {}

impl Pager {
    fn new(path: String, paging: &Paging, total: u64) -> Self {
        let (page, rows) = (paging.number(), paging.size());
        let [default, ..] = PAGE_SIZES;
        let last = total.div_ceil(u64::from(rows)).max(1);
        let with =
            |rows: u32| if rows == default { path.clone() } else { format!("{path}{}limit={rows}", separator(&path)) };
        let sizes = PAGE_SIZES.map(|size| PageSize { rows: size, link: with(size), is_chosen: size == rows });
        let sized = with(rows);
        let (action, query) = sized.split_once('?').unwrap_or((&sized, ""));
        Self {
            link: format!("{sized}{}", separator(&sized)),
            path,
            page,
            // Past the end, the previous page is the last one.
            previous: page.saturating_sub(1).min(last),
            last,
            total,
            shown: grouped(page),
            shown_last: grouped(last),
            count: grouped(total),
            smallest: u64::from(default),
            sizes: sizes.into(),
            has_files: false,
            jump_from: PAGES_TO_JUMP,
            action: action.to_owned(),
            fields: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        }
    }

    /// The path and the query of this page. The number of rows matters only for the later ones.
    pub(crate) fn address(&self) -> String {
        if self.is_first() { self.path.clone() } else { format!("{}page={}", self.link, self.page) }
    }

    pub(crate) fn is_first(&self) -> bool {
        self.page == 1
    }

    /// With links to the page as a file.
    pub(crate) fn with_files(self) -> Self {
        Self { has_files: true, ..self }
    }
}

fn separator(path: &str) -> char {
    if path.contains('?') { '&' } else { '?' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paging(page: &str) -> Paging {
        Paging { page: Some(page.to_owned()), ..Paging::default() }
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
    fn the_first_page_has_the_same_address_with_any_number_of_rows() {
        let paging = |page: &str, limit: &str| Paging {
            page: Some(page.to_owned()),
            limit: Some(limit.to_owned()),
            format: None,
        };
        assert_eq!(paging("1", "100").pager("/blocks", 500).address(), "/blocks");
        assert_eq!(paging("x", "7").pager("/trades?dex=A", 500).address(), "/trades?dex=A");
        assert_eq!(paging("3", "25").pager("/blocks", 500).address(), "/blocks?page=3");
        assert_eq!(paging("3", "50").pager("/trades?dex=A", 500).address(), "/trades?dex=A&limit=50&page=3");
    }

    #[test]
    fn a_list_of_one_page_has_no_links() {
        assert!(!paging("1").pager("/blocks", 25).render().unwrap().contains("href"));
    }

    #[test]
    fn a_chosen_size_stays_in_all_links() {
        let paging = Paging { page: Some("2".to_owned()), limit: Some("50".to_owned()), format: None };
        assert_eq!((paging.request().offset, paging.request().limit), (50, 50));
        let pager = paging.pager("/trades?dex=A%26B", 1_000).with_files().render().unwrap();
        for expected in [
            r#"href="/trades?dex=A%26B&#38;limit=50&#38;page=3" rel="next""#,
            r#"page=2&amp;format=csv" download"#,
            r#"<input type="hidden" name="dex" value="A&#38;B">"#,
            r#"<input type="hidden" name="limit" value="50">"#,
            r#"<a href="/trades?dex=A%26B">25</a>"#,
        ] {
            assert!(pager.contains(expected), "{expected} in {pager}");
        }
        assert_eq!(Paging { limit: Some("1000000".to_owned()), ..Paging::default() }.request().limit, 25);
    }
}
