//! Framing: the same events wherever the bytes are cut.

use super::*;

/// The events of some pieces, as `name|data` with a `~` behind one that has no blank line.
fn events(pieces: &[&[u8]]) -> Vec<String> {
    let mut parser = Parser::new(MAX_EVENT_BYTES);
    let mut events = VecDeque::new();
    for piece in pieces {
        parser.push(piece, &mut events).unwrap();
    }
    events.extend(parser.end());
    let shown = |event: Event| {
        format!("{}|{}{}", event.name, event.data, if event.terminated { "" } else { "~" })
    };
    events.into_iter().map(shown).collect()
}

/// The events of a stream, which must not depend on where it is cut.
fn check(stream: &[u8], expected: &[&str]) {
    assert_eq!(events(&[stream]), expected, "in one piece");
    for cut in 0..=stream.len() {
        let (before, after) = stream.split_at(cut);
        assert_eq!(events(&[before, after]), expected, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(events(&bytes), expected, "byte by byte");
}

#[test]
fn events_end_with_a_blank_line_of_any_kind() {
    check(b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\r\n\n", &["|a", "|b", "|c", "|d"]);
}

#[test]
fn a_character_of_several_bytes_may_be_cut() {
    check("data: 你好🙂\n\n".as_bytes(), &["|你好🙂"]);
}

#[test]
fn the_space_is_optional_and_several_data_lines_are_one_event() {
    check(b"event: x\nid: 7\nretry: 10\ndata:{\"a\":\r\ndata:[1]}\r\n\r\n", &["x|{\"a\":\n[1]}"]);
    check(b"data\ndata:  two\n\n", &["|\n two"]);
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_start_only() {
    check(b"\xEF\xBB\xBFdata: a\n\n", &["|a"]);
    check(b"\xEF\xBB\xBF\ndata: a\n\n\xEF\xBB\xBFdata: lost\n\ndata: b\n\n", &["|a", "|b"]);
}

#[test]
fn a_byte_that_is_not_utf8_spoils_itself_only() {
    check(b"data: a\xffb\n\ndata: c\n\n", &["|a\u{fffd}b", "|c"]);
}

#[test]
fn comments_blank_lines_and_unknown_fields_are_no_events() {
    check(b": keep-alive\n\n\n\nfoo: bar\n\nevent: lonely\n\ndata: a\n\n", &["|a"]);
}

#[test]
fn a_last_event_needs_no_blank_line() {
    check(b"data: a\n\ndata: [DONE]", &["|a", "|[DONE]~"]);
    check(b"data: {}\n", &["|{}~"]);
    check(b"data", &["|~"]);
}

#[test]
fn comments_are_told_from_data() {
    let mut parser = Parser::new(100);
    let mut events = VecDeque::new();
    let pieces: [(&[u8], Activity); 6] = [
        (b": hello", Activity::KeepAlive),
        (b" there\n", Activity::KeepAlive),
        (b"\r\n\r\n", Activity::KeepAlive),
        (b"da", Activity::Data),
        (b"ta: x\n", Activity::Data),
        (b"\n", Activity::KeepAlive),
    ];
    for (piece, expected) in pieces {
        assert_eq!(parser.push(piece, &mut events), Ok(expected), "{piece:?}");
    }
}

#[test]
fn an_event_without_end_is_refused() {
    let mut events = VecDeque::new();
    let mut line = Parser::new(10);
    assert_eq!(line.push(b"data: 0123456789", &mut events), Err(TooLong(10)));
    let mut lines = Parser::new(10);
    let pushed = (0..20).map(|_| lines.push(b"data: 0\n", &mut events)).find(Result::is_err);
    assert_eq!(pushed, Some(Err(TooLong(10))));
}
