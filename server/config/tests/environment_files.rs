//! What the home's environment file may set.

use std::collections::BTreeMap;

use dsh_config::environment_file::{is_bootstrap, layered, load, parse};
use dsh_config::source::Source;
use expect_test::{Expect, expect};

use crate::world::World;

fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    parse(&Source::file("home/.env".into(), text)).map_err(|problems| World::new().show(&problems))
}

fn refused(text: &str, expected: Expect) {
    expected.assert_eq(&read(text).unwrap_err());
}

#[test]
fn lines_set_variables() {
    let text = "\u{feff}# keys\r\nA=1\r\nexport B = two words # why\nC='a $B # \\n'\nD=\"a\\nb \\\"q\\\" \\$X \\w\" # why\nE=\nF=#\nG=a#b\nH=a=b\n";
    let found: Vec<_> = read(text).unwrap().into_iter().collect();
    let expected = [
        ("A", "1"),
        ("B", "two words"),
        ("C", "a $B # \\n"),
        ("D", "a\nb \"q\" $X \\w"),
        ("E", ""),
        ("F", ""),
        ("G", "a#b"),
        ("H", "a=b"),
    ];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn what_steers_programs_is_refused_all_at_once() {
    refused(
        "OPENAI_API_KEY=x\nPath=/x\nGIT_SSH=x\ndsh_ls_home=/x\nhttp_proxy=x\n",
        expect![[r"
        home/.env:2:1: error: this file may not set `Path`, `GIT_SSH`, `dsh_ls_home`, `http_proxy`; set them where the program is started
    "]],
    );
}

#[test]
fn every_name_that_starts_programs_is_known() {
    for name in [
        "PATH",
        "HOME",
        "SHELL",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "NODE_OPTIONS",
        "HTTP_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "no_proxy",
        "GIT_DIR",
        "EDITOR",
        "DSH_LS_HOME",
        "XDG_CONFIG_HOME",
        "DYLD_INSERT_LIBRARIES",
        "BASH_FUNC_x",
        "DEEPSEEK_BASE_URL",
    ] {
        assert!(is_bootstrap(name), "{name}");
    }
    for name in ["DEEPSEEK_API_KEY", "PATHS", "HOMER", "OPENAI_BASE_URL", "GITHUB_TOKEN"] {
        assert!(!is_bootstrap(name), "{name}");
    }
}

#[test]
fn malformed_lines_are_refused_with_the_rest() {
    refused(
        "A=1\nB\n1C=2\nD='x\nE=\"x\nF='x' y\nHOME=/x\n",
        expect![[r"
        home/.env:2:1: error: expected `NAME=value`
        home/.env:3:1: error: expected a name of letters, digits and `_` before `=`
        home/.env:4:1: error: a quote is not closed in this line
        home/.env:5:1: error: a quote is not closed in this line
        home/.env:6:1: error: nothing but a comment may stand behind a closing quote
        home/.env:7:1: error: this file may not set `HOME`; set them where the program is started
    "]],
    );
}

#[test]
fn a_problem_does_not_show_the_value() {
    let shown = read("A=1\nHOME=secret\n").unwrap_err();
    assert!(!shown.contains("secret"), "{shown}");
    let shown = read("KEY='secret\n").unwrap_err();
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn the_homes_file_is_used_whole_or_not_at_all() {
    let world = World::new();
    let sources = world.sources("none", &[]);
    let inherited: BTreeMap<_, _> = [("A".to_owned(), "inherited".to_owned())].into();
    assert_eq!(load(&sources, inherited.clone()).unwrap(), inherited);
    world.write("home/.env", "A=1\nB=2\n");
    assert_eq!(load(&sources, inherited.clone()).unwrap().len(), 2);
    world.write("home/.env", "B=2\nPATH=/x\n");
    assert_eq!(load(&sources, inherited).unwrap_err()[0].line, Some(2));
}

#[test]
fn what_is_inherited_wins() {
    let of = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let both = layered(of(&[("A", "inherited")]), of(&[("A", "file"), ("B", "file")]));
    assert_eq!(both, of(&[("A", "inherited"), ("B", "file")]));
}
