//! Lines of many languages, and what each does to a name.

use super::keyword::KEYWORD_BEFORE;
use super::*;

/// The kind, with a mark behind it unless it is what a person would call the definition.
fn judged(path: &str, line: &str, name: &str) -> String {
    match judge(path, line, name) {
        None => "nothing".to_owned(),
        Some(definition) if definition.strength >= STRONG => definition.kind,
        Some(definition) if definition.strength > LOCAL + 10 => {
            format!("{}, weak", definition.kind)
        }
        Some(definition) => format!("{}, local", definition.kind),
    }
}

fn check(cases: &[(&str, &str, &str, &str)]) {
    for (path, line, name, expected) in cases {
        assert_eq!(judged(path, line, name), *expected, "{path}: {line}");
        if *expected != "nothing" {
            let names = [Name {
                name: (*name).to_owned(),
                qualifiers: Vec::new(),
                kind: None,
                is_code: true,
            }];
            let pattern = Regex::new(&search_pattern(&names)).unwrap();
            assert!(pattern.is_match(line), "the search would miss {path}: {line}");
        }
    }
}

#[test]
fn rust() {
    check(&[
        ("a.rs", "pub(crate) async fn run(x: u8) {", "run", "function"),
        ("a.rs", "    pub const unsafe fn run() {", "run", "function"),
        ("a.rs", "    fn run(&self) -> u8;", "run", "function"),
        ("a.rs", "pub struct Foo<T> {", "Foo", "struct"),
        ("a.rs", "pub enum Foo {", "Foo", "enum"),
        ("a.rs", "unsafe trait Foo: Bar {", "Foo", "trait"),
        ("a.rs", "type Foo = Bar;", "Foo", "type"),
        ("a.rs", "type Foo = Bar;", "Bar", "nothing"),
        ("a.rs", "const FOO: u8 = 1;", "FOO", "constant"),
        ("a.rs", "pub static mut FOO: u8 = 1;", "FOO", "static"),
        ("a.rs", "pub mod foo;", "foo", "module"),
        ("a.rs", "macro_rules! foo {", "foo", "macro"),
        ("a.rs", "impl<T> Bar for Foo<T> {", "Bar", "nothing"),
        ("a.rs", "    pub name: String,", "name", "field, weak"),
        ("a.rs", "    Foo(u8),", "Foo", "variant, weak"),
        ("a.rs", "    let foo = 1;", "foo", "local variable, local"),
        ("a.rs", "    foo(1);", "foo", "nothing"),
        ("a.rs", "    return foo(1);", "foo", "nothing"),
        ("a.rs", "use crate::foo;", "foo", "nothing"),
        ("a.rs", "// fn foo() {", "foo", "nothing"),
        ("a.rs", "    x(\"fn foo() {\")", "foo", "nothing"),
        ("a.rs", "fn other(foo: u8) {", "foo", "nothing"),
        ("a.md", "fn foo() {", "foo", "nothing"),
    ]);
}

#[test]
fn javascript_and_typescript() {
    check(&[
        ("a.js", "export default async function foo(a) {", "foo", "function"),
        ("a.js", "function* foo() {", "foo", "function"),
        ("a.ts", "export abstract class Foo<T> extends Bar {", "Foo", "class"),
        ("a.ts", "export interface Foo {", "Foo", "interface"),
        ("a.ts", "declare namespace Foo {", "Foo", "namespace"),
        ("a.ts", "export const enum Foo {", "Foo", "enum"),
        ("a.ts", "export type Foo = string;", "Foo", "type"),
        ("a.ts", "export const foo = 1;", "foo", "constant"),
        ("a.js", "const foo = (a) => a;", "foo", "function"),
        ("a.js", "  const foo = 1;", "foo", "local variable, local"),
        ("a.js", "const foo = require('foo');", "foo", "import, local"),
        ("a.js", "\tasync foo( a, b ) {", "foo", "method"),
        ("a.ts", "    private foo(a: string): void {", "foo", "method"),
        ("a.d.ts", "    foo(a: string): void;", "foo", "declaration"),
        ("a.js", "  foo: function (a) {", "foo", "function"),
        ("a.js", "exports.foo = foo;", "foo", "export"),
        ("a.js", "Foo.prototype.bar = function () {", "bar", "function"),
        ("a.js", "  foo(a, b);", "foo", "nothing"),
        ("a.js", "import { foo } from './foo';", "foo", "nothing"),
        ("a.ts", "  readonly foo: string;", "foo", "property, weak"),
    ]);
}

