use domain::{Order, PageRequest};
use utoipa::IntoParams;

use super::{FromQuery, Query, whole_number::parse_whole_number};
use crate::error::ApiError;

pub(super) const DEFAULT_LIMIT: u32 = 25;
pub(super) const MAX_LIMIT: u32 = 100;
/// The largest whole number that every JSON parser represents exactly. A larger page number is replaced by it: the page is
/// empty either way.
const MAX_PAGE: u64 = (1 << 53) - 1;

/// The requested page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    // Documented without a width, since numbers of any length are accepted.
    /// A page past the end is empty.
    #[param(value_type = usize, required = false, minimum = 1, default = 1, example = 1)]
    page: u64,
    /// Entries per page. More than 100 is treated as 100.
    #[param(value_type = usize, required = false, minimum = 1, default = 25, example = 25)]
    limit: u32,
}

impl Paging {
    #[must_use]
    pub fn page(&self) -> u64 {
        self.page
    }

    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    pub(crate) fn newest_first(&self) -> PageRequest {
        let offset = (self.page - 1).saturating_mul(u64::from(self.limit));
        PageRequest { offset, limit: self.limit, order: Order::NewestFirst }
    }
}

impl Default for Paging {
    fn default() -> Self {
        Self { page: 1, limit: DEFAULT_LIMIT }
    }
}

impl FromQuery for Paging {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let page = find_positive(query, "page")?.map_or(1, |page| page.min(MAX_PAGE));
        let limit = find_positive(query, "limit")?
            .map_or(DEFAULT_LIMIT, |limit| u32::try_from(limit).unwrap_or(MAX_LIMIT).min(MAX_LIMIT));
        Ok(Self { page, limit })
    }
}

fn find_positive(query: &Query, field: &'static str) -> Result<Option<u64>, ApiError> {
    let Some(text) = query.find(field)? else { return Ok(None) };
    match parse_whole_number(text) {
        Some(number) if number > 0 => Ok(Some(number)),
        _ => Err(ApiError::InvalidParameter { field, rule: "must be a whole number of at least 1" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paging(query: &str) -> Result<Paging, ApiError> {
        Paging::from_query(&Query::parse(query)?)
    }

    #[test]
    fn the_default_is_the_first_25() {
        assert_eq!(paging("").unwrap(), Paging { page: 1, limit: 25 });
    }

    #[test]
    fn a_limit_above_100_is_treated_as_100() {
        for limit in ["100", "101", "4294967296", "18446744073709551616", &"9".repeat(500)] {
            assert_eq!(paging(&format!("limit={limit}")).unwrap().limit(), 100);
        }
        assert_eq!(paging("limit=99").unwrap().limit(), 99);
    }

    #[test]
    fn page_numbers_of_any_size_do_not_overflow() {
        let window = paging("page=1000000000&limit=100").unwrap().newest_first();
        assert_eq!(window.offset, 99_999_999_900);
        for page in ["18446744073709551616", &"9".repeat(500)] {
            let paging = paging(&format!("page={page}&limit=100")).unwrap();
            assert_eq!(paging.page(), 9_007_199_254_740_991);
            assert_eq!(paging.newest_first().offset, 900_719_925_474_099_000);
        }
    }

    #[test]
    fn an_invalid_page_or_limit_is_rejected_by_name() {
        for field in ["page", "limit"] {
            for value in ["0", "00", "-1", "abc", "1.5", "", "%2B5", "+5", "%205", "0x10", "1e3", "null"] {
                let problem = paging(&format!("{field}={value}")).unwrap_err().problem();
                assert_eq!((problem.status, problem.field.as_deref()), (400, Some(field)), "{field}={value}");
            }
        }
    }

    #[test]
    fn a_repeated_parameter_is_rejected_by_name() {
        let problem = paging("page=1&limit=5&page=1").unwrap_err().problem();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("page")));
    }
}
