"""The Python client against the simulator: the server of KUBECONFIG. Prints TAP."""

import sys
import threading
import time
import traceback

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError

config.load_kube_config()
API = client.ApiClient()
CORE, APPS = client.CoreV1Api(API), client.AppsV1Api(API)
SPACE = "python"
CLAIMS = []


def claim(function):
    CLAIMS.append(function)
    return function


def config_map(name, **data):
    return {"metadata": {"name": name, "labels": {"app": "shop"}}, "data": data}


def refused(status, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except ApiException as problem:
        assert problem.status == status, problem
        return problem
    raise AssertionError("was not refused")


@claim
def an_object_lives():
    made = CORE.create_namespaced_config_map(SPACE, config_map("one", a="1"))
    assert made.metadata.uid and made.data == {"a": "1"}
    made.data["a"] = "2"
    changed = CORE.replace_namespaced_config_map("one", SPACE, made)
    assert changed.data == {"a": "2"}
    refused(409, CORE.replace_namespaced_config_map, "one", SPACE, made)
    refused(409, CORE.create_namespaced_config_map, SPACE, config_map("one"))
    status = CORE.delete_namespaced_config_map("one", SPACE)
    assert status.status == "Success"
    refused(404, CORE.read_namespaced_config_map, "one", SPACE)


@claim
def patches_of_all_kinds():
    CORE.create_namespaced_config_map(SPACE, config_map("patched", a="1"))
    one = CORE.patch_namespaced_config_map("patched", SPACE, {"data": {"b": "2"}})
    assert one.data == {"a": "1", "b": "2"}
    operations = [{"op": "remove", "path": "/data/a"}]
    one = CORE.patch_namespaced_config_map("patched", SPACE, operations)
    assert one.data == {"b": "2"}


@claim
def lists_have_pages_and_selectors():
    for i in range(5):
        CORE.create_namespaced_config_map(SPACE, config_map(f"page-{i}"))
    page = CORE.list_namespaced_config_map(SPACE, limit=2)
    names = [item.metadata.name for item in page.items]
    while page.metadata._continue:
        page = CORE.list_namespaced_config_map(SPACE, limit=2, _continue=page.metadata._continue)
        names += [item.metadata.name for item in page.items]
    assert [f"page-{i}" for i in range(5)] == [name for name in names if "page-" in name]
    assert not CORE.list_namespaced_config_map(SPACE, label_selector="app=none").items
    found = CORE.list_namespaced_config_map(SPACE, field_selector="metadata.name=page-3").items
    assert len(found) == 1
    refused(400, CORE.list_namespaced_config_map, SPACE, label_selector="a b")


@claim
def a_watch_resumes():
    seen = []
    start = CORE.list_namespaced_config_map(SPACE).metadata.resource_version

    def change():
        CORE.create_namespaced_config_map(SPACE, config_map("watched", a="0"))
        time.sleep(1.2)  # the first watch has ended by then
        CORE.patch_namespaced_config_map("watched", SPACE, {"data": {"a": "1"}})
        CORE.delete_namespaced_config_map("watched", SPACE)

    thread = threading.Thread(target=change)
    thread.start()
    stream = watch.Watch()
    options = {"resource_version": start, "field_selector": "metadata.name=watched"}
    while len(seen) < 3:
        for event in stream.stream(CORE.list_namespaced_config_map, SPACE, timeout_seconds=1, **options):
            seen.append(event["type"])
        options["resource_version"] = stream.resource_version
    thread.join()
    assert seen == ["ADDED", "MODIFIED", "DELETED"], seen


@claim
def a_deployment_is_scaled():
    APPS.create_namespaced_deployment(SPACE, {
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    })
    scale = APPS.read_namespaced_deployment_scale("web", SPACE)
    assert scale.spec.replicas == 1
    APPS.patch_namespaced_deployment_scale("web", SPACE, {"spec": {"replicas": 4}})
    web = APPS.read_namespaced_deployment("web", SPACE)
    assert web.spec.replicas == 4 and web.spec.strategy.type == "RollingUpdate"
    APPS.patch_namespaced_deployment_status("web", SPACE, {"status": {"replicas": 4}})
    assert APPS.read_namespaced_deployment("web", SPACE).status.replicas == 4


@claim
def server_side_apply_conflicts():
    maps = dynamic.DynamicClient(API).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("applied", a="1")}
    maps.server_side_apply(body=body, name="applied", namespace=SPACE, field_manager="one")
    body["data"]["a"] = "2"
    try:
        maps.server_side_apply(body=body, name="applied", namespace=SPACE, field_manager="two")
        raise AssertionError("no conflict")
    except ConflictError as problem:
        assert "one" in str(problem)
    forced = maps.server_side_apply(
        body=body, name="applied", namespace=SPACE, field_manager="two", force_conflicts=True)
    assert forced.data.a == "2"


@claim
def a_custom_resource_is_served():
    utils.create_from_dict(API, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.python.example.com"},
        "spec": {
            "group": "python.example.com", "scope": "Namespaced",
            "names": {"plural": "shops", "kind": "Shop"},
            "versions": [{
                "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {
                        "type": "object", "properties": {"size": {"type": "integer", "default": 3}}}}}}}],
        },
    })
    custom = client.CustomObjectsApi(API)
    place = ("python.example.com", "v1", SPACE, "shops")
    deadline = time.monotonic() + 10
    while True:
        try:
            custom.list_namespaced_custom_object(*place)
            break
        except ApiException:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    shop = {"apiVersion": "python.example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {}}
    made = custom.create_namespaced_custom_object(*place, shop)
    assert made["spec"]["size"] == 3, made
    shop["metadata"]["name"], shop["spec"]["size"] = "b", "large"
    refused(422, custom.create_namespaced_custom_object, *place, shop)


@claim
def versions_and_groups():
    assert client.VersionApi(API).get_code().major == "1"
    groups = [group.name for group in client.ApisApi(API).get_api_versions().groups]
    assert "apps" in groups
    answer = client.AuthorizationV1Api(API).create_self_subject_access_review({
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
    assert answer.status.allowed


def main():
    CORE.create_namespace({"metadata": {"name": SPACE}})
    bad = 0
    for i, function in enumerate(CLAIMS, 1):
        sentence = "python: " + function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {i} - {sentence}", flush=True)
        except Exception:  # any error is a failed claim
            bad += 1
            print(f"not ok {i} - {sentence}", flush=True)
            for line in traceback.format_exc().splitlines():
                print("# " + line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
