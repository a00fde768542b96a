/*
 * sim_pod_check.h - what the checks of Pod Security Standards (rules about the
 * privileges of a pod) share. The checks are in sim_pod_baseline.c,
 * sim_pod_host.c, sim_pod_profiles.c and sim_pod_restricted.c; their table is
 * in sim_pod_checks.c.
 */
#ifndef KL_SIM_POD_CHECK_H
#define KL_SIM_POD_CHECK_H

#include "base/buf.h"
#include "sim/core/json/edit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of borrowed texts. Zeroed, it is empty and valid. */
typedef struct kl__pod_names {
    const char **items;
    size_t count;
    size_t capacity;
} kl__pod_names;

/* A pod that is being checked. */
typedef struct kl__pod_look {
    const kl__node *metadata;
    const kl__node *spec;
    const kl__node *security; /* securityContext of the pod; NULL: none */
    /* the minor version of Kubernetes whose checks apply */
    int64_t minor;
    kl__edit *scratch; /* owns the texts that are made */
    kl__buf *reasons;
    kl__buf *details;
    bool failed; /* out of memory */
} kl__pod_look;

typedef void (*kl__pod_check_fn)(kl__pod_look *look);

void kl__pod_name_add(kl__pod_look *look, kl__pod_names *names,
                      const char *name);
/* The same for a text that the caller has just made. NULL: it could not be
 * made; sets look->failed. */
void kl__pod_text_add(kl__pod_look *look, kl__pod_names *names,
                      const kl__node *text);
void kl__pod_names_free(kl__pod_names *names);
/* Sorts the names, and drops duplicates. */
void kl__pod_names_sort(kl__pod_names *names);
/* Appends `"a", "b"`. */
void kl__pod_names_put(kl__buf *out, const kl__pod_names *names);

/* Iterates over all containers: init, normal and ephemeral ones. The caller
 * zeroes it first. */
typedef struct kl__pod_containers {
    size_t list;
    kl__node_iter iter;
} kl__pod_containers;

const kl__node *kl__pod_next(const kl__pod_look *look, kl__pod_containers *at);

/* The parts of a pod that a test found at fault (the pod itself, containers),
 * and the forbidden values. */
typedef struct kl__pod_culprits {
    bool pod;
    kl__pod_names containers;
    kl__pod_names values;
} kl__pod_culprits;

/* True if a securityContext (NULL: none) is at fault; then adds its forbidden
 * values to `values`. `container` is the container that has this
 * securityContext; NULL: the pod has it. */
typedef bool (*kl__pod_test)(kl__pod_look *look, const kl__node *security,
                             const kl__node *container, kl__pod_names *values);

/* Runs a test on all containers, and with `pod_too` on the pod itself. True if
 * any is at fault; values are sorted. The caller frees `out` with
 * kl__pod_culprits_free, whatever the result. */
bool kl__pod_find(kl__pod_look *look, kl__pod_test test, bool pod_too,
                  kl__pod_culprits *out);
void kl__pod_culprits_free(kl__pod_culprits *culprits);
/* Appends `pod and containers "a", "b"` as a message names them. */
void kl__pod_culprits_put(kl__buf *out, const kl__pod_culprits *culprits);

/* `one` or `many`, depending on the count: "container", "containers". */
const char *kl__pod_plural(size_t count, const char *one, const char *many);

/* Adds a reason and its detail to what the pod violates. Takes the content of
 * `detail`. Adds nothing if the detail is empty. */
void kl__pod_forbid(kl__pod_look *look, const char *reason, kl__buf *detail);

/* True if the pod runs in a user namespace of its own. */
bool kl__pod_has_own_users(const kl__pod_look *look);

/* --- The checks. ---------------------------------------------------------- */

void kl__pod_check_apparmor(kl__pod_look *look);
void kl__pod_check_added(kl__pod_look *look);
void kl__pod_check_host_namespaces(kl__pod_look *look);
void kl__pod_check_host_paths(kl__pod_look *look);
void kl__pod_check_host_ports(kl__pod_look *look);
void kl__pod_check_probes(kl__pod_look *look);
void kl__pod_check_privileged(kl__pod_look *look);
void kl__pod_check_proc(kl__pod_look *look);
void kl__pod_check_selinux(kl__pod_look *look);
void kl__pod_check_seccomp(kl__pod_look *look);
void kl__pod_check_sysctls(kl__pod_look *look);
void kl__pod_check_windows(kl__pod_look *look);

void kl__pod_check_escalation(kl__pod_look *look);
void kl__pod_check_dropped(kl__pod_look *look);
void kl__pod_check_proc_always(kl__pod_look *look);
void kl__pod_check_volumes(kl__pod_look *look);
void kl__pod_check_root(kl__pod_look *look);
void kl__pod_check_user(kl__pod_look *look);
void kl__pod_check_seccomp_set(kl__pod_look *look);

/* True if a container adds capabilities that are not in `allowed`; appends
 * these capabilities to `values`. */
bool kl__pod_adds(kl__pod_look *look, const kl__node *security,
                  const char *const *allowed, size_t count,
                  kl__pod_names *values);
/* True if a seccomp profile is set that is not allowed. */
bool kl__pod_bad_seccomp(kl__pod_look *look, const kl__node *security,
                         const kl__node *container, kl__pod_names *values);
/* Adds the reason for the pod or containers with such a profile. */
void kl__pod_forbid_seccomp(kl__pod_look *look,
                            const kl__pod_culprits *culprits);

#endif
