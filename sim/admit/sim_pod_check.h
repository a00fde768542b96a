/*
 * sim_pod_check.h - what the checks of pods are made of: sim_pod_baseline.c,
 * sim_pod_host.c, sim_pod_profiles.c and sim_pod_restricted.c have them,
 * sim_pod_checks.c the rest.
 */
#ifndef KL_SIM_POD_CHECK_H
#define KL_SIM_POD_CHECK_H

#include "base/buf.h"
#include "sim/json/edit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed texts. Zeroed, it is empty and valid. */
typedef struct kl__pod_names {
    const char **items;
    size_t count;
    size_t capacity;
} kl__pod_names;

/* A pod that is looked at. */
typedef struct kl__pod_look {
    const kl__node *metadata;
    const kl__node *spec;
    const kl__node *security; /* of the pod as a whole; NULL: none */
    int64_t minor;            /* of Kubernetes: whose checks */
    kl__edit *scratch;        /* owns texts that are made */
    kl__buf *reasons;
    kl__buf *details;
    bool failed; /* out of memory */
} kl__pod_look;

typedef void (*kl__pod_check_fn)(kl__pod_look *look);

void kl__pod_name_add(kl__pod_look *look, kl__pod_names *names,
                      const char *name);
/* The same for a text that was made; NULL: out of memory. */
void kl__pod_text_add(kl__pod_look *look, kl__pod_names *names,
                      const kl__node *text);
void kl__pod_names_free(kl__pod_names *names);
/* Sorts them; each stays once. */
void kl__pod_names_sort(kl__pod_names *names);
/* Appends `"a", "b"`. */
void kl__pod_names_put(kl__buf *out, const kl__pod_names *names);

/* The next of all containers: init, own and ephemeral ones. Start it zeroed. */
typedef struct kl__pod_containers {
    size_t list;
    kl__node_iter iter;
} kl__pod_containers;

const kl__node *kl__pod_next(const kl__pod_look *look, kl__pod_containers *at);

/* Who does something: the pod itself, or containers, and with what. */
typedef struct kl__pod_culprits {
    bool pod;
    kl__pod_names containers;
    kl__pod_names values;
} kl__pod_culprits;

/* Whether a securityContext (NULL: none) is to blame; what it says that is
 * forbidden goes into the values. `container`: whose it is, NULL for the pod's.
 */
typedef bool (*kl__pod_test)(kl__pod_look *look, const kl__node *security,
                             const kl__node *container, kl__pod_names *values);

/* Asks that of all containers, and of the pod itself too, or not. The values
 * are sorted. Whether anybody is to blame; owed in any case: _culprits_free. */
bool kl__pod_find(kl__pod_look *look, kl__pod_test test, bool pod_too,
                  kl__pod_culprits *out);
void kl__pod_culprits_free(kl__pod_culprits *culprits);
/* Appends `pod and containers "a", "b"`. */
void kl__pod_culprits_put(kl__buf *out, const kl__pod_culprits *culprits);

/* "container" or "containers", as many as there are. */
const char *kl__pod_plural(size_t count, const char *one, const char *many);

/* Notes that something is forbidden, and why; takes the detail, and does
 * nothing without one. */
void kl__pod_forbid(kl__pod_look *look, const char *reason, kl__buf *detail);

/* Whether the pod's users are others than the host's. */
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

/* Of a container's capabilities: what it adds that is not among `allowed` goes
 * into the values; whether there is any. */
bool kl__pod_adds(kl__pod_look *look, const kl__node *security,
                  const char *const *allowed, size_t count,
                  kl__pod_names *values);
/* Whether a profile of seccomp is set that is none of the allowed ones. */
bool kl__pod_bad_seccomp(kl__pod_look *look, const kl__node *security,
                         const kl__node *container, kl__pod_names *values);
/* Notes those that have one. */
void kl__pod_forbid_seccomp(kl__pod_look *look,
                            const kl__pod_culprits *culprits);

#endif
