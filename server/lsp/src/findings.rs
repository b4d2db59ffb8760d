//! What is shown in a file: an item of a review or a claim that does not hold, and where it stands.

use dsh_protocol::deliberation::{FileRef, ItemKind, PacketItem};
use dsh_protocol::evidence::{EvidenceFailure, EvidenceReason};
use dsh_protocol::ids::{ReviewId, SessionId};
use dsh_protocol::notifications::{EvidenceNotice, Notification, ReviewNotice};
use serde_json::{Value, json};

/// Severities as LSP counts them.
const WARNING: u8 = 2;
const INFORMATION: u8 = 3;

/// What a finding comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// An item of a review.
    Review(ReviewId, u64),
    /// A claim of an answer: the seq of the event that says so, and which of its failures it is.
    Evidence(u64, u64),
}

/// Something to show at a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Names it in commands.
    pub(crate) key: String,
    pub(crate) session: SessionId,
    pub(crate) origin: Origin,
    /// The file, relative to its workspace folder.
    pub(crate) path: String,
    /// The line, counted from 1.
    line: u64,
    /// What is looked for near that line first of all.
    quote: Option<String>,
    /// The text of its line, once it was placed.
    anchor: Option<String>,
    /// Whether it says that there is no such file.
    is_absence: bool,
    severity: u8,
    /// What sort of thing it is.
    pub(crate) code: String,
    message: String,
}

/// The findings that a notice tells of.
pub(crate) fn of(notice: &Notification) -> Vec<Finding> {
    if let Notification::ReviewNotice(notice) = notice {
        of_review(notice)
    } else if let Notification::EvidenceChecked(notice) = notice {
        of_check(notice)
    } else {
        Vec::new()
    }
}

/// The findings of a review. Each item stands at every place that it refers to.
fn of_review(notice: &ReviewNotice) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, item) in (0..).zip(&notice.items) {
        for (place, reference) in item.refs.iter().flatten().enumerate() {
            let key = format!("review/{}/{index}/{place}", notice.review_id);
            let origin = Origin::Review(notice.review_id.clone(), index);
            findings.push(of_item(item, reference, key, origin, &notice.session_id));
        }
    }
    findings
}

fn of_item(
    item: &PacketItem,
    reference: &FileRef,
    key: String,
    origin: Origin,
    session: &SessionId,
) -> Finding {
    let (code, certainty) = (word(&json!(item.kind)), word(&json!(item.certainty)));
    let severity = if item.kind == ItemKind::PossibleError { WARNING } else { INFORMATION };
    Finding {
        key,
        session: session.clone(),
        origin,
        path: reference.path.clone(),
        line: reference.line.unwrap_or(1),
        quote: reference.quote.clone(),
        anchor: None,
        is_absence: false,
        severity,
        message: format!("{} ({certainty}, by a review; nobody has verified it)", item.content),
        code,
    }
}

/// The findings of a check. A file that is not there is shown where it would be, if that is in the folder.
fn of_check(notice: &EvidenceNotice) -> Vec<Finding> {
    let finding = |(index, failure): (u64, &EvidenceFailure)| Finding {
        key: format!("evidence/{}/{}/{index}", notice.session_id, notice.seq),
        session: notice.session_id.clone(),
        origin: Origin::Evidence(notice.seq, index),
        path: failure.path.clone(),
        line: failure.now.or(failure.line).unwrap_or(1),
        quote: None,
        anchor: None,
        is_absence: failure.reason == EvidenceReason::MissingFile,
        severity: INFORMATION,
        code: failure.reason.as_str().to_owned(),
        message: described(notice.turn, failure),
    };
    (0..).zip(&notice.failures).map(finding).collect()
}

fn described(turn: u64, failure: &EvidenceFailure) -> String {
    let quote = failure.quote.as_deref().unwrap_or_default();
    let cited = failure.line.map_or(String::new(), |line| format!(" at line {line}"));
    let what = match failure.reason {
        EvidenceReason::MissingFile => "cites this file, which is not there".to_owned(),
        EvidenceReason::LineOutOfRange => format!("cites{cited}, which the file does not have"),
        EvidenceReason::QuoteNotFound => {
            format!("quotes `{quote}`{cited}; the file has no such line")
        }
        EvidenceReason::QuoteMoved => format!("quotes `{quote}`{cited}; it stands here now"),
        EvidenceReason::IdentifierNotNear => format!("names `{quote}`{cited}; it is not near"),
    };
    format!("The answer of turn {turn} {what}.")
}

