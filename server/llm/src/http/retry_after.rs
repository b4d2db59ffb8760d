//! How long a provider asks to wait.

use std::time::{Duration, SystemTime};

/// The wait in milliseconds from the headers `retry-after-ms` and `retry-after`. What is no wait in the future
/// counts as not said.
pub(super) fn parse(millis: Option<&str>, after: Option<&str>, now: SystemTime) -> Option<u64> {
    let wait = millis
        .and_then(|text| scaled(text, 1.0))
        .or_else(|| after.and_then(|text| scaled(text, 1000.0)))
        .or_else(|| after.and_then(|text| until(text, now)))?;
    u64::try_from(wait.as_millis()).ok().filter(|wait| *wait > 0)
}

fn scaled(text: &str, millis: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(number * millis / 1000.0).ok()
}

fn until(text: &str, now: SystemTime) -> Option<Duration> {
    httpdate::parse_http_date(text.trim()).ok()?.duration_since(now).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_nonsense_is_not_said() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:07 GMT").unwrap();
        for (millis, after, wait) in [
            (None, Some("2"), Some(2_000)),
            (None, Some(" 1.5 "), Some(1_500)),
            (None, Some("86400"), Some(86_400_000)),
            (None, Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(30_000)),
            (None, Some("Sunday, 06-Nov-94 08:49:37 GMT"), Some(30_000)),
            (None, Some("Sun Nov  6 08:49:37 1994"), Some(30_000)),
            (None, Some("Sun, 06 Nov 1994 08:00:00 GMT"), None),
            (None, Some("0"), None),
            (None, Some("-1"), None),
            (None, Some("abc"), None),
            (None, Some(""), None),
            (None, Some("NaN"), None),
            (None, Some("inf"), None),
            (None, Some("1e300"), None),
            (Some("500"), None, Some(500)),
            (Some("500"), Some("2"), Some(500)),
            (Some("abc"), Some("2"), Some(2_000)),
            (Some("-5"), Some("2"), Some(2_000)),
            (None, None, None),
        ] {
            assert_eq!(parse(millis, after, now), wait, "{millis:?} {after:?}");
        }
    }
}
