//! What the handler has seen in a phase, and the lines by which the other side,
//! which looks at this process from outside, is told.

use std::io;
use std::mem;
use std::sync::{Condvar, Mutex};

use k8s_openapi::api::core::v1::Pod;

const STAMP: &str = "bench.example.com/written";

/// What was seen since the last `take`.
#[derive(Default)]
pub struct Seen {
    pub events: usize,
    pub sum: usize,
    pub delays: Vec<i64>, // nanoseconds
    wanted: Option<usize>,
    times: bool,
    done: bool,
}

#[derive(Default)]
pub struct Tally {
    seen: Mutex<Seen>,
    ended: Condvar,
}

impl Tally {
    /// The handler of what was added or updated.
    pub fn event(&self, pod: &Pod) {
        let mut seen = self.seen.lock().unwrap();
        if seen.times {
            let now = monotonic_ns();
            let annotations = pod.metadata.annotations.as_ref();
            let written = annotations.and_then(|all| all.get(STAMP)?.parse::<i64>().ok());
            seen.delays.push(now - written.unwrap_or(0));
        }
        seen.sum += length(pod);
        seen.events += 1;
        if seen.wanted == Some(seen.events) {
            seen.done = true;
            self.ended.notify_one();
        }
    }

    /// The handler of the end of a list: it ends the first phase only.
    pub fn synced(&self) {
        let mut seen = self.seen.lock().unwrap();
        if seen.wanted.is_none() {
            seen.done = true;
            self.ended.notify_one();
        }
    }

    /// The handler of what was deleted.
    pub fn finish(&self) {
        self.seen.lock().unwrap().done = true;
        self.ended.notify_one();
    }

    /// Begins a phase of so many events; with 0, a delete ends it.
    pub fn begin(&self, name: &str, count: usize) {
        let mut seen = self.seen.lock().unwrap();
        seen.wanted = Some(count);
        seen.times = name == "delays";
        seen.delays.reserve(count);
    }

    /// Waits for the end of a phase.
    pub fn wait(&self) {
        let seen = self.seen.lock().unwrap();
        drop(self.ended.wait_while(seen, |seen| !seen.done).unwrap());
    }

    /// Returns what was seen, and forgets it.
    pub fn take(&self) -> Seen {
        mem::take(&mut *self.seen.lock().unwrap())
    }
}

/// The three fields that a handler reads.
fn length(pod: &Pod) -> usize {
    let of = |text: Option<&String>| text.map_or(0, String::len);
    of(pod.metadata.name.as_ref())
        + of(pod.status.as_ref().and_then(|status| status.phase.as_ref()))
        + of(pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()))
}

fn read_line() -> String {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap_or(0);
    line
}

/// Waits for what to do; None: nothing more.
pub fn next_order() -> Option<(String, usize)> {
    let line = read_line();
    let (name, count) = line.trim().split_once(' ')?;
    Some((name.to_owned(), count.parse().ok()?))
}

/// Prints a line, waits for one (the other side measures memory), and returns
/// the CPU time at which the next phase begins.
pub fn report(name: &str, since: i64, count: usize, sum: usize) -> i64 {
    println!("{name} {} {count} {sum}", cpu_us() - since);
    read_line();
    cpu_us()
}

/// What this process has used so far, all threads of it.
pub fn cpu_us() -> i64 {
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let us = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    us(usage.ru_utime) + us(usage.ru_stime)
}

/// The clock that the server stamps objects with.
fn monotonic_ns() -> i64 {
    let mut now: libc::timespec = unsafe { mem::zeroed() };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
