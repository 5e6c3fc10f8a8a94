//! When to end: on Ctrl-C, when asked to terminate, and when nobody reads any more.

use std::io;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::failure::{Failure, Outcome};

/// So long the work may take to tidy up.
const FAREWELL: Duration = Duration::from_millis(100);

/// How a process is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has it"))]
    Terminate,
}

/// Does the work until it is done, or until it is time to end, which is no failure.
pub(crate) async fn until_stopped(work: impl Future<Output = Outcome> + Send + 'static) -> Outcome {
    until_end(work).await.map(drop)
}

/// Does work that has an answer. To be told to end before it is out is a failure: no answer must not look like an empty one.
pub(crate) async fn until_answered(work: impl Future<Output = Outcome> + Send + 'static) -> Outcome {
    match until_end(work).await? {
        Some(signal) => Err(Failure::stopped(signal)),
        None => Ok(()),
    }
}

/// Does the work until it is done, or until it is time to end. Tells the signal that ended it, if one did.
///
/// The work is a task of its own, so that one that waits for a terminal can be left behind.
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
    // It tidies up the terminal, unless it waits for it.
    work.abort();
    let _ = tokio::time::timeout(FAREWELL, work).await;
    Ok(signal)
}

/// Waits for Ctrl-C or SIGTERM. They count from the call on, not only once the future is polled.
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

/// Waits until whoever reads the output is gone. Without this a quiet stream would stay behind for as long as nothing
/// happens, because only writing shows that nobody reads.
async fn reader_gone() {
    let (gone, told) = oneshot::channel();
    let waiting = std::thread::Builder::new().name("reader".into());
    let started = waiting.spawn(move || {
        if is_left_alone() {
            // If nobody waits for it, the process is ending anyway.
            let _ = gone.send(());
        }
    });
    if started.is_err() || told.await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
fn is_left_alone() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let stdout = io::stdout();
    loop {
        // Errors and hang-ups are told without being asked for.
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
fn is_left_alone() -> bool {
    false
}
