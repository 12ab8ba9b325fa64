//! The program `farhold-relay`.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use farhold_wire::bridge::BridgeSide::{One, Zero};
use farhold_wire::proto::relay::relay_client::RelayClient;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt;

use crate::support::*;

/// Ends the program whatever happens to the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(arguments: &[&str]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farhold-relay"));
    command.args(arguments).env_remove("RUST_LOG").stdout(Stdio::piped()).stderr(Stdio::piped());
    Program(command.spawn().unwrap())
}

fn first_line(program: &mut Program) -> String {
    let mut line = String::new();
    BufReader::new(program.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

fn address(ready: &str, name: &str) -> SocketAddr {
    let (_, rest) = ready.split_once(&format!("\"{name}\":\"")).unwrap();
    rest.split_once('"').unwrap().0.parse().unwrap()
}

fn signal(program: &Program, signal: Signal) {
    kill_process(Pid::from_child(&program.0), signal).unwrap();
}

#[tokio::test]
async fn serves_until_it_is_told_to_stop_and_logs_nothing_about_callers() {
    let mut program = run(&["--listen", "127.0.0.1:0", "--json"]);
    let ready = first_line(&mut program);
    assert!(ready.starts_with("{\"ready\":true,") && ready.ends_with("}\n"), "{ready}");

    let mut client = soon(RelayClient::connect(format!("http://{}", address(&ready, "grpc")))).await.unwrap();
    client.post(post(1, 1, b"blob", 60)).await.unwrap();
    let mut legs = Vec::new();
    for side in [Zero, One] {
        let mut leg = connect(HOME, address(&ready, "bridge")).await;
        leg.write_all(&call(1, side).encode()).await.unwrap();
        legs.push(leg);
    }
    for leg in &mut legs {
        paired(leg).await;
    }
    drop(legs);
    assert_eq!(get(address(&ready, "http"), "/health").await.1, "ok\n");

    signal(&program, Signal::TERM);
    let status = tokio::task::spawn_blocking(move || {
        let status = program.0.wait().unwrap();
        let mut log = String::new();
        program.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (status, log)
    });
    let (status, log) = soon(status).await.unwrap();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("stopping") && !log.contains("127.0.0.1"), "{log}");
}

#[test]
fn an_interrupt_stops_it_too_and_without_json_it_speaks_to_people() {
    let mut program = run(&["--listen", "127.0.0.1:0"]);
    let ready = first_line(&mut program);
    assert!(ready.starts_with("Relay ready: rendezvous 127.0.0.1:"), "{ready}");
    signal(&program, Signal::INT);
    assert_eq!(program.0.wait().unwrap().code(), Some(0));
}

#[test]
fn help_says_what_it_is_and_wrong_use_is_an_error() {
    let help = Command::new(env!("CARGO_BIN_EXE_farhold-relay")).arg("--help").output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    for word in ["--listen", "--json", "PORT+1", "UDP", "PORT+2", "/metrics", "RUST_LOG"] {
        assert!(text.contains(word), "{text}");
    }
    let wrong =
        Command::new(env!("CARGO_BIN_EXE_farhold-relay")).args(["--listen", "nonsense"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let high =
        Command::new(env!("CARGO_BIN_EXE_farhold-relay")).args(["--listen", "127.0.0.1:65535"]).output();
    assert_eq!(high.unwrap().status.code(), Some(1));
}
