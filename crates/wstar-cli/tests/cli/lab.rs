//! `wstar lab` from the command line: it prints an address on one line, serves a page there, and reports a port in use.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use crate::TestFolder;

#[test]
fn the_lab_prints_its_address_and_serves_its_page() {
    let folder = TestFolder::new();
    let mut running = folder
        .command(&["lab", "--no-open"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let host = line.trim().trim_start_matches("http://").trim_end_matches('/');
    assert!(host.starts_with("127.0.0.1:"), "{line}");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("<title>wstar lab</title>"));
}

#[test]
fn a_port_in_use_is_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = TestFolder::new();
    let ran = folder.run(&["lab", "--no-open", "--port", &port]).expect(2);
    assert!(
        ran.err.contains(&format!("port {port} is not available")),
        "{}",
        ran.err
    );
}
