//! Reads a recorded exchange.
//!
//! ```text
//! # A comment.
//! ! POST /path {"unobserved":"preparation"}
//! ! REPEAT 3 PATCH /path {"number":"COUNT"}
//! ! COMPACT
//!
//! --- a title
//! > GET /path?query
//! > Header: value
//! > {"the":"body"}
//! ! PATCH /path {"happens":"while the answer is open"}
//! < 200 application/json (in part)
//! < header: value
//! {"what":"came back"}
//! ```

use serde_json::Value;

/// One thing to do.
pub(super) enum Step {
    /// Something that sets the scene.
    Prepare(Action),
    /// Something recorded.
    Block(Block),
}

pub(super) enum Action {
    Request(Request),
    /// Sends a request several times; `COUNT` in its body is the number of the time.
    Repeat(usize, Request),
    /// Cuts off the store's history before the newest revision.
    Compact,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

#[derive(Default)]
pub(super) struct Block {
    pub(super) title: String,
    pub(super) request: Request,
    pub(super) meanwhile: Vec<Request>,
    pub(super) expected: Expected,
}

#[derive(Default)]
pub(super) struct Expected {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) extent: Extent,
    pub(super) body: Vec<String>,
}

/// How much of the answer the script holds.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Extent {
    #[default]
    Whole,
    /// The beginning of its lists, some fields of its objects, some of its lines.
    Part,
    /// All of it, and it is indented.
    Pretty,
}

impl Expected {
    /// The documents of the body, if it is made of JSON.
    pub(super) fn documents(&self) -> Option<Vec<Value>> {
        documents(&self.body.join("\n"))
    }
}

/// One document, or one on each line.
pub(super) fn documents(text: &str) -> Option<Vec<Value>> {
    let whole = serde_json::from_str(text).map(|value| vec![value]);
    whole
        .or_else(|_| text.lines().map(serde_json::from_str).collect())
        .ok()
}

pub(super) fn parse(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut open: Option<Block> = None;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("--- ") {
            steps.extend(open.take().map(Step::Block));
            open = Some(Block {
                title: title.to_owned(),
                ..Block::default()
            });
        } else if line.is_empty() {
            steps.extend(open.take().map(Step::Block));
        } else if let Some(block) = &mut open {
            block.take(line);
        } else if let Some(action) = line.strip_prefix("! ") {
            steps.push(Step::Prepare(parse_action(action)));
        } else {
            assert!(line.starts_with('#'), "unexpected line: {line}");
        }
    }
    steps.extend(open.map(Step::Block));
    steps
}

impl Block {
    fn take(&mut self, line: &str) {
        if let Some(line) = line.strip_prefix("> ") {
            self.request.take(line);
        } else if let Some(action) = line.strip_prefix("! ") {
            match parse_action(action) {
                Action::Request(request) => self.meanwhile.push(request),
                _ => panic!("{}: not while a request is open", self.title),
            }
        } else if let Some(line) = line.strip_prefix("< ") {
            self.expected.take(line);
        } else {
            self.expected.body.push(line.to_owned());
        }
    }
}

impl Request {
    fn take(&mut self, line: &str) {
        if self.method.is_empty() {
            let (method, target) = line.split_once(' ').unwrap();
            (self.method, self.target) = (method.to_owned(), target.to_owned());
        } else if let Some(header) = parse_header(line) {
            self.headers.push(header);
        } else {
            self.body.push_str(line);
        }
    }
}

impl Expected {
    fn take(&mut self, line: &str) {
        if self.status != 0 {
            self.headers.extend(parse_header(line));
            return;
        }
        let (line, extent) = match line.split_once(" (") {
            Some((line, "in part)")) => (line, Extent::Part),
            Some((line, "pretty)")) => (line, Extent::Pretty),
            _ => (line, Extent::Whole),
        };
        let (status, content_type) = line.split_once(' ').unwrap();
        self.status = status.parse().unwrap();
        self.content_type = content_type.to_owned();
        self.extent = extent;
    }
}

fn parse_header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(": ")?;
    let is_name = name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    is_name.then(|| (name.to_lowercase(), value.to_owned()))
}

fn parse_action(text: &str) -> Action {
    if text == "COMPACT" {
        return Action::Compact;
    }
    if let Some((times, request)) = text
        .strip_prefix("REPEAT ")
        .and_then(|rest| rest.split_once(' '))
    {
        return Action::Repeat(times.parse().unwrap(), parse_request(request));
    }
    Action::Request(parse_request(text))
}

fn parse_request(text: &str) -> Request {
    let mut parts = text.splitn(3, ' ').map(str::to_owned);
    let method = parts.next().unwrap();
    let content_type = match method.as_str() {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    Request {
        method,
        target: parts.next().unwrap(),
        headers: vec![("content-type".to_owned(), content_type.to_owned())],
        body: parts.next().unwrap_or_default(),
    }
}
