//! Waiting until a server answers.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, SystemTime};

use http::Request;
use tokio::time::sleep;

use super::StartError;
use super::supervised::Supervised;

/// How long a server may take to start on a slow and busy machine.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);
/// How often a starting server is asked whether it is ready.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// Starts a server on a port that was free a moment ago, and on another when somebody was quicker.
pub(super) async fn on_free_port(
    start: impl AsyncFn(u16) -> Result<Supervised, StartError>,
) -> Result<(Supervised, u16), StartError> {
    let mut tries = 3;
    loop {
        tries -= 1;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        match start(port).await {
            Ok(server) => return Ok((server, port)),
            Err(StartError::Ended { last_words, .. })
                if tries > 0 && last_words.contains("address already in use") => {}
            Err(error) => return Err(error),
        }
    }
}

pub(super) async fn until_ready(
    server: &mut Supervised,
    ready: impl AsyncFn() -> bool,
) -> Result<(), StartError> {
    let started = SystemTime::now();
    while !ready().await {
        let program = server.name;
        if server.has_ended() {
            return Err(StartError::Ended {
                program,
                last_words: server.last_words(),
            });
        }
        if started.elapsed().unwrap_or_default() > PATIENCE {
            return Err(StartError::NotReady {
                program,
                seconds: PATIENCE.as_secs(),
                last_words: server.last_words(),
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