#[test]
fn python_go_and_c() {
    check(&[
        ("a.py", "async def foo(a):", "foo", "function"),
        ("a.py", "    def foo(self):", "foo", "function"),
        ("a.py", "class Foo(Bar):", "Foo", "class"),
        ("a.py", "FOO = 1", "FOO", "variable"),
        ("a.py", "    self.foo = 1", "foo", "attribute, weak"),
        ("a.py", "    return foo(1)", "foo", "nothing"),
        ("a.go", "func (s *Server) Foo(a int) error {", "Foo", "function"),
        ("a.go", "type Foo struct {", "Foo", "type"),
        ("a.go", "var Foo = 1", "Foo", "variable"),
        ("a.c", "static int foo(int a)", "foo", "function"),
        ("a.c", "foo (int a)", "foo", "function"),
        ("a.h", "int foo(int a);", "foo", "declaration"),
        ("a.c", "    int x = foo(1);", "foo", "nothing"),
        ("a.c", "    foo(1);", "foo", "nothing"),
        ("a.c", "    return foo(a);", "foo", "nothing"),
        ("a.c", "#define FOO(a) (a)", "FOO", "macro"),
        ("a.c", "# define FOO 1", "FOO", "macro"),
        ("a.c", "struct foo {", "foo", "struct"),
        ("a.c", "struct foo *bar;", "foo", "nothing"),
        ("a.c", "typedef struct bar foo;", "foo", "typedef"),
        ("a.c", "} foo_t;", "foo_t", "type"),
        ("a.c", "static const char *foo = \"x\";", "foo", "variable"),
        ("a.cc", "void Foo::bar(int a) {", "bar", "function"),
        ("a.cc", "Foo::Foo(int a) : a_(a) {", "Foo", "function"),
        ("A.java", "    public static final int FOO = 1;", "FOO", "field, weak"),
        ("A.java", "    public void foo() throws X {", "foo", "function"),
        ("A.cs", "    public class Foo : Bar", "Foo", "class"),
    ]);
}

#[test]
fn other_languages() {
    check(&[
        ("a.rb", "  def self.foo(a)", "foo", "function"),
        ("a.rb", "module Foo", "Foo", "module"),
        ("a.php", "    public function foo($a) {", "foo", "function"),
        ("a.sh", "foo() {", "foo", "function"),
        ("a.sh", "FOO=1", "FOO", "variable"),
        ("a.lua", "local function foo(a)", "foo", "function"),
        ("a.lua", "function M.foo(a)", "foo", "function"),
        ("a.lua", "M.foo = function(a)", "foo", "function"),
        ("a.sql", "CREATE TABLE IF NOT EXISTS foo (", "foo", "SQL object"),
        ("a.kt", "fun foo(a: Int): Int {", "foo", "function"),
        ("a.swift", "    public func foo(_ a: Int) {", "foo", "function"),
        ("a.yaml", "foo: 1", "foo", "key, weak"),
        ("a.toml", "foo = 1", "foo", "key, weak"),
        ("a.json", "  \"foo\": 1,", "foo", "key, weak"),
        ("Makefile", "foo: bar", "foo", "target"),
        ("a.clj", "(defn foo [a]", "foo", "function"),
        ("a.proto", "message Foo {", "Foo", "message"),
    ]);
}

