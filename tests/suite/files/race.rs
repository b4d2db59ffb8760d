//! Paths that are swapped for links out of the workspace all the time.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dsh_tests::world::World;
use serde_json::{Value, json};

use super::{Desk, PORTABLE, link, said};

/// Changes the names of a file and of a link to a secret, and of two folders, over and over.
const SWAP: &str = r"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
def swap(a, b):
    if libc.renameat2(-100, a, -100, b, 2) != 0:
        raise OSError(ctypes.get_errno(), 'renameat2')
print('ready', flush=True)
while True:
    swap(b'x', b'y')
    swap(b'd', b'e')
    swap(b'deep/f', b'deep/g')
";

struct Swapper(Child);

impl Swapper {
    fn start(work: &Path) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", SWAP]).arg(work).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut ready = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        Self(child)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn make(world: &World) {
    let outside = world.root().join("S");
    for name in ["k", "s/k", "d/k"] {
        fs::create_dir_all(outside.join(name).parent().unwrap()).unwrap();
        fs::write(outside.join(name), "OUTSIDE\n").unwrap();
    }
    for path in ["x", "d/k", "deep/f/s/k"] {
        world.file(path, "inside\n");
    }
    link(outside.join("k"), world.work().join("y"));
    link(outside.join("d"), world.work().join("e"));
    link(&outside, world.work().join("deep/g"));
}

/// Requests that are under way at once: so that the swaps are met, and no time goes by between two opens.
const TOGETHER: usize = 100;

/// Opens so many paths while they are swapped. Each must be the one inside, or refused.
fn check(patch: &str, opens: usize) {
    let mut desk = Desk::with(patch, make);
    let _swapper = Swapper::start(&desk.world.work());
    let (mut inside, mut refused) = (0, 0);
    for _ in 0..opens / TOGETHER {
        let asked: Vec<u64> = (0..TOGETHER)
            .map(|at| {
                let name = ["x", "y", "d/k", "e/k", "deep/f/s/k", "deep/g/s/k"][at % 6];
                let params = json!({ "name": "read", "arguments": { "file_path": name } });
                desk.client.ask("tool/call", params)
            })
            .collect();
        for id in asked {
            let said = said(&desk.client.result(id));
            if said.code.is_empty() {
                assert_eq!(said.lines(), ["inside"]);
                inside += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert!(inside > opens / 10 && refused > opens / 100, "{inside} inside, {refused} refused");
    for _ in 0..opens / 500 {
        for arguments in
            [json!({ "pattern": "OUTSIDE" }), json!({ "pattern": "OUTSIDE", "path": "d" })]
        {
            let found = desk.call("grep", &arguments);
            assert!(found.value["total"].as_u64().unwrap_or(0) == 0, "{found:?}");
        }
        let listed = desk.call("glob", &json!({ "pattern": "d/**" }));
        let paths = listed.value["paths"].as_array().into_iter().flatten().map(Value::to_string);
        assert!(paths.into_iter().all(|path| path == "\"d/k\"" || path == "\"e/k\""), "{listed:?}");
    }
    desk.never_said("OUTSIDE\\n");
}

/// How many of one server; a client looks through all that it has heard for each answer.
const OPENS: usize = 2_000;

/// Servers, one after the other.
fn servers() -> usize {
    if std::env::var_os("DSH_TESTS_SOAK").is_some() { 25 } else { 1 }
}

#[test]
fn nothing_outside_is_reached_while_names_are_swapped() {
    (0..servers()).for_each(|_| check("", OPENS));
}

#[test]
fn nor_on_systems_without_openat2() {
    (0..servers()).for_each(|_| check(PORTABLE, OPENS));
}
