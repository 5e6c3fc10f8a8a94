//! Stops a command on Ctrl-C, on SIGTERM, and when the reader of the output is gone.

use std::io;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::failure::{Failure, Outcome};

/// Time that a stopped command has to clean up.
const CLEANUP_TIMEOUT: Duration = Duration::from_millis(100);

/// The signals that stop a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has it"))]
    Terminate,
}

/// Runs a command until it returns or is stopped. Being stopped is not a failure.
pub(crate) async fn until_stopped(work: impl Future<Output = Outcome> + Send + 'static) -> Outcome {
    until_end(work).await.map(drop)
}

/// Runs a command that has a result. Being stopped is a failure, because an incomplete result must not look
/// like an empty one.
pub(crate) async fn until_answered(work: impl Future<Output = Outcome> + Send + 'static) -> Outcome {
    match until_end(work).await? {
        Some(signal) => Err(Failure::stopped(signal)),
        None => Ok(()),
    }
}

/// Runs a command until it returns or is stopped. Returns the signal that stopped it, if any.
///
/// The command runs in a separate task, so that it can be abandoned while it waits for a terminal.
async fn until_end(work: impl Future<Output = Outcome> + Send + 'static) -> Outcome<Option<Signal>> {
    let signalled = signalled()?;
    let mut work = tokio::spawn(work);
    let signal = tokio::select! {
        biased;
        done = &mut work => return match done {
            Ok(outcome) => outcome.map(|()| None),
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        },
        signal = signalled => Some(signal?),
        () = reader_gone() => None,
    };
    // Let the command restore the terminal, unless it is blocked.
    work.abort();
    let _ = tokio::time::timeout(CLEANUP_TIMEOUT, work).await;
    Ok(signal)
}

/// Waits for Ctrl-C or SIGTERM. Signals are handled from the call on, even before the future is polled.
pub(crate) fn signalled() -> io::Result<impl Future<Output = io::Result<Signal>>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => Ok(Signal::Interrupt),
                _ = terminate.recv() => Ok(Signal::Terminate),
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async { tokio::signal::ctrl_c().await.map(|()| Signal::Interrupt) })
}

/// Waits until the reader of the output is gone. Without this check a command with nothing to write would not
/// notice it.
async fn reader_gone() {
    let (sender, receiver) = oneshot::channel();
    let waiting = std::thread::Builder::new().name("reader".into());
    let started = waiting.spawn(move || {
        if blocks_until_reader_gone() {
            // If the receiver is gone, the process is ending already.
            let _ = sender.send(());
        }
    });
    if started.is_err() || receiver.await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
fn blocks_until_reader_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let stdout = io::stdout();
    loop {
        // Errors and hang-ups are always reported.
        let mut output = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut output, None) {
            Ok(_) => {
                let ends = PollFlags::ERR | PollFlags::HUP;
                return output[0].revents().intersects(ends);
            }
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(not(unix))]
fn blocks_until_reader_gone() -> bool {
    false
}
