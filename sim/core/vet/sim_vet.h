/*
 * sim_vet.h - validates objects of built-in kinds. Messages and their order are
 * those of kube-apiserver. Each file sim_vet_*.c checks some kinds;
 * sim_vet_kinds.c has the table of all. The object has its defaults already;
 * nothing is looked up in the cluster.
 */
#ifndef KL_SIM_VET_H
#define KL_SIM_VET_H

#include "base/map.h"
#include "sim/core/schema/field_errors.h"

/* The state while one object is checked. Zero it, then set `errors`; deinit
 * `path` at the end. */
typedef struct kl__vet {
    kl__field_errors *errors;
    kl__buf path; /* of the current value: "spec.containers[0]" */
} kl__vet;

/* Extends the path by a member, an element or a key of a map. kl__vet_back
 * takes the result, and removes what was added since then. */
size_t kl__vet_into(kl__vet *vet, const char *member);
size_t kl__vet_at(kl__vet *vet, size_t index);
size_t kl__vet_key(kl__vet *vet, const char *key);
void kl__vet_back(kl__vet *vet, size_t mark);

/* Adds an error about a member of the current value (NULL: about that value
 * itself). The message shows the text in quotes (NULL: no text), or the
 * value. */
void kl__vet_fault(kl__vet *vet, kl__field_fault fault, const char *member,
                   const char *text, const char *detail);
void kl__vet_value(kl__vet *vet, kl__field_fault fault, const char *member,
                   const kl__node *value, const char *detail);

/* Adds an error about the current value; the message shows `shown` as it is. */
void kl__vet_shown(kl__vet *vet, kl__field_fault fault, const char *shown,
                   const char *detail);

/* A text member; "" if there is none. */
const char *kl__vet_text(const kl__node *object, const char *member);

/* --- Checks of a member of `object`, which is the current value. Each adds an
 * error if its condition is not met. */

/* The text must be there and not empty. True if it is. */
bool kl__vet_required(kl__vet *vet, const kl__node *object, const char *member);
/* The text must be one of `names` (the last is NULL), or absent. */
void kl__vet_enum(kl__vet *vet, const kl__node *object, const char *member,
                  const char *const *names);
/* The text must be one of `names`. "" stands for a text that is absent. */
void kl__vet_unsupported(kl__vet *vet, const char *member, const char *text,
                         const char *const *names);
/* The number must be in the range, or absent. */
void kl__vet_range(kl__vet *vet, const kl__node *object, const char *member,
                   int64_t low, int64_t high);
void kl__vet_not_negative(kl__vet *vet, const kl__node *object,
                          const char *member);
/* The text must be a DNS label, or absent. */
void kl__vet_label(kl__vet *vet, const kl__node *object, const char *member);
void kl__vet_subdomain(kl__vet *vet, const kl__node *object,
                       const char *member);
/* The text must not be in the map yet; it is added, and borrowed by the map. */
void kl__vet_unique(kl__vet *vet, kl__map *map, const char *member,
                    const char *text);
/* The member must be a number or name of a port. */
void kl__vet_port(kl__vet *vet, const kl__node *object, const char *member);
/* Checks the keys and values of labels. */
void kl__vet_labels(kl__vet *vet, const kl__node *labels, const char *member);
/* Checks a LabelSelector; it may be absent. */
void kl__vet_selector(kl__vet *vet, const kl__node *object, const char *member);
/* True if a LabelSelector selects those labels. */
bool kl__vet_selects(const kl__node *selector, const kl__node *labels);
/* The member must be a number that is not negative, or a percentage, or
 * absent. */
void kl__vet_percent(kl__vet *vet, const kl__node *object, const char *member);

/* The text must be a DNS name and not "" (NULL counts as ""). */
void kl__vet_dns(kl__vet *vet, const char *member, const char *text);
/* The text must have the form of a label's key, "name" or "prefix/name", and
 * not be "". */
void kl__vet_qualified(kl__vet *vet, const char *member, const char *name);
/* The text must be an IP address; false: it is not. */
bool kl__vet_address(kl__vet *vet, const char *member, const char *text);
/* Calls `check` for each element of a list; the path leads to the element. */
void kl__vet_each(kl__vet *vet, const kl__node *object, const char *member,
                  void (*check)(kl__vet *vet, const kl__node *element));

/* --- Parts of objects. ---------------------------------------------------- */

/* Checks the member `template` of the current value. */
void kl__vet_template(kl__vet *vet, const kl__node *template,
                      const kl__node *claims);

/* --- Whole objects. ------------------------------------------------------- */

typedef void kl__vet_kind(kl__vet *vet, const kl__node *object);

kl__vet_kind kl__vet_pod, kl__vet_deployment, kl__vet_replica_set,
    kl__vet_daemon_set, kl__vet_stateful_set, kl__vet_job, kl__vet_cron_job,
    kl__vet_service, kl__vet_config_map, kl__vet_secret, kl__vet_claim,
    kl__vet_ingress, kl__vet_lease, kl__vet_slice, kl__vet_event,
    kl__vet_group_event, kl__vet_role_binding, kl__vet_cluster_role_binding,
    kl__vet_role, kl__vet_cluster_role, kl__vet_budget, kl__vet_autoscaler;

/* Validates an object of a kind. A kind without a row in the table has no
 * checks. */
void kl__vet_object(const char *group, const char *plural,
                    const kl__node *object, kl__field_errors *errors);

#endif
