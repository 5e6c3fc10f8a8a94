//! The program in a pseudoterminal.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use kube_embedded::{Fault, On};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::cluster::{Cluster, config_map, pod};
use super::program::{PROGRAM, TIMEOUT};

/// A pseudoterminal that runs the program.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<String>,
    seen: String,
}

impl Terminal {
    fn start(cluster: &Cluster, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&controller).expect("a terminal device");
        unlockpt(&controller).expect("a terminal that opens");
        let name = ptsname(&controller, Vec::new()).expect("a name");
        let terminal_side = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().expect("a path"))
            .expect("the other side");
        let side = || Stdio::from(terminal_side.try_clone().expect("the other side"));
        let child = Command::new(PROGRAM)
            .args(arguments)
            .env("KUBECONFIG", cluster.kubeconfig())
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("the program starts");
        drop(terminal_side);
        let keyboard = File::from(controller);
        let mut camera = keyboard.try_clone().expect("the screen");
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when the program ends.
            while let Ok(count @ 1..) = camera.read(&mut bytes) {
                if send
                    .send(String::from_utf8_lossy(&bytes[..count]).into_owned())
                    .is_err()
                {
                    return;
                }
            }
        });
        Terminal {
            child,
            keyboard,
            screen,
            seen: String::new(),
        }
    }

    /// Reads the screen until a text appears, and returns everything up to it.
    fn see(&mut self, wanted: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(wanted) {
                let rest = self.seen.split_off(at + wanted.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match self.screen.recv_timeout(TIMEOUT) {
                Ok(more) => self.seen.push_str(&more),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{wanted:?} is not on the screen: {:?}", self.seen)
                }
            }
        }
    }

    fn type_text(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("a keyboard");
    }

    /// Waits for the end of the program.
    fn end(mut self) -> (Option<i32>, String) {
        let mut seen = std::mem::take(&mut self.seen);
        while let Ok(more) = self.screen.recv_timeout(TIMEOUT) {
            seen.push_str(&more);
        }
        (self.child.wait().expect("its status").code(), seen)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_terminal_changes_are_coloured_with_one_line_per_field() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    let mut terminal = Terminal::start(&cluster, &["watch", "cm"], &[]);
    terminal.see("\x1b[1mNAME      DATA   AGE\x1b[0m\r\n");
    cluster.put(config_map("default", "sizes", "large"));
    terminal.see("\x1b[32m+ sizes ");
    cluster.put(config_map("default", "colours", "blue"));
    terminal.see("\x1b[33m~ colours ");
    terminal.see("\r\n      \x1b[2mdata.key:\x1b[0m \x1b[31mred\x1b[0m → \x1b[32mblue\x1b[0m\r\n");
    cluster.server.delete("configmaps", Some("default"), "sizes");
    terminal.see("\x1b[31m- sizes ");
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_can_be_disabled() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    for (words, variables) in [
        (&["watch", "cm"][..], &[("NO_COLOR", "1")][..]),
        (&["watch", "cm", "--color", "never"], &[]),
    ] {
        let mut terminal = Terminal::start(&cluster, words, variables);
        let seen = terminal.see("colours");
        assert!(!seen.contains("\x1b[1m"), "{seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shows_the_progress_of_a_slow_list() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    cluster.put(pod("web-2", "north", "web:1"));
    // Without a final bookmark the list is incomplete, and the progress message remains.
    let faults = cluster.server.faults();
    faults.add(On::watch("pods").once(), Fault::NoBookmarks);
    faults.add(On::watch("pods").once(), Fault::CloseAfterEvents(3));
    let mut terminal = Terminal::start(&cluster, &["watch", "pods"], &[]);
    terminal.see("syncing pods: 2 objects, 0.0 MB, ");
    terminal.see(" objects/s");
    // The next message replaces the progress, and so does the table.
    terminal.see("\r\x1b[K");
    cluster.put(pod("web-3", "north", "web:1"));
    terminal.see("\r\x1b[K  \x1b[1mNAME ");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prompt_runs_queries() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    let words = [
        "get",
        "pods",
        "--index",
        "node=.spec.nodeName",
        "--prompt",
        "-o",
        "name",
    ];
    let mut terminal = Terminal::start(&cluster, &words, &[]);
    terminal
        .see("1 pods in the cache. Enter `help` for the syntax of queries, `exit` or Ctrl-D to exit.\r\n");
    terminal.see("pods> ");
    terminal.type_text("node=north\n");
    terminal.see("\r\npod/web-1\r\npods> ");
    // Ctrl-D.
    terminal.type_text("\x04");
    let (code, _) = terminal.end();
    assert_eq!(code, Some(0));
}
