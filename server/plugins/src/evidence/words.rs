//! The words that tell files from what only looks like one, and claims from proposals.

/// Extensions of files that people keep in source trees.
const EXTENSIONS: &str = "\
    rs toml lock md mdx txt rst adoc py pyi ipynb js jsx mjs cjs ts tsx mts cts json jsonc json5 jsonl \
    yml yaml xml html htm css scss sass less vue svelte astro go mod sum c h cc hh cpp hpp cxx hxx m mm \
    java kt kts scala groovy gradle clj cljs edn rb erb gemspec rake php pl pm lua luau vim el lisp scm \
    hs lhs cabal ml mli fs fsx cs csproj sln vb swift dart ex exs erl hrl jl r nim zig v sv vhd d f90 \
    asm s sh bash zsh fish ps1 psm1 bat cmd sql graphql gql proto thrift tf tfvars hcl nix cmake mk bzl \
    ini cfg conf properties env csv tsv tex bib svg diff patch snap service wgsl glsl hlsl cu pas cr sol \
    tmpl tpl ejs hbs j2 http log map plist";

/// Files that have no extension.
const NAMES: &str = "\
    Makefile GNUmakefile Dockerfile Containerfile Justfile justfile Rakefile Gemfile Procfile \
    Vagrantfile Jenkinsfile Brewfile LICENSE CODEOWNERS README CHANGELOG";

/// Extensions that are also ends of host names, field names or words, so that a bare `x.EXT` says little.
const AMBIGUOUS: &str = "\
    c h d m r s v ts go pl ml fs cs ex cr log map lock mod sum env http service properties patch diff \
    text el hs vb cc";

/// What objects are called whose fields look like files.
const OBJECTS: &str = "\
    self this obj object data event e msg message req res request response resp row item x y ctx context \
    err error result process module window document os sys node next vue react nuxt express three d3 \
    chart angular ember discord p5 moment day alpine solid backbone docs crates";

/// Folders that builds make.
const BUILT: &str = "\
    target dist build out node_modules .git coverage tmp vendor";

/// Words of languages and of prose that name nothing in particular.
const GENERIC: &str = "\
    true false null nil none undefined self this super some ok err string str int float double bool \
    boolean char byte void any object number u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 vec \
    option result box list dict map set array tuple fn func function def class struct enum trait impl \
    interface type mod module pub let const var static mut async await yield return if else match switch \
    case for while loop break continue use import export from as in is not and or new delete try catch \
    finally throw throws raise except with where unsafe extern public private protected abstract final \
    extends implements error value values data key keys name id path file files line lines text code \
    main test tests src lib bin config default todo fixme api json yaml toml html http https utf ascii \
    git cargo npm make rust python javascript typescript go java get post put head read write open close \
    grep glob exception promise index item items input output args kwargs arg foo bar baz";

/// Words before code that is proposed and not quoted.
const PROPOSALS: &str = "\
    change changing replace replacing add adding insert inserting should would could fix fixed rewrite \
    rename instead propose proposed proposal suggest suggested suggestion update updated modify modified \
    edit patch becomes become like example e.g refactor refactored create consider try might remove wrap \
    extend simplified roughly sketch pseudo pseudocode equivalent essentially approximately put move \
    append write want need diff after new";

/// Words before what a program says.
const OUTPUTS: &str = "\
    prints printed print output outputs panics panic fails failed fail produces emits logs logged reports \
    message trace result results yields shows";

/// Words before a file that need not be there.
const ABSENCES: &str = "\
    create creating add adding new no without missing lacks would could should e.g example like if \
    suggest propose rename renamed generate generates generated writes write output outputs save saves \
    removed deleted not never isn't doesn't don't introduce put into called want need expects looks any \
    optional optionally creates produces formerly was were instead hypothetical neither nor resolves \
    resolve candidates";

/// What follows a file that is not there.
const GONE: &str = "\
    does not exist | doesn't exist | do not exist | don't exist | is missing | was not found | were not \
    found | not found | no longer exist | isn't there | is absent | is not present | was removed | was \
    deleted | found neither | neither exists | neither is there | standard library | could not be found | cannot be found | isn't present | doesn\u{2019}t exist | not exist";

/// First words of lines that declare something, in the languages that people write.
const DECLARATIONS: &str = "\
    fn pub let const static struct enum trait impl mod use type def class import return func function export \
    var public private package interface";

/// First words of other lines of code.
const STATEMENTS: &str = "\
    from if for while match async await protected throw raise else local switch case namespace #define \
    #include val defer yield assert unsafe";

/// Whether a list of words between blanks has a word.
fn holds(words: &str, word: &str) -> bool {
    // Asked of every word of an answer: most are in no list, not even as a part of one of its words.
    words.contains(word) && words.split_ascii_whitespace().any(|one| one == word)
}

/// Whether a line that begins with this word declares something.
pub(super) fn declares(first: &str) -> bool {
    holds(DECLARATIONS, first)
}

/// Whether a text that begins with this word is code.
pub(super) fn begins_code(first: &str) -> bool {
    declares(first) || holds(STATEMENTS, first)
}

pub(super) fn is_extension(extension: &str) -> bool {
    holds(EXTENSIONS, extension) || holds(EXTENSIONS, &extension.to_ascii_lowercase())
}

pub(super) fn is_file_name(name: &str) -> bool {
    holds(NAMES, name)
}

pub(super) fn is_ambiguous(extension: &str) -> bool {
    holds(AMBIGUOUS, extension)
}

pub(super) fn is_object(stem: &str) -> bool {
    holds(OBJECTS, &stem.to_ascii_lowercase())
}

/// Whether a path leads into a folder that need not be there until something is built.
pub(super) fn is_built(path: &str) -> bool {
    path.split('/').any(|component| holds(BUILT, component))
}

pub(super) fn is_generic(identifier: &str) -> bool {
    identifier.chars().count() < 2 || holds(GENERIC, &identifier.to_ascii_lowercase())
}

/// Whether code behind these words is proposed.
pub(super) fn proposes(words: &str) -> bool {
    has_word(words, PROPOSALS)
}

/// Whether these words speak of what a program says.
pub(super) fn tells_of_output(words: &str) -> bool {
    has_word(words, OUTPUTS)
}

/// Whether a file between these words need not be there.
pub(super) fn is_absent(before: &str, after: &str) -> bool {
    has_word(before, ABSENCES) || is_gone(after)
}

/// Whether these words say that a file before them is not there.
pub(super) fn is_gone(after: &str) -> bool {
    let after = after.to_lowercase();
    GONE.split(" | ").any(|gone| after.contains(gone))
}

/// Whether a file is created or denied right behind these words.
pub(super) fn denies(before: &str) -> bool {
    let before = before.to_lowercase();
    let last = before.trim_end_matches(|char: char| !char.is_alphanumeric());
    let last: Vec<&str> = last.rsplit(|char: char| !char.is_alphanumeric()).take(3).collect();
    last.iter().any(|word| ["no", "create", "creating", "new", "nonexistent"].contains(word))
}

pub(super) fn has_word(text: &str, words: &str) -> bool {
    let lower = text.to_lowercase();
    let is_mark = |char: char| !(char.is_alphanumeric() || ['\'', '.'].contains(&char));
    lower.split(is_mark).any(|word| holds(words, word.trim_matches('.')))
}
