//! The thinnest client of the NDJSON door.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

pub(crate) struct Client {
    pub(crate) process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
    line: String,
}

impl Client {
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = process.stdin.take().context("no input")?;
        let output = BufReader::with_capacity(1 << 20, process.stdout.take().context("no output")?);
        Ok(Self { process, input, output, next_id: 0, line: String::new() })
    }

    pub(crate) fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.next_id += 1;
        let frame =
            json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        writeln!(self.input, "{frame}")?;
        Ok(self.next_id)
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        let frame = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        writeln!(self.input, "{frame}")?;
        Ok(())
    }

    /// The next frame, as text: what is measured is the server, not this client's JSON.
    pub(crate) fn frame(&mut self) -> anyhow::Result<&str> {
        self.line.clear();
        ensure!(self.output.read_line(&mut self.line)? > 0, "the server ended");
        Ok(&self.line)
    }

    /// The next frame with `text` in it; what comes before is passed over.
    pub(crate) fn until(&mut self, text: &str) -> anyhow::Result<String> {
        while !self.frame()?.contains(text) {}
        Ok(self.line.clone())
    }

    pub(crate) fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let answer = format!("\"id\":{},", self.send(method, params)?);
        Ok(serde_json::from_str(&self.until(&answer)?)?)
    }

    /// Proportional memory in MiB.
    pub(crate) fn memory(&self) -> Option<f64> {
        let rollup =
            std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.process.id())).ok()?;
        let line = rollup.lines().find(|line| line.starts_with("Pss:"))?;
        let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib / 1024.0)
    }

    /// The most memory that it ever had, in MiB.
    pub(crate) fn peak(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib / 1024.0)
    }

    /// Processor seconds so far.
    pub(crate) fn cpu(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: f64 =
            fields.get(11..13)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum();
        Some(ticks / 100.0)
    }

    /// Ends the input and waits for the process.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        let Self { mut process, input, output, .. } = self;
        drop(input);
        let drained =
            std::thread::spawn(move || std::io::copy(&mut { output }, &mut std::io::sink()));
        process.wait()?;
        let _ = drained.join();
        Ok(())
    }
}
