//! Components of pages. Each is a type with its markup, so that an address or an amount looks the same on all pages.

mod amount;
mod chart;
mod direction;
mod fields;
mod imitation;
mod known_addresses;
mod links;
mod list_file;
mod log;
mod method;
mod page_names;
mod pager;
mod part;
mod rows;
mod source;
mod text;
mod time;
mod token_lines;

pub(crate) use amount::{Amount, counted, grouped, in_units};
pub(crate) use chart::{Axes, Chart};
pub(crate) use direction::Direction;
pub(crate) use fields::{DecodedView, FieldRow, FieldValue};
pub(crate) use imitation::ImitationBanner;
pub(crate) use known_addresses::{Kind, Known};
pub(crate) use links::{AddressLink, BlockLink, NftLink, TokenLink, TransactionLink, imitated_name, short};
pub(crate) use list_file::ListFile;
pub(crate) use log::{ListedLog, LogRow};
pub(crate) use method::{MethodLabel, Methods, method_name, method_name_of};
pub(crate) use page_names::PageNames;
pub(crate) use pager::{Pager, Paging};
pub(crate) use part::{Part, PartOf, PartPager};
pub(crate) use rows::{BlockRow, InternalRow, TracedRangeView, TradeRow, TransactionRow, TransferRow};
pub(crate) use source::lines as source_lines;
pub(crate) use text::{sanitize_name, sanitize_text, url_encode};
pub(crate) use time::Moment;
pub(crate) use token_lines::{HolderLine, TokenLine};
