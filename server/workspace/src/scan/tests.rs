//! Tests of `scan`: it sees what `grep` sees, and stops when it is told.

use std::collections::BTreeMap;
use std::sync::Mutex;

use dsh_protocol::workspace::ToolErrorCode;

use crate::Options;
use crate::fixture::{Fixture, code};
use crate::stop::Stop;

#[test]
fn every_visible_text_file_is_visited_once_with_its_decoded_text() {
    let fixture =
        Fixture::new(&[(".gitignore", "no\n"), ("no", "x"), ("a/b", "text"), (".env", "x")]);
    fixture.write("wide", b"\xff\xfeh\0i\0");
    fixture.write("bad", b"a\xff");
    fixture.write("binary", b"\0");
    fixture.write("large", vec![b'x'; 2 << 20]);
    for folder in fixture.both() {
        let seen = Mutex::new(BTreeMap::new());
        let summary = folder.scan(&Stop::never(), |path, text| {
            assert_eq!(seen.lock().unwrap().insert(path.to_owned(), text.to_owned()), None);
        });
        let summary = summary.unwrap();
        let seen: Vec<_> = seen.into_inner().unwrap().into_iter().collect();
        let seen: Vec<_> = seen.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(
            seen,
            [(".gitignore", "no\n"), ("a/b", "text"), ("bad", "a\u{fffd}"), ("wide", "hi")]
        );
        assert_eq!((summary.files, summary.bytes, summary.complete), (4, 13, true));
        assert_eq!(summary.notes.len(), 4, "{:?}", summary.notes);
    }
}

#[test]
fn a_cancel_from_within_a_visit_ends_the_scan() {
    let fixture = Fixture::new(&[("a", "x"), ("b", "x"), ("c", "x")]);
    let folder = fixture.open(Options { threads: 1, ..Options::default() });
    let stop = Stop::never();
    let visits = std::sync::atomic::AtomicUsize::new(0);
    let result = folder.scan(&stop, |_, _| {
        visits.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        stop.cancel();
    });
    assert_eq!(code(result), ToolErrorCode::Aborted);
    assert_eq!(visits.into_inner(), 1);
}

#[test]
fn a_panic_in_a_visit_reaches_the_caller_and_hangs_nobody() {
    let fixture = Fixture::new(&[("a", "x"), ("d/b", "x"), ("e/c", "x")]);
    let folder = fixture.open(Options { threads: 4, ..Options::default() });
    let scan = || folder.scan(&Stop::never(), |path, _| assert_ne!(path, "d/b"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(scan)).is_err());
    assert!(folder.scan(&Stop::never(), |_, _| {}).is_ok());
}
