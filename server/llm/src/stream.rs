//! Asks an adapter and makes sure of the stream's end: exactly one `finish`, and it is last.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use dsh_protocol::content::{Chunk, FinishReason, ModelFailure};
use futures_util::{FutureExt, StreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::adapter::{Adapter, Chunks, Request, failure};

/// The chunks of an answer. Whatever the adapter does, the last chunk is a `finish`: an early end becomes
/// `STREAM_CLOSED`, a panic `UNKNOWN`, and a cancel ends the stream at once as `aborted`.
pub fn ask(adapter: &Arc<dyn Adapter>, request: Request, cancel: CancellationToken) -> Chunks {
    let started =
        std::panic::catch_unwind(AssertUnwindSafe(|| adapter.stream(request, cancel.clone())));
    let Ok(chunks) = started else {
        return Box::pin(stream::iter([finish(FinishReason::Error, Some(panicked()))]));
    };
    Box::pin(stream::unfold(Some((chunks, cancel)), |state| async move {
        let (mut chunks, cancel) = state?;
        let next = AssertUnwindSafe(chunks.next()).catch_unwind();
        let next = tokio::select! {
            biased;
            () = cancel.cancelled() => return Some((aborted(), None)),
            next = next => next,
        };
        match next {
            Ok(Some(chunk @ Chunk::Finish { .. })) => Some((chunk, None)),
            Ok(Some(chunk)) => Some((chunk, Some((chunks, cancel)))),
            Ok(None) => Some((finish(FinishReason::Error, Some(closed())), None)),
            Err(_) => Some((finish(FinishReason::Error, Some(panicked())), None)),
        }
    }))
}

fn finish(reason: FinishReason, error: Option<ModelFailure>) -> Chunk {
    Chunk::Finish { reason, error }
}

fn aborted() -> Chunk {
    finish(FinishReason::Aborted, Some(failure("ABORTED", "the request was cancelled")))
}

fn closed() -> ModelFailure {
    failure("STREAM_CLOSED", "the model's answer ended before it was complete")
}

fn panicked() -> ModelFailure {
    failure("UNKNOWN", "the adapter failed unexpectedly; the server's log has the details")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Offer;
    use dsh_protocol::ids::SessionId;
    use dsh_protocol::session::Header;

    /// Sends some chunks, then does what its name says.
    struct Broken(&'static str);

    impl Adapter for Broken {
        fn provider(&self) -> &str {
            "broken"
        }

        fn offers(&self) -> Vec<Offer> {
            Vec::new()
        }

        fn stream(&self, _request: Request, _cancel: CancellationToken) -> Chunks {
            let text = stream::iter([Chunk::TextDelta { index: 0, text: "a".to_owned() }]);
            match self.0 {
                "panics at once" => panic!("told to"),
                "panics later" => Box::pin(text.chain(stream::once(async { panic!("told to") }))),
                "hangs" => Box::pin(text.chain(stream::pending())),
                "talks on" => {
                    Box::pin(stream::iter([finish(FinishReason::Stop, None)]).chain(text))
                }
                _ => Box::pin(text),
            }
        }
    }

    async fn last(
        how: &'static str,
        cancel: &CancellationToken,
    ) -> (usize, FinishReason, Option<String>) {
        let header = Header {
            provider: "broken".to_owned(),
            model: "x".to_owned(),
            reasoning_effort: None,
            max_tokens: None,
            system: None,
            tools: None,
        };
        let request = Request {
            session_id: SessionId::from("s"),
            turn: 1,
            step: 1,
            attempt: 1,
            header: Arc::new(header),
            messages: Vec::new(),
            body: None,
        };
        let adapter: Arc<dyn Adapter> = Arc::new(Broken(how));
        let mut chunks = ask(&adapter, request, cancel.clone());
        let mut count = 0;
        let mut end = None;
        while let Some(chunk) = chunks.next().await {
            assert!(end.is_none(), "a chunk after the finish");
            count += 1;
            if how == "hangs" {
                cancel.cancel();
            }
            if let Chunk::Finish { reason, error } = chunk {
                end = Some((reason, error.map(|error| error.code)));
            }
        }
        let (reason, code) = end.unwrap();
        (count, reason, code)
    }

    #[tokio::test]
    async fn every_way_to_fail_ends_with_one_finish() {
        for (how, count, code) in [
            ("panics at once", 1, "UNKNOWN"),
            ("panics later", 2, "UNKNOWN"),
            ("ends early", 2, "STREAM_CLOSED"),
        ] {
            let (seen, reason, seen_code) = last(how, &CancellationToken::new()).await;
            assert_eq!(
                (seen, reason, seen_code.as_deref()),
                (count, FinishReason::Error, Some(code)),
                "{how}"
            );
        }
        let (seen, reason, _) = last("hangs", &CancellationToken::new()).await;
        assert_eq!((seen, reason), (2, FinishReason::Aborted));
        let (seen, reason, _) = last("talks on", &CancellationToken::new()).await;
        assert_eq!((seen, reason), (1, FinishReason::Stop));
    }
}
