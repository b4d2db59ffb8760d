//! Languages, as far as they differ in how they define things.

/// A family of languages with one way of defining things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    /// JavaScript and TypeScript, also inside Vue and Svelte files.
    Script,
    Python,
    /// Everything with C's `type name(…)`: C, C++, Objective-C, Java, C#, Dart, and shaders.
    C,
    Go,
    Ruby,
    Php,
    Shell,
    Lua,
    Sql,
    /// Keys with values: YAML, TOML, JSON, INI.
    Config,
    Make,
    /// Documentation; what looks like a definition there is an example.
    Prose,
    /// Everything else; keywords are tried.
    Other,
}

impl Language {
    /// By the file's name.
    pub(super) fn of(path: &str) -> Language {
        let file = path.rsplit('/').next().unwrap_or(path);
        let file = [".orig", ".in", ".tmpl", ".template"]
            .iter()
            .find_map(|end| file.strip_suffix(end))
            .unwrap_or(file);
        let extension =
            file.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        match extension.as_str() {
            "rs" => Language::Rust,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => {
                Language::Script
            }
            "py" | "pyi" | "pyx" | "pxd" | "ipynb" => Language::Python,
            "c" | "h" | "cc" | "hh" | "cpp" | "cxx" | "hpp" | "hxx" | "inl" | "ipp" | "m"
            | "mm" | "java" | "cs" | "dart" | "cu" | "cuh" | "glsl" | "hlsl" | "vert" | "frag"
            | "groovy" | "inc" | "y" | "l" => Language::C,
            "go" => Language::Go,
            "rb" | "rake" | "cr" | "ex" | "exs" => Language::Ruby,
            "php" => Language::Php,
            "sh" | "bash" | "zsh" | "fish" | "ksh" | "ps1" => Language::Shell,
            "lua" => Language::Lua,
            "sql" => Language::Sql,
            "yaml" | "yml" | "toml" | "json" | "jsonc" | "json5" | "ini" | "cfg" | "conf"
            | "properties" | "lock" => Language::Config,
            "mk" | "mak" => Language::Make,
            "md" | "markdown" | "rst" | "txt" | "adoc" | "html" | "htm" | "org" | "tex" | "log"
            | "csv" | "svg" | "map" | "diff" | "patch" => Language::Prose,
            _ if file.to_ascii_lowercase().contains("makefile") => Language::Make,
            _ if file.chars().all(|c| c.is_ascii_uppercase() || c == '-' || c == '_') => {
                Language::Prose
            }
            _ => Language::Other,
        }
    }

    /// The word behind the opening of a code block.
    pub(super) fn fence(path: &str) -> &str {
        let file = path.rsplit('/').next().unwrap_or(path);
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        if extension.len() <= 5 && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            extension
        } else {
            ""
        }
    }

    /// Whether a line, without its indentation, is a comment.
    pub(super) fn is_comment(self, line: &str) -> bool {
        match self {
            Language::Python
            | Language::Ruby
            | Language::Shell
            | Language::Make
            | Language::Config => {
                line.starts_with('#') || line.starts_with("\"\"\"") || line.starts_with("//")
            }
            Language::Lua | Language::Sql => line.starts_with("--"),
            Language::C | Language::Go | Language::Rust | Language::Script | Language::Php => {
                line.starts_with("//")
                    || line.starts_with("/*")
                    || line == "*"
                    || line.starts_with("* ")
            }
            Language::Prose => false,
            Language::Other => ["//", "/*", "* ", "# ", "-- ", "<!--", ";;", "%"]
                .iter()
                .any(|mark| line.starts_with(mark)),
        }
    }
}
