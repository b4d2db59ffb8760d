//! One verdict each: the home, its sessions and keys, the configuration, the folder, what runs in it.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dsh_runtime::config::environment_file;
use dsh_runtime::config::problem::{Problem, Severity};
use dsh_runtime::kernel::PluginState;
use dsh_runtime::runtime::RuntimeConfig;
use dsh_runtime::trial::missing;

use super::Mounted;
use crate::config::{count, counted};

/// The most places of problems that are listed.
const LISTED: usize = 20;

/// Whether something is as it should be.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) is_fine: bool,
    /// What was found and, unless it is fine, what to do.
    pub(super) text: String,
    /// Places and names, one to a line.
    pub(super) details: Vec<String>,
}

impl Check {
    /// `Ok` is fine, `Err` needs attention.
    fn of(name: &'static str, found: Result<String, String>) -> Self {
        let is_fine = found.is_ok();
        let text = found.unwrap_or_else(|text| text);
        Self { name, is_fine, text, details: Vec::new() }
    }

    fn with(mut self, mut details: Vec<String>) -> Self {
        let more = details.len().saturating_sub(LISTED);
        details.truncate(LISTED);
        if more > 0 {
            details.push(format!("and {more} more"));
        }
        self.details = details;
        self
    }
}

pub(super) fn all(
    settings: &RuntimeConfig,
    workspace: &Path,
    problems: &[Problem],
    mounted: &Result<Mounted, String>,
) -> Vec<Check> {
    let sources = &settings.sources;
    let mut checks = vec![
        Check::of("home", home(&sources.home)),
        Check::of("sessions", sessions(&sources.home.join("sessions"))),
        Check::of("credentials", credentials(&sources.home.join("credentials.yml"), mounted)),
        Check::of("environment", environment(settings)),
        configuration(problems),
        Check::of("workspace", folder(workspace)),
        Check::of("watches", watches()),
    ];
    match mounted {
        Ok(mounted) => {
            checks.push(plugins(mounted));
            checks.push(Check::of("model", model(mounted)));
            checks.push(logs(mounted));
        }
        Err(_) => checks.push(Check::of("plugins", Err("they do not run; see above".to_owned()))),
    }
    checks
}

/// Whether files can be made in the home, or the home itself.
fn home(home: &Path) -> Result<String, String> {
    let existing = home.ancestors().find(|folder| folder.exists()).unwrap_or(home);
    match try_to_write(existing) {
        Ok(()) if existing == home => Ok(format!("{} can be written", home.display())),
        Ok(()) => Ok(format!("{} will be made when it is needed", home.display())),
        Err(error) => {
            let place = existing.display();
            Err(format!(
                "{place} cannot be written ({error}); mend it, or name another with --home"
            ))
        }
    }
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".dsh-ls-doctor-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&probe)?;
    fs::remove_file(&probe)
}

/// How many logs there are, of all folders, and how much they take.
fn sessions(root: &Path) -> Result<String, String> {
    let (mut logs, mut bytes) = (0, 0);
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error: io::Error| format!("{} cannot be read: {error}", folder.display());
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(unreadable)?,
        };
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            // A log that went away meanwhile is none.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && folder == root {
                folders.push(entry.path());
            } else if metadata.is_file() && entry.path().extension().is_some_and(|it| it == "jsonl")
            {
                logs += 1;
                bytes += metadata.len();
            }
        }
    }
    Ok(format!("{}, {} in {}", counted(logs, "log"), size(bytes), root.display()))
}

fn size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = bytes.saturating_mul(10) / unit;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", tenths(1024)),
        1_048_576..1_073_741_824 => format!("{} MiB", tenths(1_048_576)),
        _ => format!("{} GiB", tenths(1_073_741_824)),
    }
}

