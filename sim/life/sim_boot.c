/*
 * sim_boot.c - what every cluster has from its first moment: namespaces, the
 * service of the API, the two classes of priority of the system; and what its
 * controllers make of that at once.
 */
#include "sim/life/sim_settle.h"

#include "sim/write/sim_write.h"

/* A service whose port leads nowhere: there is no address in a process. */
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

/* ServiceAccounts are asked for by name. The certificate that controllers put
 * beside them is not made: who lists ConfigMaps in a new cluster wants none. */
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
        sim->version = 1; /* nobody watches yet */
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
    kl__sim_chores_deinit(sim); /* what is there from the start is complete */
    sim->version = 3;
    return code;
}
