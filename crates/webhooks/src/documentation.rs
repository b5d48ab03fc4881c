//! What `docs/webhooks.md` says of times is what the code does.

use std::time::Duration;

use crate::{
    dispatch::ATTEMPT_TIMEOUT,
    housekeeping::RETENTION,
    retry::{JITTER, MAX_RETRY_AFTER, SCHEDULE},
};

#[test]
fn the_documentation_names_the_times_of_attempts() {
    let page = include_str!("../../../docs/webhooks.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let (last, others) = SCHEDULE.split_last().unwrap();
    let others: Vec<String> = others.iter().map(|seconds| in_words(*seconds)).collect();
    let days = |time: Duration| time.as_secs() / 86_400;
    assert_eq!((JITTER, days(MAX_RETRY_AFTER)), (0.2, 1), "the page says a fifth and a day");
    for text in [
        format!("within {} seconds, including the body", ATTEMPT_TIMEOUT.as_secs()),
        format!("retried after {} and {}, with a jitter of up to a fifth", others.join(", "), in_words(*last)),
        "`Retry-After` can make a wait longer, up to a day".to_owned(),
        format!("kept for {} days", days(RETENTION)),
        format!("the messages of the last {} days", days(RETENTION)),
    ] {
        assert!(page.contains(&text), "docs/webhooks.md does not say: {text}");
    }
}

fn in_words(seconds: u64) -> String {
    match seconds {
        3_600.. => format!("{} h", seconds / 3_600),
        60.. => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}