/// A word of the wire.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Finding {
    /// Finds its line in the file's text, which is absent where there is no file. `false`: what it was shown at is gone.
    pub(crate) fn place(&mut self, text: Option<&str>) -> bool {
        if self.is_absence {
            self.line = 1;
            let is_inside = |part| {
                matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
            };
            return text.is_none() && std::path::Path::new(&self.path).components().all(is_inside);
        }
        let Some(text) = text else { return false };
        let lines: Vec<String> = text.lines().map(squeezed).collect();
        let wanted = match &self.anchor {
            Some(anchor) => Some(anchor.clone()),
            None => {
                self.quote.as_deref().and_then(|quote| quote.trim().lines().next()).map(squeezed)
            }
        };
        let last = lines.len().max(1) as u64;
        let at = match wanted.filter(|wanted| !wanted.is_empty()) {
            Some(wanted) => nearest(&lines, self.line, |line| match self.anchor {
                // A line that has more on it now is another line.
                Some(_) => *line == wanted,
                None => line.contains(wanted.as_str()),
            }),
            None => Some(self.line.clamp(1, last)),
        };
        let Some(at) = at else { return false };
        self.line = at;
        let line = usize::try_from(at - 1).ok().and_then(|at| lines.get(at));
        self.anchor = Some(line.cloned().unwrap_or_default());
        true
    }

    /// Whether it stands on one of these lines, counted from 0.
    pub(crate) fn is_on(&self, first: u64, last: u64) -> bool {
        (first..=last).contains(&(self.line - 1))
    }

    /// Whether both stand on one line, for two of a file.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.line == other.line
    }

    /// As LSP shows it: the whole line, up to the beginning of the next, which all encodings count alike.
    pub(crate) fn diagnostic(&self) -> Value {
        json!({
            "range": {
                "start": { "line": self.line - 1, "character": 0 },
                "end": { "line": self.line, "character": 0 },
            },
            "severity": self.severity,
            "source": "dsh-ls",
            "code": self.code,
            "message": self.message,
            "data": { "key": self.key },
        })
    }

    /// What the agent is asked about it.
    pub(crate) fn question(&self) -> String {
        let shown = self.anchor.as_deref().unwrap_or_default();
        format!(
            "Look at {}:{} (`{shown}`). It was said of it: {} Check whether that holds in the workspace as it is \
             now, and say what follows.",
            self.path, self.line, self.message
        )
    }
}

/// A line without the differences that no reader sees.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line nearest to `line`, counted from 1, that is wanted.
fn nearest(lines: &[String], line: u64, wanted: impl Fn(&String) -> bool) -> Option<u64> {
    let fitting = (1..).zip(lines).filter(|(_, text)| wanted(text)).map(|(at, _)| at);
    fitting.min_by_key(|at: &u64| at.abs_diff(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: u64, quote: Option<&str>) -> Finding {
        Finding {
            key: "k".to_owned(),
            session: "s".into(),
            origin: Origin::Evidence(1, 0),
            path: "a.rs".to_owned(),
            line,
            quote: quote.map(str::to_owned),
            anchor: None,
            is_absence: false,
            severity: WARNING,
            code: "c".to_owned(),
            message: "m".to_owned(),
        }
    }

    #[test]
    fn a_finding_stands_where_its_quote_is_and_follows_its_line() {
        let mut own = finding(1, Some("let b = 2;"));
        assert!(own.place(Some("let a = 1;\n  let  b = 2; // two\n")));
        assert_eq!(own.line, 2);
        assert!(own.place(Some("\n\n\nlet b = 2; // two\n")));
        assert_eq!(own.line, 4);
        assert!(own.is_on(3, 3) && !own.is_on(0, 2));
        assert!(!own.place(Some("let b = 2; // changed\n")), "its line is gone");
    }

    #[test]
    fn the_nearest_of_equal_lines_is_taken_and_a_line_alone_is_kept_in_the_file() {
        let mut own = finding(5, Some("x"));
        assert!(own.place(Some("x\n\n\n\n\nx\n")));
        assert_eq!(own.line, 6);
        let mut own = finding(9, None);
        assert!(own.place(Some("a\nb\n")));
        assert_eq!(own.line, 2);
        assert!(own.place(Some("b\n")));
        assert_eq!(own.line, 1);
        assert!(!own.place(None), "its file is gone");
        let mut empty = finding(3, None);
        assert!(empty.place(Some("")));
        assert_eq!(empty.line, 1);
    }

    #[test]
    fn a_file_that_is_not_there_is_shown_where_it_would_be() {
        let absent =
            |path: &str| Finding { path: path.to_owned(), is_absence: true, ..finding(7, None) };
        let mut own = absent("src/gone.rs");
        assert!(own.place(None) && own.is_on(0, 0));
        assert!(!own.place(Some("")), "it is there now");
        assert!(!absent("../gone.rs").place(None) && !absent("/etc/gone").place(None));
    }
}
