//! The kube-rs contender of the benchmark: keeps all pods of a server in a
//! reflector's store and reports what that costs.
//! Usage: kubers SERVER stream|page

mod tally;

use std::error::Error;
use std::sync::Arc;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt, reflector};
use kube::{Api, Client, Config};

use tally::{Tally, cpu_us, next_order, report};

/// The stream of the reflector, and the handler of its events.
async fn keep(client: Client, config: watcher::Config, writer: Writer<Pod>, seen: Arc<Tally>) {
    let pods: Api<Pod> = Api::all(client);
    let changes = watcher(pods, config)
        .default_backoff()
        .modify(|pod| pod.metadata.managed_fields = None);
    let events = reflector(writer, changes);
    pin_mut!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(pod) | Event::InitApply(pod)) => seen.event(&pod),
            Ok(Event::InitDone) => seen.synced(),
            Ok(Event::Delete(_)) => seen.finish(),
            Ok(Event::Init) | Err(_) => {}
        }
    }
}

fn run(server: &str, listing: &str) -> Result<(), Box<dyn Error>> {
    let config = match listing {
        "stream" => watcher::Config::default().streaming_lists(),
        _ => watcher::Config::default(), // pages of 500
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let seen = Arc::new(Tally::default());
    let mut since = report("ready", cpu_us(), 0, 0);
    let (store, writer) = reflector::store::<Pod>();
    let entered = runtime.enter();
    let client = Client::try_from(Config::new(server.parse()?))?;
    drop(entered);
    runtime.spawn(keep(client, config, writer, seen.clone()));
    seen.wait();
    let synced = seen.take();
    report("synced", since, store.len(), synced.sum);
    println!("rest 0 0 0");
    while let Some((name, count)) = next_order() {
        since = cpu_us();
        seen.begin(&name, count);
        println!("begun");
        seen.wait();
        let used = cpu_us() - since;
        let end = seen.take();
        let delays: Vec<String> = end.delays.iter().map(i64::to_string).collect();
        println!(
            "done {used} {} {} {}",
            end.events,
            end.sum,
            delays.join(" ")
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [server, listing] => run(server, listing),
        _ => Err("usage: kubers SERVER stream|page".into()),
    }
}
