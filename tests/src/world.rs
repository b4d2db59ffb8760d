//! A home and a workspace folder for one test, and the `dsh-ls` processes that are started in them.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::check_log;
use crate::client::Client;
use crate::script::Script;

/// An address of this machine where nothing answers.
pub const NOBODY: &str = "http://127.0.0.1:9";

/// The `dsh-ls` under test: `DSH_LS_BIN`, else the one that was built beside the test executable.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("DSH_LS_BIN") {
        return PathBuf::from(path);
    }
    // target/PROFILE/deps/suite-HASH
    let here = std::env::current_exe().unwrap();
    let profile = here.parent().and_then(Path::parent).unwrap();
    let path = profile.join("dsh-ls");
    assert!(
        path.is_file(),
        "there is no `{}`: run `cargo build -p dsh-ls` first, or name the program with DSH_LS_BIN",
        path.display()
    );
    path
}

/// Waits until something outside the process holds, such as the state of a file.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(40);
    while !holds() {
        assert!(Instant::now() < patience, "waited in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A home, a workspace folder, and what is kept in them. Its logs are checked when it goes.
pub struct World {
    folder: TempDir,
    root: PathBuf,
    scripts: Cell<u32>,
    checked: Cell<bool>,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// An empty home and an empty workspace.
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let world = Self { folder, root, scripts: Cell::new(0), checked: Cell::new(true) };
        fs::create_dir(world.work()).unwrap();
        world
    }

    /// The folder that everything is in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where sessions are kept.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Writes the patch file of the home.
    pub fn patch(&self, text: &str) {
        std::fs::create_dir_all(self.home()).unwrap();
        std::fs::write(self.home().join("cordis.patch.yml"), text).unwrap();
    }

    /// The workspace folder.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Leaves this world's logs unchecked: for tests that damage them.
    pub fn leave_damaged(&self) {
        self.checked.set(false);
    }

    /// Writes a file of the workspace.
    pub fn file(&self, path: &str, text: &str) {
        let path = self.work().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a script; returns the name of the model that plays it.
    pub fn model(&self, script: Script) -> String {
        let number = self.scripts.get() + 1;
        self.scripts.set(number);
        script.write(&self.root.join("scripts"), &format!("script-{number}"))
    }

    /// A command that runs `dsh-ls` in this world.
    pub fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = self.program(binary());
        command.args(arguments);
        command
    }

    /// A command that runs any program in this world.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work());
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.root);
        command.env("DSH_LS_HOME", self.home());
        // A model server of whoever runs the tests is not theirs to ask.
        command.env("DSH_LS_LOCAL_URL", NOBODY);
        command
    }

    /// Runs `dsh-ls` to its end with an empty input.
    pub fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// A server over its standard input and output that asks `model`, initialized.
    pub fn start(&self, model: &str) -> Client {
        let mut client = self.connect(&["--model", model]);
        client.initialize();
        client
    }

    /// A server over its standard input and output that asks what `script` says, initialized.
    pub fn play(&self, script: Script) -> Client {
        let model = self.model(script);
        self.start(&model)
    }

    /// A server over its standard input and output, not initialized.
    pub fn connect(&self, arguments: &[&str]) -> Client {
        Client::spawn(self.command(["rpc"].iter().chain(arguments)))
    }

    /// The log files, by path.
    pub fn logs(&self) -> Vec<PathBuf> {
        check_log::files(&self.home())
    }

    /// The log file of a session.
    pub fn log(&self, session: &str) -> PathBuf {
        let name = format!("{session}.jsonl");
        let found = self.logs().into_iter().find(|path| path.ends_with(&name));
        found.unwrap_or_else(|| panic!("no log of `{session}`"))
    }

    /// Writes a log of this world's workspace as somebody else would have left it: the text of another one, under an
    /// id of its own. There must be a log already.
    pub fn lay_log(&self, id: &str, text: &[u8]) -> PathBuf {
        let path = self.logs()[0].with_file_name(format!("{id}.jsonl"));
        let header = text.iter().position(|byte| *byte == b'\n').unwrap();
        let mut named: Value = serde_json::from_slice(&text[..header]).unwrap();
        named["id"] = json!(id);
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path).unwrap();
        file.write_all(named.to_string().as_bytes()).unwrap();
        file.write_all(&text[header..]).unwrap();
        path
    }

    /// Every file below the home.
    pub fn home_files(&self) -> Vec<PathBuf> {
        check_log::tree(&self.home()).into_iter().filter(|path| path.is_file()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.checked.get() {
            return;
        }
        check_log::check_home(self);
        assert!(self.folder.path().exists(), "the test's own folder is gone");
    }
}
