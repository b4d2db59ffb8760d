//! What is on disk after each way to stop, and who may write.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use dsh_protocol::event::{EventData, SessionTitle, TurnStart};

use super::*;
use crate::log::Log;
use crate::store::LeaseError;
use crate::writer::Writer;

fn header(id: &str) -> FileHeader {
    FileHeader {
        r#type: "session".to_owned(),
        version: FileHeader::VERSION,
        id: SessionId::from(id),
        created_at: 1,
        cwd: "/w".to_owned(),
        parent_session: None,
        seed_length: None,
        origin: None,
        delegation_depth: None,
        additional_workspaces: Vec::new(),
        other: BTreeMap::new(),
    }
}

fn title(text: &str) -> EventData {
    EventData::SessionTitle(SessionTitle { title: text.to_owned() })
}

fn writer(stored: Stored) -> Writer {
    Writer::new(Arc::new(stored.log), stored.sink, Arc::new(|| 7))
}

async fn listed(store: &JsonlStore) -> Vec<Summary> {
    let listed = store.list(BTreeSet::new()).await.unwrap().into_iter();
    let stored = listed.map(|listed| match listed {
        Listed::Stored(summary) => *summary,
        Listed::Loaded(id) => panic!("nobody has loaded {id}"),
        Listed::Unreadable(log) => panic!("{log:?}"),
    });
    stored.collect()
}

async fn created(store: &JsonlStore, id: &str) -> Writer {
    let sink = store.create(header(id)).await.unwrap();
    writer(Stored { log: Log::empty(header(id)), sink })
}

async fn opened(store: &JsonlStore, id: &str) -> Writer {
    writer(store.open(SessionId::from(id)).await.unwrap())
}

#[tokio::test]
async fn what_was_flushed_is_read_back_and_nobody_else_may_read_it() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonlStore::new(home.path(), Path::new("/w/project"));
    let session = created(&store, "one").await;
    session.acquire().await.unwrap();
    session.append(title("a\u{2028}b\n")).unwrap();
    session.append(EventData::TurnStart(TurnStart { turn: 1 })).unwrap();
    session.flush().await.unwrap();
    let path = store.path(&SessionId::from("one"));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            mode,
            "{}",
            path.display()
        );
    }
    let again = opened(&store, "one").await;
    assert_eq!(again.log().page(-1, 9, |_| true), session.log().page(-1, 9, |_| true));
    let listed = listed(&store).await;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].title.as_deref(), listed[0].last_seq), (Some("a\u{2028}b\n"), 1));
    assert!(listed[0].written_elsewhere && listed[0].open_turn);
}

#[tokio::test]
async fn ids_are_unique_without_regard_to_case_across_workspaces() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonlStore::new(home.path(), Path::new("/w/a"));
    let other = JsonlStore::new(home.path(), Path::new("/w/b"));
    assert_ne!(store.path(&SessionId::from("x")), other.path(&SessionId::from("x")));
    created(&store, "Mine").await;
    for store in [&store, &other] {
        for id in ["Mine", "mine", "MINE"] {
            let taken = store.create(header(id)).await;
            assert_eq!(taken.err(), Some(StoreError::Taken(SessionId::from(id))));
        }
    }
    let missing = store.open(SessionId::from("other")).await;
    assert_eq!(missing.err(), Some(StoreError::NotFound(SessionId::from("other"))));
}

#[tokio::test]
async fn one_process_writes_at_a_time_and_takes_in_what_the_other_wrote() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonlStore::new(home.path(), Path::new("/w"));
    let one = created(&store, "shared").await;
    let two = opened(&store, "shared").await;
    one.acquire().await.unwrap();
    one.append(title("from one")).unwrap();
    let refused = two.acquire().await;
    assert!(matches!(refused, Err(crate::writer::AcquireError::Lease(LeaseError::Taken))));
    one.release().await.unwrap();
    two.acquire().await.unwrap();
    assert_eq!(two.log().read(|fold| fold.title.clone()).as_deref(), Some("from one"));
    two.append(title("from two")).unwrap();
    two.release().await.unwrap();
    one.acquire().await.unwrap();
    assert_eq!(one.log().read(|fold| fold.title.clone()).as_deref(), Some("from two"));
    assert_eq!(opened(&store, "shared").await.log().last_seq(), 1);
}

