//! The server from outside: its responses, the requests that it rejects, and the input that it survives.

// Test helpers may panic, as tests may.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wstar_lab::Lab;

const JSON: (&str, &str) = ("Content-Type", "application/json");
const BYTES: (&str, &str) = ("Content-Type", "application/octet-stream");

/// A running lab.
struct Running {
    port: u16,
}

impl Running {
    fn start() -> Self {
        let lab = Lab::bind(0).unwrap();
        let address = lab.address();
        let port = address.trim_end_matches('/').rsplit(':').next().unwrap();
        let port = port.parse().unwrap();
        thread::spawn(move || lab.run().unwrap());
        Running { port }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends raw bytes; returns the status and the body.
    fn send(&self, request: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        read(&mut stream)
    }

    fn head(&self, path: &str, length: usize) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n",
            self.port
        )
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if headers.iter().all(|(name, _)| *name != "Host") {
            text += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.send(text.as_bytes())
    }

    /// The last line of the response.
    fn ask(&self, name: &str, body: &Value) -> Value {
        let (_, text) = self.request("POST", &format!("/api/{name}"), &[JSON], &body.to_string());
        lines(&text).pop().unwrap_or_default()
    }

    fn answer(&self, name: &str, body: &Value) -> Value {
        let response = self.ask(name, body);
        assert!(response.get("error").is_none(), "{response}");
        response["answer"].clone()
    }
}

/// The status and the body; in chunked encoding, the sizes of the chunks are on lines of their own.
fn read(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_string());
    (status.unwrap_or(0), body.unwrap_or_default())
}

