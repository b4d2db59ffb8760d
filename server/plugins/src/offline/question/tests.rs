//! Phrasings of questions, and what is read out of them.

use super::*;

fn names(prompt: &str) -> String {
    let question = Question::read(prompt, &[]);
    question.names.iter().map(|name| name.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn an_identifier_is_found_in_any_phrasing() {
    for (prompt, expected) in [
        ("where is parse_config defined?", "parse_config"),
        ("Where is parse defined?", "parse"),
        ("where is main", "main"),
        ("what does `foo_bar` do", "foo_bar"),
        ("what does parse do?", "parse"),
        ("show me parse_config", "parse_config"),
        ("show me the parse function", "parse"),
        ("FooBar", "FooBar"),
        ("`x`?", "x"),
        ("spawn?", "spawn"),
        ("where is a::b::c?", "c"),
        ("where is obj.method implemented", "method"),
        ("MAX_SIZE", "MAX_SIZE"),
        ("where is 'quoted' defined", "quoted"),
        ("where is \"quoted\" defined", "quoted"),
        ("where is `$scope` set?", "$scope"),
        ("find the definition of my-element", "my-element"),
        ("definition of main", "main"),
        ("Where does Parser live?", "Parser"),
        ("which file defines Widget?", "Widget"),
        ("what file is Widget in?", "Widget"),
        ("where's spawn implemented", "spawn"),
        ("Where’s spawn implemented?", "spawn"),
        ("can you tell me where Widget is?", "Widget"),
        ("hey, could you please show me the struct Widget", "Widget"),
        ("where is the Error type defined?", "Error"),
        ("where is macro vec defined", "vec"),
        ("spawn definition", "spawn"),
        ("what is Widget?", "Widget"),
        ("go to the declaration of run", "run"),
        ("where can I find the class Node?", "Node"),
        ("who calls Foo::bar?", "bar"),
        ("who calls run?", "run"),
        ("find all usages of spawn", "spawn"),
        ("where is spawn called?", "spawn"),
        ("where do we call spawn?", "spawn"),
        ("callers of `tick`", "tick"),
        ("what is Vec<String>::push_all()?", "push_all"),
        ("parse 在哪里定义？", "parse"),
        ("compare fooBar with bazQux", "fooBar bazQux"),
        ("how does retry_delay work?", "retry_delay"),
        ("where is String::from_utf8 defined", "from_utf8"),
        ("where is from defined?", "from"),
        ("where is it defined?", ""),
    ] {
        assert_eq!(names(prompt), expected, "{prompt}");
    }
}

#[test]
fn the_form_makes_any_word_a_name() {
    for (prompt, expected) in [
        ("where is Same defined?", "Same"),
        ("Where is Some defined", "Some"),
        ("where is base defined?", "base"),
        ("where is when defined?", "when"),
        ("where is used defined?", "used"),
        ("where is called defined?", "called"),
        ("definition of when", "when"),
        ("definition of Same", "Same"),
        ("used defined where", "used"),
        ("when defined where?", "when"),
        ("where is the struct Some defined?", "Some"),
        ("where is Ünïcode defined?", "Ünïcode"),
        ("where is 数える defined?", "数える"),
        ("definition of 数える", "数える"),
        ("Does the class Wibble exist?", "Wibble"),
        ("is there a function wibble?", "wibble"),
    ] {
        assert_eq!(names(prompt), expected, "{prompt}");
    }
}

#[test]
fn prose_has_terms_and_no_names() {
    for (prompt, expected) in [
        ("how are retries delayed?", "retries delayed"),
        ("where is the configuration file read?", "configuration file read"),
        ("how does cancellation work?", "cancellation"),
        ("what license is this under?", "license"),
        ("how do I run the tests?", "run tests"),
        ("why does JavaScript need a polyfill?", "java script polyfill"),
        ("when is garbage collected?", "garbage collected"),
        ("how does the server handle a lost connection", "server lost connection"),
    ] {
        let question = Question::read(prompt, &[]);
        let terms: Vec<&str> = question.terms.iter().map(|term| term.word.as_str()).collect();
        assert_eq!((question.names.len(), terms.join(" ").as_str()), (0, expected), "{prompt}");
        assert!(question.wants_passages(), "{prompt}");
    }
}

#[test]
fn the_form_says_what_is_wanted() {
    for (prompt, expected) in [
        ("who calls Foo::bar?", Want::Uses),
        ("where is spawn used?", Want::Uses),
        ("usages of MAX_SIZE", Want::Uses),
        ("where is spawn?", Want::Definition),
        ("where is used defined?", Want::Definition),
        ("when defined where", Want::Definition),
        ("Does the class Wibble exist?", Want::Definition),
        ("FooBar", Want::Definition),
        ("how are retries delayed?", Want::Explanation),
        ("what is this project?", Want::Overview),
        ("what does this repo do?", Want::Overview),
        ("hello", Want::Nothing),
        ("thanks!", Want::Nothing),
        ("", Want::Nothing),
        ("???", Want::Nothing),
    ] {
        assert_eq!(Question::read(prompt, &[]).want, expected, "{prompt}");
    }
}

#[test]
fn files_and_phrases_are_no_identifiers() {
    let files = |prompt| Question::read(prompt, &[]).files;
    assert_eq!(files("where is foo.rs?"), ["foo.rs"]);
    assert_eq!(files("open src/a/b.ts please"), ["src/a/b.ts"]);
    assert_eq!(files("what is in Makefile"), ["Makefile"]);
    assert!(files("how does e.g. Node.js start").is_empty());
    for prompt in ["src/a/b.rs:165", "what is at `src/a/b.rs:165:4`?", "show src/a/b.rs:165"] {
        let question = Question::read(prompt, &[]);
        assert_eq!((question.files[0].as_str(), question.line), ("src/a/b.rs", Some(165)));
    }
    let phrase = Question::read("where does \"connection refused by peer\" come from?", &[]).phrase;
    assert_eq!(phrase.as_deref(), Some("connection refused by peer"));
}

#[test]
fn qualifiers_and_kinds_are_kept() {
    let question = Question::read("where is the method http::Client::send defined?", &[]);
    let name = &question.names[0];
    assert_eq!((name.name.as_str(), name.qualifiers.join("/").as_str()), ("send", "http/Client"));
    assert_eq!(name.kind.as_deref(), Some("method"));
}

#[test]
fn a_pronoun_refers_to_the_prompt_before() {
    let earlier = ["where is spawn_task defined?".to_owned()];
    let question = Question::read("and who uses it?", &earlier);
    assert_eq!((question.want, question.names[0].name.as_str()), (Want::Uses, "spawn_task"));
}

#[test]
fn every_pattern_compiles() {
    assert!(forms::all() > 0);
    let lazy = [&*QUOTED, &*WORD, &*PRONOUN, &*NAME, &*CALL_END, &*SEPARATOR, &*FILE, &*FILE_LINE];
    assert_eq!(lazy.len(), 8);
}
