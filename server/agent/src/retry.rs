//! Whether a failed request is sent again, and when.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use dsh_llm::adapter::RetryPolicy;
use dsh_protocol::content::ModelFailure;

/// The retries of one step.
pub(crate) struct Retries {
    policy: RetryPolicy,
    made: u32,
    /// Whether a malformed answer was asked again: once is enough to see that it is no accident.
    asked_again: bool,
}

impl Retries {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self { policy, made: 0, asked_again: false }
    }

    /// How many have been made.
    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// How many there may be.
    pub(crate) fn most(&self) -> u32 {
        self.policy.max_retries
    }

    /// The pause before the next retry, which then counts as made; `None` when there is none: the failure is
    /// not of a passing kind, the retries are used up, or the provider asks for more patience than there is.
    pub(crate) fn next(&mut self, failure: &ModelFailure) -> Option<Duration> {
        if self.made >= self.policy.max_retries || !self.is_passing(failure) {
            return None;
        }
        let asked = failure.provider_retry_after_ms.map(Duration::from_millis);
        if asked.is_some_and(|asked| asked > self.policy.max_delay) {
            return None;
        }
        let doubled = self.policy.min_delay.saturating_mul(1 << self.made.min(20));
        self.made += 1;
        Some(asked.unwrap_or_else(|| jittered(doubled).min(self.policy.max_delay)))
    }

    fn is_passing(&mut self, failure: &ModelFailure) -> bool {
        match failure.code.as_str() {
            "EMPTY_RESPONSE" | "RATE_LIMIT" | "SERVER" | "TIMEOUT" | "TRANSPORT" => true,
            "MALFORMED_RESPONSE" => !std::mem::replace(&mut self.asked_again, true),
            _ => false,
        }
    }
}

/// Up to a tenth more or less, so that clients that failed together do not come back together.
fn jittered(delay: Duration) -> Duration {
    let random = RandomState::new().hash_one(0) % 1000;
    #[expect(clippy::cast_precision_loss, reason = "a number under 1000 is exact")]
    let factor = 0.9 + random as f64 / 5000.0;
    delay.mul_f64(factor)
}

#[cfg(test)]
mod tests {
    use dsh_llm::adapter::failure;

    use super::*;

    fn pauses(code: &str, retry_after_ms: Option<u64>) -> Vec<u128> {
        let mut retries = Retries::new(RetryPolicy::default());
        let failed = ModelFailure { provider_retry_after_ms: retry_after_ms, ..failure(code, "") };
        std::iter::from_fn(|| retries.next(&failed)).map(|pause| pause.as_millis()).collect()
    }

    #[test]
    fn pauses_double_up_to_the_longest_one() {
        let pauses = pauses("SERVER", None);
        assert_eq!(pauses.len(), 5);
        for (pause, middle) in pauses.into_iter().zip([500, 1000, 2000, 4000, 8000]) {
            assert!((middle * 9 / 10..=middle * 11 / 10).contains(&pause), "{pause} for {middle}");
        }
    }

    #[test]
    fn only_passing_failures_are_tried_again() {
        for code in [
            "AUTH",
            "QUOTA",
            "INVALID_REQUEST",
            "STREAM_CLOSED",
            "CONTEXT_WINDOW_EXCEEDED",
            "HTTP_404",
        ] {
            assert!(pauses(code, None).is_empty(), "{code}");
        }
        assert_eq!(pauses("MALFORMED_RESPONSE", None).len(), 1);
    }

    #[test]
    fn a_provider_that_names_a_pause_is_heard_within_reason() {
        assert_eq!(pauses("RATE_LIMIT", Some(2000)), [2000; 5]);
        assert!(pauses("RATE_LIMIT", Some(86_400_000)).is_empty());
    }
}
