"""A kopf operator against the simulator: the server of KUBECONFIG. Prints TAP."""

import sys
import time

import kopf
from kopf.testing import KopfRunner
from kubernetes import client, config

SPACE, GROUP, VERSION, PLURAL = "operator", "kopf.example.com", "v1", "gardens"
PATIENCE = 20
TOLD = []

config.load_kube_config()
CORE, CUSTOM = client.CoreV1Api(), client.CustomObjectsApi()
DEFINITIONS = client.ApiextensionsV1Api()

DEFINITION = {
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP, "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "garden", "kind": "Garden"},
        "versions": [{
            "name": VERSION, "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"trees": {"type": "integer"}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }],
    },
}


@kopf.on.create(GROUP, VERSION, PLURAL)
def plant(spec, name, **_):
    TOLD.append(("plant", name))
    return {"planted": spec["trees"]}


@kopf.on.field(GROUP, VERSION, PLURAL, field="spec.trees")
def count(old, new, **_):
    TOLD.append(("trees", old, new))


@kopf.on.delete(GROUP, VERSION, PLURAL)
def fell(name, **_):
    TOLD.append(("fell", name))


def garden(**body):
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Garden",
            "metadata": {"name": "orchard"}, **body}


def read():
    return CUSTOM.get_namespaced_custom_object(GROUP, VERSION, SPACE, PLURAL, "orchard")


def eventually(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"not in time: {what}; told: {TOLD}"
        time.sleep(0.02)


def is_gone():
    try:
        read()
    except client.ApiException as problem:
        return problem.status == 404
    return False


def main():
    CORE.create_namespace({"metadata": {"name": SPACE}})
    DEFINITIONS.create_custom_resource_definition(DEFINITION)
    with KopfRunner(["run", "--namespace", SPACE, "--standalone", "--quiet"],
                    registry=kopf.get_default_registry(), timeout=2 * PATIENCE) as runner:
        CUSTOM.create_namespaced_custom_object(GROUP, VERSION, SPACE, PLURAL,
                                               garden(spec={"trees": 3}))
        eventually("the result of a handler in the status",
                   lambda: read().get("status", {}).get("plant") == {"planted": 3})
        CUSTOM.patch_namespaced_custom_object(GROUP, VERSION, SPACE, PLURAL, "orchard",
                                              {"spec": {"trees": 5}})
        eventually("a field's change", lambda: ("trees", 3, 5) in TOLD)
        CUSTOM.delete_namespaced_custom_object(GROUP, VERSION, SPACE, PLURAL, "orchard")
        eventually("the end", is_gone)
    assert runner.exception is None, runner.exception
    assert TOLD == [("plant", "orchard"), ("trees", None, 3), ("trees", 3, 5),
                    ("fell", "orchard")], TOLD


if __name__ == "__main__":
    try:
        main()
    except Exception as problem:  # any error is a failed test
        print(f"not ok - kopf: an operator lives\n# {type(problem).__name__}: {problem}")
        sys.exit(1)
    print("ok - kopf: an operator lives")
