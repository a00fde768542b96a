/*
 * sim_vet.h - what objects of built-in kinds have to be, in kube-apiserver's
 * words and order. Pure functions on trees that have their defaults.
 */
#ifndef KL_SIM_VET_H
#define KL_SIM_VET_H

#include "base/map.h"
#include "sim/schema/field_errors.h"

/* One object on its way through the checks. Zeroed but for `errors`. */
typedef struct kl__vet {
    kl__field_errors *errors;
    kl__buf path; /* of what is at hand: "spec.containers[0]" */
} kl__vet;

/* Goes to a member, an element, a key of a map; returns what kl__vet_back takes
 * to leave again. */
size_t kl__vet_into(kl__vet *vet, const char *member);
size_t kl__vet_at(kl__vet *vet, size_t index);
size_t kl__vet_key(kl__vet *vet, const char *key);
void kl__vet_back(kl__vet *vet, size_t mark);

/* Adds a fault of a member of what is at hand (NULL: of that itself), with a
 * text that is quoted (NULL: no value), or a value. */
void kl__vet_fault(kl__vet *vet, kl__field_fault fault, const char *member,
                   const char *text, const char *detail);
void kl__vet_value(kl__vet *vet, kl__field_fault fault, const char *member,
                   const kl__node *value, const char *detail);

/* The same of what is at hand, with the value as it is shown. */
void kl__vet_shown(kl__vet *vet, kl__field_fault fault, const char *shown,
                   const char *detail);

/* A text member; "" where there is none. */
const char *kl__vet_text(const kl__node *object, const char *member);

/* --- Checks of a member of `object`, which is at hand. -------------------- */

/* Whether a text is there; else it is required. */
bool kl__vet_required(kl__vet *vet, const kl__node *object, const char *member);
/* One of `names`, the last of them NULL; nothing at all passes. */
void kl__vet_enum(kl__vet *vet, const kl__node *object, const char *member,
                  const char *const *names);
/* The same of a text; where the value is not there, that is "". */
void kl__vet_unsupported(kl__vet *vet, const char *member, const char *text,
                         const char *const *names);
/* A whole number, if it is there at all. */
void kl__vet_range(kl__vet *vet, const kl__node *object, const char *member,
                   int64_t low, int64_t high);
void kl__vet_not_negative(kl__vet *vet, const kl__node *object,
                          const char *member);
/* A name of DNS, if it is there at all. */
void kl__vet_label(kl__vet *vet, const kl__node *object, const char *member);
void kl__vet_subdomain(kl__vet *vet, const kl__node *object,
                       const char *member);
/* A text that no other one in the map is; borrows it. */
void kl__vet_unique(kl__vet *vet, kl__map *map, const char *member,
                    const char *text);
/* A number or a name of a port. */
void kl__vet_port(kl__vet *vet, const kl__node *object, const char *member);
/* The keys and values of labels. */
void kl__vet_labels(kl__vet *vet, const kl__node *labels, const char *member);
/* A LabelSelector, if it is there at all. */
void kl__vet_selector(kl__vet *vet, const kl__node *object, const char *member);
/* The terms of a selector of nodes: expressions and fields. */
void kl__vet_node_terms(kl__vet *vet, const kl__node *selector,
                        const char *member);
/* Key, operator and values of one of its expressions, or of a node's. */
void kl__vet_expressions(kl__vet *vet, const kl__node *term,
                         const char *const *operators);
/* Whether a LabelSelector selects those labels. */
bool kl__vet_selects(const kl__node *selector, const kl__node *labels);
/* A number that is not negative, or a percentage; if it is there at all. */
void kl__vet_percent(kl__vet *vet, const kl__node *object, const char *member);