#[tokio::test]
async fn a_torn_end_is_set_aside_and_writing_goes_on_behind_the_last_whole_line() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonlStore::new(home.path(), Path::new("/w"));
    let session = created(&store, "torn").await;
    session.acquire().await.unwrap();
    session.append(title("kept")).unwrap();
    session.append(title("lost")).unwrap();
    session.release().await.unwrap();
    drop(session);
    let path = store.path(&SessionId::from("torn"));
    let whole = fs::read(&path).unwrap();
    let second =
        whole.len() - whole.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().len();
    for cut in second + 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let _ = fs::remove_file(path.with_extension("torn"));
        let session = opened(&store, "torn").await;
        assert_eq!(session.log().last_seq(), 0, "cut at {cut}");
        assert_eq!(fs::metadata(&path).unwrap().len(), cut as u64, "reading changes nothing");
        session.acquire().await.unwrap();
        session.append(title("next")).unwrap();
        session.release().await.unwrap();
        assert_eq!(fs::read(path.with_extension("torn")).unwrap(), &whole[second..cut]);
        assert_eq!(
            opened(&store, "torn").await.log().read(|fold| fold.title.clone()).as_deref(),
            Some("next")
        );
    }
}

#[tokio::test]
async fn damage_and_foreign_logs_are_refused_by_name_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonlStore::new(home.path(), Path::new("/w"));
    let session = created(&store, "log").await;
    session.acquire().await.unwrap();
    for text in ["a", "b", "c"] {
        session.append(title(text)).unwrap();
    }
    session.release().await.unwrap();
    let path = store.path(&SessionId::from("log"));
    let good = fs::read_to_string(&path).unwrap();
    let foreign = r#"{"type":"from/the-future","seq":3,"time":1,"data":{}}"#;
    let ignorable =
        r#"{"type":"from/the-future","seq":3,"time":1,"data":{"x":[1.50]},"ignorable":true}"#;
    let error = |text: String| {
        fs::write(&path, &text).unwrap();
        let store = store.clone();
        let path = path.clone();
        async move {
            let error = store.open(SessionId::from("log")).await.err();
            assert_eq!(fs::read_to_string(path).unwrap(), text);
            error
        }
    };
    let damaged_at = |error: Option<StoreError>| match error {
        Some(StoreError::Damaged { line, .. }) => Some(line),
        Some(_) | None => None,
    };
    assert_eq!(damaged_at(error(good.replacen("\"seq\":1", "\"seq\":5", 1)).await), Some(3));
    assert_eq!(
        damaged_at(error(good.replacen("{\"type\":\"session/title\"", "{", 1)).await),
        Some(2)
    );
    assert_eq!(damaged_at(error(String::new()).await), Some(1));
    let newer = error(good.replacen("\"version\":0", "\"version\":99", 1)).await;
    assert!(matches!(newer, Some(StoreError::Unsupported(_))), "{newer:?}");
    let unknown = error(format!("{good}{foreign}\n")).await;
    assert!(matches!(unknown, Some(StoreError::Unsupported(_))), "{unknown:?}");
    assert_eq!(error(format!("{good}{ignorable}\n")).await, None);
    let kept = opened(&store, "log").await.log().page(2, 1, |_| true).events;
    assert_eq!(serde_json::to_string(kept[0].as_ref()).unwrap(), ignorable);
}

#[tokio::test]
async fn a_failed_write_loses_nothing_and_leaves_whole_lines() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonlStore::new(home.path(), Path::new("/w"));
    let path = store.path(&SessionId::from("full"));
    let session = created(&store, "full").await;
    session.acquire().await.unwrap();
    drop(session);
    // A file that is open for reading only refuses every write.
    let length = fs::metadata(&path).unwrap().len();
    let mark = Mark { offset: length, lines: 1, next_seq: 0 };
    let file = File::open(&path).unwrap();
    let refusing = FileSink::new(file, true, path.clone(), mark, Arc::clone(&store.index));
    let stored = store.open(SessionId::from("full")).await.unwrap();
    let session = writer(Stored { sink: Arc::new(refusing), ..stored });
    session.append(title("a")).unwrap();
    assert!(session.flush().await.is_err());
    session.append(title("b")).unwrap();
    assert!(session.flush().await.is_err());
    assert_eq!(fs::metadata(&path).unwrap().len(), length);
    assert_eq!(session.log().last_seq(), 1);
}
