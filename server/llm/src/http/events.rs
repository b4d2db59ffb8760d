//! The events of an answer, and the patience with those that do not come.

use std::collections::VecDeque;
use std::time::Duration;

use dsh_protocol::content::ModelFailure;
use futures_util::{Stream, StreamExt};
use tokio::time::Instant;

use crate::adapter::failure;
use crate::sse::{Activity, Event, MAX_EVENT_BYTES, Parser};

/// How many times the idle limit a server may keep a connection alive without data.
const KEEP_ALIVES: u32 = 5;

/// The events of a stream of bytes.
pub struct Events<S> {
    bytes: S,
    parser: Parser,
    ready: VecDeque<Event>,
    ended: bool,
    idle: Duration,
    /// When data came last, as opposed to comments.
    data_at: Instant,
}

impl<S, B> Events<S>
where
    S: Stream<Item = Result<B, ModelFailure>> + Unpin,
    B: AsRef<[u8]>,
{
    /// The events of `bytes`, of which some must come in each `idle`, and data in each five of them.
    pub fn new(bytes: S, idle: Duration) -> Self {
        Self {
            bytes,
            parser: Parser::new(MAX_EVENT_BYTES),
            ready: VecDeque::new(),
            ended: false,
            idle,
            data_at: Instant::now(),
        }
    }

    /// The next event; `None` at the end of the stream. Waits no longer than `patience` in all, whatever comments
    /// come.
    pub async fn next(&mut self, patience: Duration) -> Result<Option<Event>, ModelFailure> {
        let until = Instant::now().checked_add(patience);
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.ended {
                return Ok(None);
            }
            let alive = (Instant::now() + self.idle).min(self.data_at + self.idle * KEEP_ALIVES);
            let deadline = until.map_or(alive, |until| until.min(alive));
            let next = tokio::time::timeout_at(deadline, self.bytes.next()).await;
            match next.map_err(|_elapsed| self.silent())? {
                None => {
                    self.ended = true;
                    self.ready.extend(self.parser.end());
                }
                Some(Err(failure)) => {
                    self.ended = true;
                    return Err(failure);
                }
                Some(Ok(bytes)) => self.take(bytes.as_ref())?,
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ModelFailure> {
        let pushed = self.parser.push(bytes, &mut self.ready);
        let activity = pushed.map_err(|error| failure("MALFORMED_RESPONSE", error.to_string()))?;
        if activity == Activity::Data {
            self.data_at = Instant::now();
        }
        Ok(())
    }

    fn silent(&self) -> ModelFailure {
        let quiet = self.data_at.elapsed();
        // As the row says it, without what the clock adds.
        let seconds = (quiet.as_secs_f64() * 10.0).round() / 10.0;
        failure("TIMEOUT", format!("the model sent no data for {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const IDLE: Duration = Duration::from_secs(5);

    /// How many events come of `pieces`, each a second after the one before, and how it ends.
    async fn outcome(pieces: Vec<&'static str>, silence: bool) -> (usize, Option<String>, u64) {
        let begun = Instant::now();
        let paced = stream::iter(pieces).then(|piece| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(piece)
        });
        let rest = if silence { stream::pending().boxed() } else { stream::empty().boxed() };
        let mut events = Events::new(paced.chain(rest).boxed(), IDLE);
        let mut count = 0;
        loop {
            let end = match events.next(Duration::MAX).await {
                Ok(Some(_)) => {
                    count += 1;
                    continue;
                }
                Ok(None) => None,
                Err(failure) => Some(failure.code),
            };
            return (count, end, begun.elapsed().as_secs());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn comments_keep_a_stream_alive_but_not_for_ever() {
        let mut waiting = vec![": keep-alive\n\n"; 20];
        waiting.push("data: a\n\n");
        assert_eq!(outcome(waiting, false).await, (1, None, 21));
        let timeout = Some("TIMEOUT".to_owned());
        assert_eq!(outcome(vec![": keep-alive\n\n"; 60], false).await, (0, timeout, 25));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_stream() {
        let timeout = Some("TIMEOUT".to_owned());
        assert_eq!(outcome(vec!["data: a\n\n"], true).await, (1, timeout, 6));
    }

    #[tokio::test(start_paused = true)]
    async fn comments_do_not_extend_a_shorter_patience() {
        let comments = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok(": x\n"), ()))
        });
        let begun = Instant::now();
        let mut events = Events::new(comments.boxed(), IDLE);
        let failure = events.next(Duration::from_secs(3)).await.unwrap_err();
        assert_eq!((failure.code.as_str(), begun.elapsed().as_secs()), ("TIMEOUT", 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_has_no_limit() {
        let (count, end, seconds) = outcome(vec!["data: a\n\n"; 10_000], false).await;
        assert_eq!((count, end, seconds), (10_000, None, 10_000));
    }
}