fn lines(body: &str) -> Vec<Value> {
    let objects = body.lines().filter(|line| line.starts_with('{'));
    objects.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn settings(method: &str) -> Value {
    json!({"method": method, "no_intercept": false, "seed": 0})
}

fn points(x: &[f64], y: &[f64], class: &[u32]) -> Value {
    json!({"points": {"x": x, "y": y, "class": class, "classes": ["A", "B"]}})
}

fn made(kind: &str, rows: usize, seed: u64) -> Value {
    json!({"make": {"kind": kind, "rows": rows, "seed": seed}})
}

#[test]
fn the_page_and_its_files_are_served() {
    let lab = Running::start();
    let (status, page) = lab.request("GET", "/", &[], "");
    assert_eq!(status, 200);
    assert!(page.contains("<title>wstar lab</title>"));
    assert_eq!(lab.request("GET", "/js/main.js", &[], "").0, 200);
    for absent in ["/js/../Cargo.toml", "/nothing", "/js/"] {
        assert_eq!(lab.request("GET", absent, &[], "").0, 404, "{absent}");
    }
    assert_eq!(lab.request("POST", "/api/nothing", &[JSON], "{}").0, 404);
}

#[test]
fn other_hosts_and_other_pages_are_refused() {
    let lab = Running::start();
    let port = lab.port;
    for (name, value, expected) in [
        ("Host", format!("localhost:{port}"), 200),
        ("Host", "evil.example".to_string(), 403),
        ("Host", format!("evil.example:{port}"), 403),
        ("Host", "127.0.0.1".to_string(), 403),
        ("Origin", format!("http://127.0.0.1:{port}"), 200),
        ("Origin", "http://evil.example".to_string(), 403),
        ("Origin", format!("https://127.0.0.1:{port}"), 403),
        ("Origin", "null".to_string(), 403),
    ] {
        let (status, _) = lab.request("GET", "/api/sets", &[(name, &value)], "");
        assert_eq!(status, expected, "{name}: {value}");
    }
    let without = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_ne!(lab.send(without).0, 200, "no Host at all");
    // A form on another site can send plain text without a preflight request, so plain text is rejected.
    let plain = [("Content-Type", "text/plain")];
    assert_eq!(lab.request("POST", "/api/fit", &plain, "{}").0, 415);
    assert_eq!(
        lab.request("POST", "/api/read?name=a.csv", &plain, "u,v\n").0,
        415
    );
}

#[test]
fn malformed_requests_are_rejected() {
    let lab = Running::start();
    for body in [
        "",
        "{",
        "[]",
        "{\"data\": 3}",
        "{\"data\":{\"set\":{\"name\":7}}}",
        "\u{0}",
    ] {
        let (status, text) = lab.request("POST", "/api/fit", &[JSON], body);
        assert_eq!(status, 400, "{body:?}");
        assert!(text.contains("malformed request"), "{text}");
    }
    assert_ne!(lab.send(b"\x16\x03\x01 this is not http\r\n\r\n").0, 200);
    // A body that never arrives.
    let mut stream = lab.connect();
    stream.write_all(lab.head("/api/fit", 100).as_bytes()).unwrap();
    drop(stream);
    for data in [
        points(&[0.0], &[], &[0]),
        points(&[0.0], &[1.0], &[9]),
        points(&[], &[], &[]),
        points(&[1.0, 2.0], &[1.0, 2.0], &[1, 1]),
        points(&[1e300, -1e300], &[1.0, 2.0], &[0, 1]),
        json!({"set": {"name": "nothing"}}),
        made("rings", 1_000_000_000, 0),
    ] {
        let response = lab.ask("fit", &json!({"data": data, "settings": settings("perceptron")}));
        assert!(response["error"].is_string(), "{response}");
    }
    assert_eq!(
        lab.request("GET", "/", &[], "").0,
        200,
        "the server is still running"
    );
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let lab = Running::start();
    let body = format!("{{\"data\": \"{}\"}}", "x".repeat(33 << 20));
    let mut stream = lab.connect();
    stream
        .write_all(lab.head("/api/fit", body.len()).as_bytes())
        .unwrap();
    // The server may close the connection before the end of the body; then its error response may be lost too.
    let sent = stream.write_all(body.as_bytes()).is_ok();
    let (status, _) = read(&mut stream);
    assert!(status == 413 || (!sent && status == 0), "{status}");
    assert_eq!(
        lab.request("GET", "/", &[], "").0,
        200,
        "the server is still running"
    );
}

#[test]
fn concurrent_requests_are_limited_and_disconnecting_cancels_one() {
    let lab = Running::start();
    // The minimum error of many overlapping points takes too long to wait for.
    let data = json!({"make": {"kind": "overlap", "rows": 3000, "spread": 3.0}});
    let body = json!({"data": data, "settings": settings("min-error")}).to_string();
    let busy: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = lab.connect();
            let whole = lab.head("/api/fit", body.len()) + &body;
            stream.write_all(whole.as_bytes()).unwrap();
            stream
        })
        .collect();
    let small =
        json!({"data": points(&[0.0, 1.0], &[0.0, 1.0], &[0, 1]), "settings": settings("perceptron")});
    let wait_until = |full: bool| {
        let start = Instant::now();
        loop {
            let (status, text) = lab.request("POST", "/api/fit", &[JSON], &small.to_string());
            if (status == 503) == full {
                return text;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "status {status}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    assert!(wait_until(true).contains("too many fits"));
    drop(busy);
    assert!(wait_until(false).contains("answer"), "no permit was returned");
}

#[test]
fn the_golden_trace_of_the_lecture() {
    let lab = Running::start();
    let mut wanted = settings("perceptron");
    wanted["start"] = json!([-3, 4, 2]);
    wanted["ties"] = json!("positive");
    let data = points(&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0], &[1, 0, 0]);
    let fit = lab.answer("fit", &json!({"data": data, "settings": wanted, "trace": true}));
    let looks = fit["trace"]["looks"].as_array().unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let after: Vec<[f64; 3]> = looks
        .iter()
        .map(|look| {
            let plane = &look["plane"];
            [&plane["intercept"], &plane["weights"][0], &plane["weights"][1]].map(number)
        })
        .collect();
    let golden = [
        [-2.0, 4.0, 3.0],
        [-3.0, 3.0, 3.0],
        [-3.0, 3.0, 3.0],
        [-3.0, 3.0, 3.0],
        [-4.0, 2.0, 3.0],
        [-4.0, 2.0, 3.0],
        [-3.0, 2.0, 4.0],
    ];
    assert_eq!(after[..7], golden);
    assert_eq!(after.last(), Some(&[-3.0, 2.0, 4.0]));
    assert_eq!(fit["errors"], 0);
    assert_eq!(fit["certificate"]["kind"], "mistake-bound");
}

#[test]
fn a_soft_margin_comes_with_multipliers_and_slacks() {
    let lab = Running::start();
    let mut wanted = settings("svm");
    wanted["C"] = json!(0.5);
    let body = json!({"data": made("overlap", 80, 2), "settings": wanted, "trace": true});
    let fit = lab.answer("fit", &body);
    assert_eq!(fit["holds"], true, "{fit}");
    let support = fit["support"].as_array().unwrap();
    assert!(!support.is_empty());
    for point in support {
        let [alpha, margin, slack] = ["alpha", "margin", "slack"].map(|name| point[name].as_f64().unwrap());
        assert!((0.0..=0.5 + 1e-9).contains(&alpha));
        assert!((slack - (1.0 - margin).max(0.0)).abs() < 1e-12);
    }
    assert!(!fit["trace"]["iterates"].as_array().unwrap().is_empty());
}

#[test]
fn inseparable_points_come_with_their_proof() {
    let lab = Running::start();
    let data = points(&[0.0, 1.0, 0.0, 1.0], &[0.0, 1.0, 1.0, 0.0], &[0, 0, 1, 1]);
    let found = lab.answer("separate", &json!({ "data": data }));
    let pair = &found["pairs"][0];
    assert_eq!(pair["verdict"], "inseparable");
    assert_eq!(pair["proof"]["points"], json!([0, 1, 2, 3]));
    assert_eq!(pair["proof"]["weights"], json!(["1/2", "1/2", "1/2", "1/2"]));
    let apart = points(&[0.0, 2.0], &[0.0, 0.0], &[0, 1]);
    let found = lab.answer("separate", &json!({ "data": apart }));
    assert_eq!(found["pairs"][0]["verdict"], "separable");
    let upper = found["pairs"][0]["margin"]["upper"].as_f64().unwrap();
    assert!((upper - 1.0).abs() < 1e-9, "{upper}");
}

#[test]
fn compared_methods_are_sent_one_by_one() {
    let lab = Running::start();
    let methods = ["logistic", "min-error", "least-squares"];
    let body = json!({"data": made("overlap", 40, 1), "methods": methods}).to_string();
    let (_, text) = lab.request("POST", "/api/compare", &[JSON], &body);
    let messages = lines(&text);
    let rows: Vec<&Value> = messages.iter().filter_map(|line| line.get("row")).collect();
    assert_eq!(rows.len(), 3);
    let errors = |k: usize| rows[k]["errors"].as_u64().unwrap();
    assert!(errors(1) <= errors(0));
    let refused = rows[2]["message"].as_str().unwrap();
    assert!(refused.contains("least-squares"), "{refused}");
}

#[test]
fn a_surface_has_its_minimum_at_the_optimum() {
    let lab = Running::start();
    let data = made("line", 30, 3);
    let wanted = settings("least-squares");
    let fit = lab.answer("fit", &json!({"data": data, "settings": wanted}));
    let plane = &fit["planes"][0];
    let [w, b] = [&plane["weights"][0], &plane["intercept"]].map(|value| value.as_f64().unwrap());
    let body = json!({"data": data, "settings": wanted, "axes": [1, 0], "at": [w, b], "steps": 21,
                      "range": [[b - 1.0, b + 1.0], [w - 1.0, w + 1.0]]});
    let surface = lab.answer("surface", &body);
    let values = surface["values"].as_array().unwrap().iter();
    let values: Vec<f64> = values.map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(values.len(), 21 * 21);
    let least = (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b]));
    assert_eq!(least, Some(10 * 21 + 10), "the minimum is in the middle");
    let objective = fit["objective"].as_f64().unwrap();
    assert!((values[10 * 21 + 10] - objective).abs() < 1e-9 * objective);
    let equal_axes = json!({"data": data, "settings": wanted, "axes": [0, 0], "at": [w, b], "steps": 5,
                           "range": [[0, 1], [0, 1]]});
    assert!(lab.ask("surface", &equal_axes)["error"].is_string());
}

