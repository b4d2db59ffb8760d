//! What the tests share: a fresh workspace folder with a folder outside it, opened in both ways.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use dsh_protocol::workspace::{
    GlobArguments, GlobValue, GrepArguments, GrepValue, ReadArguments, ReadValue, ToolErrorCode,
};
use tempfile::TempDir;

use crate::stop::Stop;
use crate::{Answer, Failure, Folder, Options};

pub(crate) struct Fixture {
    inside: TempDir,
    outside: TempDir,
}

impl Fixture {
    /// A workspace with these files, and a file `secret` outside it.
    pub(crate) fn new(files: &[(&str, &str)]) -> Fixture {
        let fixture =
            Fixture { inside: tempfile::tempdir().unwrap(), outside: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            fixture.write(path, text);
        }
        std::fs::write(fixture.outside().join("secret"), "OUTSIDE").unwrap();
        fixture
    }

    pub(crate) fn root(&self) -> &Path {
        self.inside.path()
    }

    pub(crate) fn outside(&self) -> &Path {
        self.outside.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn fifo(&self, name: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, self.path(name), kind, mode, 0).unwrap();
    }

    pub(crate) fn open(&self, options: Options) -> Folder {
        Folder::open(self.root(), options).unwrap()
    }

    /// The folder as the kernel confines it, and as cap-std does.
    pub(crate) fn both(&self) -> [Folder; 2] {
        let portable = Options { force_portable_open: true, ..Options::default() };
        [self.open(Options::default()), self.open(portable)]
    }
}

/// Shorter ways to ask.
pub(crate) trait Ask {
    fn read_path(&self, path: &str) -> Result<Answer<ReadValue>, Failure>;
    fn read_window(
        &self,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Answer<ReadValue>, Failure>;
    fn grep_with(&self, arguments: GrepArguments) -> Result<Answer<GrepValue>, Failure>;
    fn glob_with(&self, arguments: GlobArguments) -> Result<Answer<GlobValue>, Failure>;

    fn grep_for(&self, pattern: &str) -> Answer<GrepValue> {
        self.grep_with(grep(pattern)).unwrap()
    }

    fn glob_for(&self, pattern: &str) -> Answer<GlobValue> {
        self.glob_with(glob(pattern)).unwrap()
    }

    /// `path:line:column` of every match.
    fn hits(&self, pattern: &str) -> Vec<String> {
        places(&self.grep_for(pattern).value)
    }

    fn paths(&self, pattern: &str) -> Vec<String> {
        self.glob_for(pattern).value.paths
    }
}

impl Ask for Folder {
    fn read_path(&self, path: &str) -> Result<Answer<ReadValue>, Failure> {
        let arguments = ReadArguments { file_path: path.to_owned(), offset: None, limit: None };
        self.read(&arguments, &Stop::never())
    }

    fn read_window(
        &self,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Answer<ReadValue>, Failure> {
        let arguments =
            ReadArguments { file_path: path.to_owned(), offset: Some(offset), limit: Some(limit) };
        self.read(&arguments, &Stop::never())
    }

    fn grep_with(&self, arguments: GrepArguments) -> Result<Answer<GrepValue>, Failure> {
        self.grep(&arguments, &Stop::never())
    }

    fn glob_with(&self, arguments: GlobArguments) -> Result<Answer<GlobValue>, Failure> {
        self.glob(&arguments, &Stop::never())
    }
}

pub(crate) fn grep(pattern: &str) -> GrepArguments {
    GrepArguments {
        pattern: pattern.to_owned(),
        path: None,
        include: None,
        fixed_strings: None,
        case_insensitive: None,
        multiline: None,
        context: None,
        mode: None,
        limit: None,
    }
}

pub(crate) fn glob(pattern: &str) -> GlobArguments {
    GlobArguments { pattern: pattern.to_owned(), path: None, order: None, limit: None }
}

pub(crate) fn places(value: &GrepValue) -> Vec<String> {
    let matches = value.matches.as_deref().unwrap_or_default();
    matches.iter().map(|it| format!("{}:{}:{}", it.path, it.line, it.column)).collect()
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> ToolErrorCode {
    result.unwrap_err().code
}

/// The text of all lines, one after the other.
pub(crate) fn text(answer: &Answer<ReadValue>) -> String {
    let lines: Vec<&str> = answer.value.lines.iter().map(|line| line.text.as_str()).collect();
    lines.join("\n")
}

/// Runs `test` while another thread does `disturb` over and over; ends also when `test` fails.
pub(crate) fn while_another_thread(disturb: impl Fn() + Sync, test: impl FnOnce()) {
    struct Over<'o>(&'o AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                disturb();
            }
        });
        let _over = Over(&is_over);
        test();
    });
}
