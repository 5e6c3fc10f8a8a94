//! Waits until a server is ready.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, SystemTime};

use http::Request;
use tokio::time::sleep;

use super::StartError;
use super::server_process::ServerProcess;

/// Timeout of starting a server on a slow and busy machine.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);
/// Interval of checks whether a starting server is ready.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// Starts a server on a free port. Retries with another one if the port is in use by then.
pub(super) async fn on_free_port(
    start: impl AsyncFn(u16) -> Result<ServerProcess, StartError>,
) -> Result<(ServerProcess, u16), StartError> {
    let mut tries = 3;
    loop {
        tries -= 1;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        match start(port).await {
            Ok(server) => return Ok((server, port)),
            Err(StartError::Ended { log_tail, .. })
                if tries > 0 && log_tail.contains("address already in use") => {}
            Err(error) => return Err(error),
        }
    }
}

pub(super) async fn until_ready(
    server: &mut ServerProcess,
    ready: impl AsyncFn() -> bool,
) -> Result<(), StartError> {
    let started = SystemTime::now();
    while !ready().await {
        let program = server.name;
        if server.has_ended() {
            return Err(StartError::Ended {
                program,
                log_tail: server.log_tail(),
            });
        }
        if started.elapsed().unwrap_or_default() > PATIENCE {
            return Err(StartError::NotReady {
                program,
                seconds: PATIENCE.as_secs(),
                log_tail: server.log_tail(),
            });
        }
        sleep(POLL).await;
    }
    Ok(())
}

pub(super) fn get(path: &'static str) -> Request<Vec<u8>> {
    let mut request = Request::default();
    *request.uri_mut() = http::Uri::from_static(path);
    request
}
