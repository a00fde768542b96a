/*
 * sim_boot.c - fills a new cluster with what every cluster has: namespaces, the
 * service of the API, two priority classes of the system, and the objects that
 * controllers make of these.
 */
#include "sim/core/life/sim_settle.h"

#include "sim/core/write/sim_write.h"

/* Nothing listens on the port of this Service, because a cluster in a process
 * has no address. */
static const kl__sim_made objects[] = {
    {"", "services", "/api/v1/namespaces/default/services", "kube-apiserver",
     "{\"metadata\":{\"name\":\"kubernetes\",\"labels\":{\"component\":"
     "\"apiserver\",\"provider\":\"kubernetes\"}},\"spec\":{\"type\":"
     "\"ClusterIP\",\"clusterIP\":\"10.0.0.1\",\"sessionAffinity\":\"None\","
     "\"ipFamilyPolicy\":\"SingleStack\",\"internalTrafficPolicy\":\"Cluster\","
     "\"ports\":[{\"name\":\"https\",\"port\":443,\"protocol\":\"TCP\","
     "\"targetPort\":6443}]}}"},
    {"scheduling.k8s.io", "priorityclasses",
     "/apis/scheduling.k8s.io/v1/priorityclasses", "kube-apiserver",
     "{\"metadata\":{\"name\":\"system-node-critical\"},\"value\":2000001000,"
     "\"description\":\"Used for system critical pods that must not be moved "
     "from their current node.\",\"preemptionPolicy\":"
     "\"PreemptLowerPriority\"}"},
    {"scheduling.k8s.io", "priorityclasses",
     "/apis/scheduling.k8s.io/v1/priorityclasses", "kube-apiserver",
     "{\"metadata\":{\"name\":\"system-cluster-critical\"},"
     "\"value\":2000000000,\"description\":\"Used for system critical pods "
     "that "
     "must run in the cluster, but can be moved to another node if "
     "necessary.\","
     "\"preemptionPolicy\":\"PreemptLowerPriority\"}"},
};

/* A pod needs the ServiceAccount of its namespace, so these are made. The
 * ConfigMap with the cluster's certificate is not made here: a list of
 * ConfigMaps in a new cluster stays empty. */
static const kl__sim_made accounts[] = {
    {"", "serviceaccounts", "/api/v1/namespaces/default/serviceaccounts",
     "kube-controller-manager", "{\"metadata\":{\"name\":\"default\"}}"},
    {"", "serviceaccounts",
     "/api/v1/namespaces/kube-node-lease/serviceaccounts",
     "kube-controller-manager", "{\"metadata\":{\"name\":\"default\"}}"},
    {"", "serviceaccounts", "/api/v1/namespaces/kube-public/serviceaccounts",
     "kube-controller-manager", "{\"metadata\":{\"name\":\"default\"}}"},
    {"", "serviceaccounts", "/api/v1/namespaces/kube-system/serviceaccounts",
     "kube-controller-manager", "{\"metadata\":{\"name\":\"default\"}}"},
};

static kl_code make_all(kl_sim *sim, const kl__sim_made *list, size_t count,
                        kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < count; i++) {
        sim->version = 1; /* no watch is open yet */
        code = kl__sim_make(sim, &list[i], err);
    }
    return code;
}

kl_code kl__sim_boot(kl_sim *sim, kl_error *err)
{
    static const char *const namespaces[] = {"kube-system", "kube-public",
                                             "kube-node-lease", "default"};
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < 4; i++) {
        sim->version = 1;
        code = kl__sim_namespace_add(sim, namespaces[i], err);
    }
    if (code == KL_OK) {
        code =
            make_all(sim, objects, sizeof(objects) / sizeof(objects[0]), err);
    }
    if (code == KL_OK && !sim->no_controllers) {
        code = make_all(sim, accounts, sizeof(accounts) / sizeof(accounts[0]),
                        err);
    }
    kl__sim_chores_deinit(sim); /* no controller has to look at these objects */
    sim->version = 3;
    return code;
}
