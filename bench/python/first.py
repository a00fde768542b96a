"""A kopf operator that prints the first pod it is told of, and ends: how long a
process takes to that. Usage: kopf run --standalone --all-namespaces operator_first.py
with BENCH_SERVER in the environment."""

import os

import kopf


@kopf.on.login()
def login(**_):
    return kopf.ConnectionInfo(server=os.environ["BENCH_SERVER"])


@kopf.on.event("pods")
def tell(name, **_):
    print(name, flush=True)
    os._exit(0)
