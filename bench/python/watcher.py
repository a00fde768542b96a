"""The Python contender of the benchmark: keeps all pods of a server in a dictionary,
by list and watch of the official client, and reports what that costs.
Usage: watcher.py SERVER stream|page"""

import gc
import sys
import threading
import time

from kubernetes import client, watch

SERVER, LISTING = sys.argv[1:3]
STAMP = "bench.example.com/written"


class Tally:
    """What the handler has seen in a phase."""

    def __init__(self):
        self.wanted, self.events, self.sum, self.delays = -1, 0, 0, None
        self.done = threading.Event()

    def see(self, pod):
        if self.delays is not None:
            now = time.monotonic_ns()
            self.delays.append(now - int(pod.metadata.annotations[STAMP]))
        pod.metadata.managed_fields = None
        self.sum += (len(pod.metadata.name) + len(pod.status.phase or "")
                     + len(pod.spec.node_name or ""))
        self.events += 1
        if self.events == self.wanted:
            self.done.set()

    def begin(self, name, wanted):
        self.events = self.sum = 0
        self.wanted, self.delays = wanted, [] if name == "delays" else None
        self.done.clear()


def keep(seen, pods, synced):
    """Lists and watches for ever; after 410 Gone it lists again."""
    settings = client.Configuration(host=SERVER)
    core = client.CoreV1Api(client.ApiClient(settings))
    while True:
        version = list_all(core, seen, pods)
        synced.set()
        try:
            stream = watch.Watch().stream(core.list_pod_for_all_namespaces,
                                          resource_version=version)
            for event in stream:
                handle(event, seen, pods)
        except client.ApiException as problem:
            if problem.status != 410:
                raise


def list_all(core, seen, pods):
    """Handles each pod that is new or has changed."""
    options, left = {"limit": 500} if LISTING == "page" else {}, set(pods)
    while True:
        page = core.list_pod_for_all_namespaces(**options)
        for pod in page.items:
            key = (pod.metadata.namespace, pod.metadata.name)
            left.discard(key)
            known = pods.get(key)
            if not known or known.metadata.resource_version != pod.metadata.resource_version:
                pods[key] = pod
                seen.see(pod)
        options["_continue"] = page.metadata._continue
        if not page.metadata._continue:
            break
    for key in left:
        del pods[key]
    return page.metadata.resource_version


def handle(event, seen, pods):
    pod = event["object"]
    key = (pod.metadata.namespace, pod.metadata.name)
    if event["type"] == "DELETED":
        pods.pop(key, None)
        seen.done.set()
    else:
        pods[key] = pod
        seen.see(pod)


def used_us(since=0):
    return int(time.process_time() * 1e6) - since


def main():
    seen, pods, synced = Tally(), {}, threading.Event()
    print("ready 0 0 0", flush=True)
    sys.stdin.readline()
    since = used_us()
    threading.Thread(target=keep, args=(seen, pods, synced), daemon=True).start()
    synced.wait()
    print("synced", used_us(since), len(pods), seen.sum, flush=True)
    sys.stdin.readline()
    gc.collect()
    print("rest 0 0 0", flush=True)
    for order in sys.stdin:
        name, count = order.split()
        seen.begin(name, int(count))
        since = used_us()
        print("begun", flush=True)
        seen.done.wait()
        print("done", used_us(since), seen.events, seen.sum, *(seen.delays or []), flush=True)


main()
