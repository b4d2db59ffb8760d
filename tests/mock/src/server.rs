//! The server: accepts, records each request, plays the next answer.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::answer::Answer;
use crate::connection;
use crate::strict::{self, Rules};

/// How long a test waits for something that will not come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The method and the path.
    pub line: String,
    /// The headers, names in lower case, in their order.
    pub headers: Vec<(String, String)>,
    /// The exact bytes of the body.
    pub body: Vec<u8>,
}

impl Recorded {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A running server. Dropping it closes its port.
pub struct MockModel {
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// What the connections share.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stopped: AtomicBool,
    rules: Option<Rules>,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    /// Answers to requests whose body has a text, before all others.
    answers_when: Vec<(String, Answer)>,
    requests: Vec<Recorded>,
    releases: usize,
    open: usize,
    models: Option<Answer>,
}

impl MockModel {
    /// A server that gives these answers, one to each request, and refuses further requests.
    pub fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with_rules(answers, None)
    }

    /// A server that answers 400 to what the real ones refuse. Such a request uses up no answer.
    pub fn strict(answers: impl IntoIterator<Item = Answer>, rules: Rules) -> Self {
        Self::with_rules(answers, Some(rules))
    }

    fn with_rules(answers: impl IntoIterator<Item = Answer>, rules: Option<Rules>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State { answers: answers.into_iter().collect(), ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), rules, ..Shared::default() });
        let accepting = Arc::clone(&shared);
        let accepting = thread::spawn(move || {
            for connection in listener.incoming() {
                if accepting.stopped() {
                    return;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || connection::serve(connection.unwrap(), &shared));
            }
        });
        Self { port, shared, accepting: Some(accepting) }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// An answer more.
    pub fn add(&self, answer: Answer) {
        self.shared.change(|state| state.answers.push_back(answer));
    }

    /// An answer to the next request whose body has `text`: for requests that come in no fixed order. Such answers
    /// are looked through before the others, in their order, and each is used once.
    pub fn add_when(&self, text: &str, answer: Answer) {
        self.shared.change(|state| state.answers_when.push((text.to_owned(), answer)));
    }

    /// What is answered, as often as it comes, when a client asks which models there are; 404 without it.
    pub fn models(&self, answer: Answer) {
        self.shared.change(|state| state.models = Some(answer));
    }

    /// Lets one [`Answer::pause`] go on: one that waits, or the next that will.
    pub fn release(&self) {
        self.shared.change(|state| state.releases += 1);
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.state.lock().unwrap().requests.clone()
    }

    /// Blocks until there were so many requests, and gives them all.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Recorded> {
        self.shared
            .wait_until(|state| (state.requests.len() >= count).then(|| state.requests.clone()))
    }

    /// Blocks until no connection is open.
    pub fn wait_until_closed(&self) {
        self.shared.wait_until(|state| (state.open == 0).then_some(()));
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        // Wakes the accepting thread, which then sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn opened(&self) {
        self.change(|state| state.open += 1);
    }

    pub(crate) fn closed(&self) {
        self.change(|state| state.open -= 1);
    }

    /// Takes note of a request and decides what it gets. The question for models is no request to one.
    pub(crate) fn answer_to(&self, request: &Recorded) -> Answer {
        if request.line.starts_with("GET ") && request.line.ends_with("/models") {
            let models = self.change(|state| state.models.clone());
            return models.unwrap_or_else(|| Answer::status(404));
        }
        let refused = self.rules.as_ref().and_then(|rules| rules.check(&request.body).err());
        let body = String::from_utf8_lossy(&request.body);
        // In one step: whoever waits for a request may send the next one when it is there.
        let next = self.change(|state| {
            state.requests.push(request.clone());
            if let Some(problem) = &refused {
                return Some(strict::refusal(problem));
            }
            let at = state.answers_when.iter().position(|(text, _)| body.contains(text));
            let own = at.map(|at| state.answers_when.remove(at).1);
            own.or_else(|| state.answers.pop_front())
        });
        next.unwrap_or_else(|| Answer::status(500).raw("the script has no further answer"))
    }

    /// Uses up a release, if there is one.
    pub(crate) fn take_release(&self) -> bool {
        self.change(|state| {
            let released = state.releases > 0;
            state.releases -= usize::from(released);
            released
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
        changed
    }

    fn wait_until<T>(&self, mut ready: impl FnMut(&State) -> Option<T>) -> T {
        let mut result = None;
        let waited =
            self.changed.wait_timeout_while(self.state.lock().unwrap(), PATIENCE, |state| {
                result = ready(state);
                result.is_none()
            });
        drop(waited);
        result.expect("the model server waited in vain")
    }
}
