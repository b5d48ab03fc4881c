use super::rows;
use crate::fuzzing::round_trip::reads_what_it_writes;

pub(crate) fn webhook(row: &[u8]) {
    reads_what_it_writes(row, |row| rows::read_webhook(3, row), rows::write_webhook);
}

pub(crate) fn delivery(row: &[u8]) {
    reads_what_it_writes(row, |row| rows::read_delivery(3, 9, row), rows::write_delivery);
    if let Ok(read) = rows::read_delivery(3, 9, row) {
        let is_fresh = read.delivery.status == domain::DeliveryStatus::Pending { due: None };
        assert_eq!(rows::is_fresh(row), is_fresh, "the first byte matches the row");
    }
}

pub(crate) fn event(row: &[u8]) {
    reads_what_it_writes(row, rows::read_event, |event| rows::write_event(event.location, &event.body));
}