#[test]
fn a_file_is_read_as_the_command_line_reads_it() {
    let lab = Running::start();
    let good = "u,v,kind\n1,2,x\n3,4,y\n5,6,x\n";
    let (status, text) = lab.request("POST", "/api/read?name=a.csv", &[BYTES], good);
    assert_eq!(status, 200);
    assert!(text.contains("\"axes\":[\"u\",\"v\"]"), "{text}");
    let bad = "u,v,kind\n1,2,x\n3,4\n";
    let (_, text) = lab.request("POST", "/api/read?name=a.csv", &[BYTES], bad);
    assert!(text.contains("a.csv:3"), "{text}");
}

#[test]
fn nonlinear_decisions_come_on_a_grid() {
    let lab = Running::start();
    let view = json!({"x": [-4.0, 4.0], "y": [-4.0, 4.0], "columns": 40, "rows": 40});
    let body = json!({"data": made("rings", 200, 1), "settings": settings("gaussian"), "view": view});
    let fit = lab.answer("fit", &body);
    let class = fit["regions"]["class"].as_array().unwrap();
    assert_eq!(class.len(), 1600);
    assert_eq!(class[20 * 40 + 20], 0, "the middle belongs to the disc");
    assert_eq!(class[0], 1, "the corner belongs to the ring");
}

#[test]
fn a_margin_is_bounded_only_after_a_point_of_each_class() {
    let lab = Running::start();
    let data = points(&[0.0, 1.0, 4.0, 3.0], &[0.0, 0.5, 1.0, 3.0], &[0, 0, 1, 1]);
    let body = json!({"data": data, "settings": settings("kozinec"), "trace": true});
    let fit = lab.answer("fit", &body);
    let looks = fit["trace"]["looks"].as_array().unwrap();
    let best = fit["certificate"]["parts"][0]["lower"].as_f64().unwrap();
    assert!(looks[0].get("upper").is_none() && looks[1].get("upper").is_none());
    for look in &looks[2..] {
        assert!(look["upper"].as_f64().unwrap() >= best - 1e-12, "{look}");
    }
}