/// Whether the keys that are kept can be read, and by their owner alone.
fn credentials(file: &Path, mounted: &Result<Mounted, String>) -> Result<String, String> {
    let place = file.display();
    let metadata = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok("none are kept; the environment's are used".to_owned());
        }
        Err(error) => return Err(format!("{place} cannot be read: {error}")),
        Ok(metadata) => metadata,
    };
    if !metadata.is_file() {
        return Err(format!("{place} is no file; move it away"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(format!("others can read {place}; run `chmod 600` on it"));
    }
    match mounted.as_ref().map(|mounted| &mounted.credentials) {
        Ok(Ok(count)) => Ok(format!("{place} keeps {count}, for its owner alone")),
        Ok(Err(why)) => Err(why.clone()),
        Err(_) => Ok(format!("{place} is its owner's alone")),
    }
}

/// Whether the home's environment file is taken.
fn environment(settings: &RuntimeConfig) -> Result<String, String> {
    let file = settings.sources.environment_file();
    match environment_file::load(&settings.sources, settings.variables.clone()) {
        Err(problems) => {
            let found = problems.iter().map(|problem| match problem.line {
                Some(line) => format!("line {line}: {}", problem.message),
                None => problem.message.clone(),
            });
            let found: Vec<String> = found.collect();
            Err(format!("{} is not taken: {}", file.display(), found.join("; ")))
        }
        Ok(_) if fs::metadata(&file).is_ok_and(|metadata| metadata.mode() & 0o077 != 0) => {
            let place = file.display();
            Err(format!("others can read {place}, which may have keys; run `chmod 600` on it"))
        }
        Ok(_) if file.exists() => Ok(format!("{} is taken", file.display())),
        Ok(_) => Ok("the program's own; the home has no `.env`".to_owned()),
    }
}

/// Places only: a message may quote a value, and a value may be a key.
fn configuration(problems: &[Problem]) -> Check {
    let wrong = |problem: &&Problem| problem.severity != Severity::Information;
    let places: Vec<String> = problems.iter().filter(wrong).map(place).collect();
    if places.is_empty() {
        return Check::of("configuration", Ok("no problems".to_owned()));
    }
    let errors = counted(count(problems, Severity::Error), "error");
    let warnings = counted(count(problems, Severity::Warning), "warning");
    let text = format!("{errors}, {warnings}; `dsh-ls config check` says what is wrong");
    Check::of("configuration", Err(text)).with(places)
}

fn place(problem: &Problem) -> String {
    let mut place = problem.file.clone();
    if let (Some(line), Some(column)) = (problem.line, problem.column) {
        let _ = write!(place, ":{line}:{column}");
    }
    match &problem.key {
        Some(key) => format!("{place}: {key}"),
        None => place,
    }
}

fn folder(workspace: &Path) -> Result<String, String> {
    match fs::read_dir(workspace) {
        Ok(_) => Ok(format!("{} can be read", workspace.display())),
        Err(error) => Err(format!(
            "{} cannot be read ({error}); name another folder with --workspace",
            workspace.display()
        )),
    }
}

fn plugins(mounted: &Mounted) -> Check {
    let is_up = |state| matches!(state, PluginState::Active | PluginState::Disposed);
    let down = mounted.active.iter().filter(|plugin| !is_up(plugin.state));
    let down: Vec<String> = down.map(|plugin| format!("{}: {}", plugin.id, plugin.state)).collect();
    let is_active = |state| matches!(state, PluginState::Active);
    let active = mounted.active.iter().filter(|plugin| is_active(plugin.state)).count();
    if !down.is_empty() {
        let text = format!("{active} active, {} not; see above", down.len());
        return Check::of("plugins", Err(text)).with(down);
    }
    let missing = missing(&mounted.active).into_iter();
    let missing: Vec<String> = missing.map(|(row, it)| format!("{row}: {}", it.text)).collect();
    if missing.is_empty() {
        return Check::of("plugins", Ok(format!("{active} active, none failed, none waits")));
    }
    let text = format!("{active} active, but not all that their rows name is there");
    Check::of("plugins", Err(text)).with(missing)
}

/// Whether the model that new sessions use can be asked.
fn model(mounted: &Mounted) -> Result<String, String> {
    let model = &mounted.model;
    match &mounted.unready {
        None => Ok(format!("{model}, which new sessions use, is ready")),
        Some(why) => Err(format!(
            "{model}, which new sessions use, cannot be asked: {why}; mend it, or set the row \
             `agent-default-model`"
        )),
    }
}

fn logs(mounted: &Mounted) -> Check {
    let used = &mounted.used;
    if used.unreadable.is_empty() {
        return Check::of(
            "logs",
            Ok(format!("{} of this folder read", counted(used.sessions, "log"))),
        );
    }
    let count = counted(used.unreadable.len(), "log");
    let text = format!("{count} of this folder cannot be read");
    Check::of("logs", Err(text)).with(used.unreadable.clone())
}

/// What stands in `/proc/PID/fd` for a watcher of files.
const INOTIFY: &str = "anon_inode:inotify";

/// Whether the system gives this person's programs more watches of files.
fn watches() -> Result<String, String> {
    let limit = |name: &str| -> Option<u64> {
        fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok()
    };
    let (Some(most), Some(most_files)) = (limit("max_user_instances"), limit("max_user_watches"))
    else {
        return Ok("this system has no limits that can be read".to_owned());
    };
    let (watchers, files) = watches_in_use();
    let said = format!("{watchers} of {most} watchers and {files} of {most_files} watches in use");
    if watchers < most && files < most_files {
        return Ok(said);
    }
    Err(format!(
        "{said}: changed files are noticed late; raise `fs.inotify.max_user_instances` and \
         `fs.inotify.max_user_watches`"
    ))
}

/// The watchers of this person's processes, and what they watch.
fn watches_in_use() -> (u64, u64) {
    let mut in_use = (0, 0);
    let Ok(own) = fs::metadata("/proc/self") else { return in_use };
    let is_own = |folder: &PathBuf| fs::metadata(folder).is_ok_and(|it| it.uid() == own.uid());
    for process in entries(Path::new("/proc")).into_iter().filter(is_own) {
        for open in entries(&process.join("fd")) {
            if fs::read_link(&open).is_ok_and(|target| target == Path::new(INOTIFY)) {
                let told = process.join("fdinfo").join(open.file_name().unwrap_or_default());
                let told = fs::read_to_string(told).unwrap_or_default();
                in_use.0 += 1;
                in_use.1 += told.lines().filter(|line| line.starts_with("inotify ")).count() as u64;
            }
        }
    }
    in_use
}

/// The entries whose names are numbers: processes, and what they have open.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_number =
        |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
    entries.filter(is_number).map(|entry| entry.path()).collect()
}
