//! What is read, what is refused, and how it is said.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::problem::ProblemKind;
use crate::source::read;

fn read_text(text: &str) -> Result<Option<Node>, Problem> {
    parse(&Source::file("a.yml".into(), text))
}

fn check(text: &str, expected: Expect) {
    let found = match read_text(text) {
        Ok(Some(node)) => format!("{}\n", show(&node)),
        Ok(None) => "no document\n".to_owned(),
        Err(problem) => format!("{problem}\n"),
    };
    expected.assert_eq(&found);
}

fn show(node: &Node) -> String {
    let tag = node.tag.as_ref().map_or(String::new(), |tag| format!("{tag} "));
    let value = match &node.value {
        Content::Null => "null".to_owned(),
        Content::Bool(value) => value.to_string(),
        Content::Number(value) => value.to_string(),
        Content::String(value) => format!("{value:?}"),
        Content::List(items) => {
            format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", "))
        }
        Content::Map(entries) => {
            let entry = |entry: &Entry| {
                format!(
                    "{}@{}:{} = {}",
                    entry.key,
                    entry.place.line,
                    entry.place.column,
                    show(&entry.value)
                )
            };
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    };
    format!("{tag}{value}@{}:{}", node.place.line, node.place.column)
}

#[test]
fn every_node_knows_its_place() {
    check(
        "a: 1\nb:\n  - x\n  - {ü: 'y', z: ~}\n",
        expect![[r#"
            {a@1:1 = 1@1:4, b@2:1 = ["x"@3:5, {ü@4:6 = "y"@4:9, z@4:14 = null@4:17}@4:5]@3:3}@1:1
        "#]],
    );
}

#[test]
fn words_are_booleans_in_the_core_schema_only() {
    check(
        "[yes, no, on, off, true, False, null, 12, 0x1f, 1e3, -2.5, 1_000, '7']\n",
        expect![[r#"
            ["yes"@1:2, "no"@1:7, "on"@1:11, "off"@1:15, true@1:20, false@1:26, null@1:33, 12@1:39, 31@1:43, 1000.0@1:49, -2.5@1:54, "1_000"@1:60, "7"@1:67]@1:1
        "#]],
    );
}

#[test]
fn tags_are_kept_as_written_but_for_those_of_yaml() {
    check(
        "[!env 80, !!str 80, !!int '80', !!js x, !a {b: c}]\n",
        expect![[r#"
            [!env "80"@1:2, "80"@1:11, 80@1:21, !!js "x"@1:33, !a {b@1:45 = "c"@1:48}@1:41]@1:1
        "#]],
    );
}

#[test]
fn an_alias_is_what_it_names_at_the_place_of_the_alias() {
    check(
        "a: &x {b: 1}\nc: *x\n",
        expect![[r"
            {a@1:1 = {b@1:8 = 1@1:11}@1:7, c@2:1 = {b@1:8 = 1@1:11}@2:4}@1:1
        "]],
    );
}

#[test]
fn marks_and_line_ends_of_other_systems_are_read() {
    check(
        "\u{feff}a: 1\r\nb: x\r\n",
        expect![[r#"
        {a@1:1 = 1@1:4, b@2:1 = "x"@2:4}@1:1
    "#]],
    );
}

#[test]
fn nothing_but_comments_is_no_document() {
    check(
        "# nothing\n",
        expect![[r"
        no document
    "]],
    );
}

#[test]
fn a_key_that_stands_twice_is_shown_where_it_stands_again() {
    check(
        "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
        expect![[r"
        a.yml:5:3: error: c: `c` stands here twice; the first is in line 3
          |
        5 |   c: 3
          |   ^
    "]],
    );
}

#[test]
fn tabs_are_refused_with_the_way_out() {
    check(
        "a:\n\tb: 1\n",
        expect![[r"
        a.yml:2:2: error: is no YAML: tabs disallowed within this context (block indentation); indent with spaces, not with tabs
          |
        2 |  b: 1
          |  ^
    "]],
    );
}

#[test]
fn a_second_document_is_refused() {
    check(
        "- a\n---\n- b\n",
        expect![[r"
        a.yml:2:1: error: a second document begins; a file of configuration has one
          |
        2 | ---
          | ^^^
    "]],
    );
}

#[test]
fn an_open_bracket_is_shown() {
    check(
        "a: [1, 2\nb: 3\n",
        expect![[r"
        a.yml:2:2: error: is no YAML: illegal placement of ':' indicator
          |
        2 | b: 3
          |  ^
    "]],
    );
}

#[test]
fn a_colon_in_a_bare_text_is_shown() {
    check(
        "key: value: x\n",
        expect![[r"
        a.yml:1:11: error: is no YAML: mapping values are not allowed in this context
          |
        1 | key: value: x
          |           ^
    "]],
    );
}

#[test]
fn merge_keys_are_refused() {
    check(
        "a: &x {b: 1}\nc:\n  <<: *x\n",
        expect![[r"
        a.yml:3:3: error: merge keys (`<<`) are not read; repeat the keys
          |
        3 |   <<: *x
          |   ^^
    "]],
    );
}

#[test]
fn an_alias_inside_its_own_anchor_is_refused() {
    check(
        "a: &x [1, *x]\n",
        expect![[r"
        a.yml:1:11: error: an alias inside its own anchor has no end
          |
        1 | a: &x [1, *x]
          |           ^^
    "]],
    );
}

#[test]
fn an_unknown_alias_is_refused() {
    check(
        "a: *x\n",
        expect![[r"
        a.yml:1:4: error: an alias names an anchor that does not stand before it
          |
        1 | a: *x
          |    ^
    "]],
    );
}

#[test]
fn numbers_that_no_json_holds_are_refused() {
    check(
        "a: .inf\n",
        expect![[r"
        a.yml:1:4: error: is no finite number
          |
        1 | a: .inf
          |    ^^^^
    "]],
    );
}

#[test]
fn directives_are_refused() {
    check(
        "%YAML 1.1\n---\na: 1\n",
        expect![[r"
        a.yml:1:1: error: is no YAML: YAML directives are disallowed
          |
        1 | %YAML 1.1
          | ^
    "]],
    );
}

#[test]
fn aliases_cannot_unfold_without_limit() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let below = level - 1;
        let items = vec![format!("*a{below}"); 9].join(", ");
        bomb.extend([format!("a{level}: &a{level} [{items}]\n")]);
    }
    check(
        &bomb,
        expect![[r"
        a.yml:5:15: error: there are more than 20000 values, aliases unfolded
          |
        5 | a4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]
          |               ^^^
    "]],
    );
}

#[test]
fn depth_is_limited() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let too_deep =
        |text: &str| read_text(text).unwrap_err().message.ends_with("deeper than 64 levels");
    assert!(too_deep(&deep));
    let deep: Vec<String> = (0..500).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(too_deep(&deep.concat()));
}

#[test]
fn what_is_too_long_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.yml");
    std::fs::write(&path, "- id: x\n".repeat(10 * 1024 * 1024 / 8)).unwrap();
    let problem = read(&path).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Unparsable);
    assert_eq!(problem.message, "has 10485760 bytes; a file of configuration may have 1048576");
}

#[test]
fn nodes_are_counted() {
    let problem = read_text(&"- a\n".repeat(1024 * 1024 / 4)).unwrap_err();
    assert_eq!((problem.kind, problem.line), (ProblemKind::Unparsable, Some(20_000)));
}

#[test]
fn what_is_not_utf_8_and_what_is_no_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin.yml");
    std::fs::write(&path, b"a: 1\nb: \xff\n").unwrap();
    assert_eq!(read(&path).unwrap_err().message, "is not UTF-8 (line 2); save it as UTF-8");
    assert_eq!(read(folder.path()).unwrap_err().kind, ProblemKind::Unreadable);
    assert!(read(&folder.path().join("none.yml")).unwrap().is_none());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        if let Err(problem) = read_text(&text) {
            prop_assert!(!problem.to_string().is_empty());
        }
    }

    #[test]
    fn no_text_like_yaml_makes_it_panic(text in "([a-c&*!|>'\"\\[\\]{}:,#? \t\r\n-]|<<|ü|\u{feff}|\u{2028}){0,60}") {
        if let Err(problem) = read_text(&text) {
            prop_assert!(!problem.to_string().is_empty());
        }
    }
}