#[test]
fn keywords_fit_the_language() {
    check(&[
        ("a.py", "x = type(Foo)", "Foo", "nothing"),
        ("a.py", "type Foo = int", "Foo", "type"),
        ("a.py", "    return func(foo)", "foo", "nothing"),
        ("a.js", "    func(foo, 1);", "foo", "nothing"),
        ("a.js", "  fn(foo);", "foo", "nothing"),
        ("a.js", "it('x', function (foo) {", "foo", "nothing"),
        ("a.rs", "    func(foo);", "foo", "nothing"),
        ("a.c", "    type foo;", "foo", "member or local variable, weak"),
        ("a.cc", "std::function<void()> foo;", "foo", "variable"),
        ("a.go", "\tfn(foo)", "foo", "nothing"),
        ("a.cmake", "function(foo a b)", "foo", "function"),
        ("a.rs", "    ptr: *const Foo,", "Foo", "nothing"),
        ("a.rs", "fn x() -> *mut Foo;", "Foo", "nothing"),
        ("a.rs", "    let x = y as *const Foo;", "Foo", "nothing"),
        ("a.rs", "    Self: Sized,", "Self", "nothing"),
        ("a.rs", "    T: Clone,", "T", "nothing"),
        ("a.cc", "    if constexpr (kFoo) {", "kFoo", "nothing"),
        ("a.c", "static size_t", "size_t", "nothing"),
        ("a.c", "static const size_t", "size_t", "nothing"),
        ("a.c", "static const foo = 1;", "foo", "constant"),
        ("a.js", "    super(a) {", "super", "nothing"),
        ("a.js", "  function (a) {", "function", "nothing"),
        ("a.js", "  if (a) {", "if", "nothing"),
        ("a.js", "  switch (a) {", "switch", "nothing"),
        ("A.java", "        super(a, b);", "super", "nothing"),
        ("A.java", "    while (a) {", "while", "nothing"),
        ("a.js", "  foo({", "foo", "nothing"),
    ]);
}

#[test]
fn methods_of_scripts() {
    check(&[
        ("a.js", "  static foo(a) {", "foo", "method"),
        ("a.js", "  static async foo(a) {", "foo", "method"),
        ("a.js", "  get foo() {", "foo", "method"),
        ("a.js", "  static set foo(a) {", "foo", "method"),
        ("a.ts", "  public static async foo(", "foo", "method"),
        ("a.ts", "  public static foo<T>(a: T): T {", "foo", "method"),
        ("a.ts", "  abstract foo(a: string): void;", "foo", "declaration"),
        ("a.ts", "  protected abstract foo(a);", "foo", "declaration"),
    ]);
}

#[test]
fn rarer_forms() {
    check(&[
        ("a.h", "typedef int (*foo_cb)(int a);", "foo_cb", "typedef"),
        ("a.h", "typedef int (*foo_cb)(bar, baz);", "bar", "nothing"),
        ("a.hpp", "using Foo = std::vector<int>;", "Foo", "type"),
        ("a.hpp", "using foo::Bar;", "Bar", "nothing"),
        ("a.ts", "export namespace A.B {", "B", "namespace"),
        ("a.py", "FOO, BAR = 1, 2", "FOO", "variable"),
        ("a.py", "FOO, BAR = 1, 2", "BAR", "variable"),
        ("a.py", "import numpy as np", "np", "import alias, local"),
        ("a.rs", "pub use a::b as foo;", "foo", "import alias"),
        ("a.rs", "use a::b as foo;", "foo", "import alias, local"),
    ]);
}

#[test]
fn every_pattern_compiles() {
    for pattern in [&*KEYWORD_BEFORE, &*CONTAINER, &*IMPORT, &*PUBLIC, &*FUNCTION_VALUE] {
        assert!(!pattern.as_str().is_empty());
    }
}