/* The same of a text, which may not be "" (NULL: that is what it is). */
void kl__vet_dns(kl__vet *vet, const char *member, const char *text);
/* The same of what is at hand, with underscores in it; and of a label. */
void kl__vet_dns_underscore(kl__vet *vet, const char *text);
void kl__vet_label_text(kl__vet *vet, const char *member, const char *text);
/* A name with a prefix or without, as keys of labels are; "" is none. */
void kl__vet_qualified(kl__vet *vet, const char *member, const char *name);
/* An address of IP; false: it is none. */
bool kl__vet_address(kl__vet *vet, const char *member, const char *text);
/* Goes through the elements of a list: `check` is called at each. */
void kl__vet_each(kl__vet *vet, const kl__node *object, const char *member,
                  void (*check)(kl__vet *vet, const kl__node *element));

/* --- Parts of objects. ---------------------------------------------------- */

/* A PodSpec, which is at hand; `claims` (may be NULL) are volumes too. */
void kl__vet_pod_spec(kl__vet *vet, const kl__node *spec,
                      const kl__node *claims);
/* The member `template` of what is at hand. */
void kl__vet_template(kl__vet *vet, const kl__node *template,
                      const kl__node *claims);
/* A spec of Jobs, which is at hand. */
void kl__vet_job_spec(kl__vet *vet, const kl__node *spec);
/* Of a PodSpec, which is at hand: where its pods may run. */
void kl__vet_affinity(kl__vet *vet, const kl__node *spec);
void kl__vet_spread(kl__vet *vet, const kl__node *spec);
void kl__vet_tolerations(kl__vet *vet, const kl__node *spec);
/* And how it uses its node: names, addresses, the node's own. */
void kl__vet_host(kl__vet *vet, const kl__node *spec);
void kl__vet_names_of_host(kl__vet *vet, const kl__node *spec);
void kl__vet_system(kl__vet *vet, const kl__node *spec);
void kl__vet_volumes(kl__vet *vet, const kl__node *volumes, kl__map *names);
/* One of the spec's lists of containers; `volumes` by name. */
void kl__vet_containers(kl__vet *vet, const kl__node *spec, const char *list,
                        const kl__map *volumes);
void kl__vet_probe(kl__vet *vet, const kl__node *probe, bool succeeds_once);
void kl__vet_handler(kl__vet *vet, const kl__node *handler);
/* Quantities: none negative, no request above its limit. */
void kl__vet_resources(kl__vet *vet, const kl__node *resources);

/* --- Objects. ------------------------------------------------------------- */

typedef void kl__vet_kind(kl__vet *vet, const kl__node *object);

kl__vet_kind kl__vet_pod, kl__vet_pod_template, kl__vet_deployment,
    kl__vet_replica_set, kl__vet_daemon_set, kl__vet_stateful_set, kl__vet_job,
    kl__vet_cron_job, kl__vet_service, kl__vet_config_map, kl__vet_secret,
    kl__vet_claim, kl__vet_ingress, kl__vet_lease, kl__vet_slice, kl__vet_event,
    kl__vet_role_binding, kl__vet_cluster_role_binding, kl__vet_role,
    kl__vet_cluster_role, kl__vet_budget, kl__vet_autoscaler,
    kl__vet_priority_class, kl__vet_quota, kl__vet_limit_range,
    kl__vet_network_policy, kl__vet_ingress_class, kl__vet_volume,
    kl__vet_storage_class, kl__vet_csi_driver, kl__vet_csi_node,
    kl__vet_attachment, kl__vet_attributes, kl__vet_capacity, kl__vet_endpoints,
    kl__vet_group_event;

kl__vet_kind kl__vet_runtime_class;

/* What a write of the status is held against. */
kl__vet_kind kl__vet_quota_status, kl__vet_deployment_status,
    kl__vet_replica_set_status, kl__vet_controller_status,
    kl__vet_stateful_set_status, kl__vet_daemon_set_status,
    kl__vet_budget_status, kl__vet_autoscaler_status, kl__vet_namespace_status,
    kl__vet_service_status;

/* Adds what is wrong with an object of that kind, or with its status alone. */
void kl__vet_status(const char *group, const char *plural,
                    const kl__node *object, kl__field_errors *errors);
void kl__vet_object(const char *group, const char *plural,
                    const kl__node *object, kl__field_errors *errors);

#endif
