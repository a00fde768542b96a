/*
 * sim_table_cluster.c - cells of kinds that make up the cluster: nodes,
 * volumes, roles, admission and others. See sim_table_row.h.
 */
#include "sim/core/table/sim_table_row.h"

#include <string.h>

static bool is_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const kl_value *find_table_condition(const kl__sim_row *row,
                                            const char *type)
{
    return kl__sim_with(kl__sim_at(row->root, "status.conditions"), "type",
                        type);
}

static void write_node_status(const kl__sim_row *row)
{
    const kl_value *ready = find_table_condition(row, "Ready");
    bool is_ready = is_equal(kl__sim_text_at(ready, "status", ""), "True");
    bool is_closed = kl_value_bool(kl__sim_at(row->root, "spec.unschedulable"));

    kl__sim_cell_printf(row, "%s%s",
                        ready == NULL ? "Unknown"
                        : is_ready    ? "Ready"
                                      : "NotReady",
                        is_closed ? ",SchedulingDisabled" : "");
}

static void write_node_roles(const kl__sim_row *row)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    const kl_value *labels = kl__sim_at(row->root, "metadata.labels");
    kl_value_iter iter = {0};
    const kl_value *key, *value;
    kl__buf text = {0};

    while ((value = kl_value_next(labels, &iter, &key)) != NULL) {
        const char *name = kl_value_string(key, NULL);
        const char *role = kl_value_string(value, NULL);

        if (strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
            role = name + sizeof(prefix) - 1;
        } else if (!is_equal(name, "kubernetes.io/role")) {
            continue;
        }
        if (role != NULL && *role != '\0') {
            kl__sim_join(&text, ",", role);
        }
    }
    if (text.length == 0) {
        kl__buf_puts(&text, "<none>");
    }
    kl__sim_cell_take(row, &text);
}

static void write_node_address(const kl__sim_row *row, const char *type)
{
    const kl_value *address =
        kl__sim_with(kl__sim_at(row->root, "status.addresses"), "type", type);

    kl__sim_cell_text(row, kl__sim_text_at(address, "address", "<none>"));
}

static const char *or_unknown(const kl_value *value, const char *member)
{
    const char *text = kl__sim_text_at(value, member, "");

    return *text != '\0' ? text : "<unknown>";
}

static void write_node_system(const kl__sim_row *row)
{
    const kl_value *node = kl__sim_at(row->root, "status.nodeInfo");
    const char *architecture = kl__sim_text_at(node, "architecture", "");
    bool is_known = *architecture != '\0';

    write_node_address(row, "InternalIP");
    write_node_address(row, "ExternalIP");
    kl__sim_cell_text(row, or_unknown(node, "osImage"));
    kl__sim_cell_printf(row, "%s%s%s%s", or_unknown(node, "kernelVersion"),
                        is_known ? " (" : "", architecture,
                        is_known ? ")" : "");
    kl__sim_cell_text(row, or_unknown(node, "containerRuntimeVersion"));
}

static void write_phase(const kl__sim_row *row)
{
    bool is_deleted =
        kl__sim_at(row->root, "metadata.deletionTimestamp") != NULL;

    kl__sim_cell_text(
        row, is_deleted ? "Terminating"
                        : kl__sim_text_at(row->root, "status.phase", ""));
}

static void join_modes(kl__buf *out, const kl_value *modes)
{
    static const char *const names[][2] = {{"ReadWriteOnce", "RWO"},
                                           {"ReadOnlyMany", "ROX"},
                                           {"ReadWriteMany", "RWX"},
                                           {"ReadWriteOncePod", "RWOP"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t j = 0; j < kl_value_size(modes); j++) {
            if (is_equal(kl_value_string(kl_value_at(modes, j), NULL),
                         names[i][0])) {
                kl__sim_join(out, ",", names[i][1]);
                break;
            }
        }
    }
}

static void write_access_modes(const kl__sim_row *row)
{
    kl__buf text = {0};

    join_modes(&text, kl__sim_at(row->root, "spec.accessModes"));
    kl__sim_cell_take(row, &text);
}

/* Two cells: capacity and access modes of a claim; empty if it has no
 * volume. */
static void write_claim(const kl__sim_row *row)
{
    bool is_bound = *kl__sim_text_at(row->root, "spec.volumeName", "") != '\0';
    kl__buf text = {0};

    if (!is_bound) {
        kl__sim_cell_text(row, "");
        kl__sim_cell_text(row, "");
        return;
    }
    kl__sim_cell_text(
        row, kl__sim_text_at(row->root, "status.capacity.storage", "0"));
    join_modes(&text, kl__sim_at(row->root, "status.accessModes"));
    kl__sim_cell_take(row, &text);
}

static const kl_value *find_annotation(const kl__sim_row *row, const char *name)
{
    return kl_value_get(kl__sim_at(row->root, "metadata.annotations"), name);
}

static void write_storage_class(const kl__sim_row *row)
{
    const char *old = kl_value_string(
        find_annotation(row, "volume.beta.kubernetes.io/storage-class"), NULL);

    kl__sim_cell_text(
        row, old != NULL
                 ? old
                 : kl__sim_text_at(row->root, "spec.storageClassName", ""));
}

static void write_claim_ref(const kl__sim_row *row)
{
    const kl_value *ref = kl__sim_at(row->root, "spec.claimRef");

    if (ref == NULL) {
        kl__sim_cell_text(row, "");
    } else {
        kl__sim_cell_printf(row, "%s/%s", kl__sim_text_at(ref, "namespace", ""),
                            kl__sim_text_at(ref, "name", ""));
    }
}

static void write_default_name(const kl__sim_row *row)
{
    static const char *const marks[] = {
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
        "ingressclass.kubernetes.io/is-default-class"};
    bool is_default = false;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark =
            kl_value_string(find_annotation(row, marks[i]), NULL);

        is_default = is_default || (mark != NULL && is_equal(mark, "true"));
    }
    kl__sim_cell_printf(row, "%s%s",
                        kl__sim_text_at(row->root, "metadata.name", ""),
                        is_default ? " (default)" : "");
}

static void write_role_ref(const kl__sim_row *row)
{
    kl__sim_cell_printf(row, "%s/%s",
                        kl__sim_text_at(row->root, "roleRef.kind", ""),
                        kl__sim_text_at(row->root, "roleRef.name", ""));
}

static void write_subjects_of(const kl__sim_row *row, const char *kind)
{
    const kl_value *subjects = kl_value_get(row->root, "subjects");
    bool is_account = is_equal(kind, "ServiceAccount");
    kl_value_iter iter = {0};
    const kl_value *subject;
    kl__buf text = {0};

    while ((subject = kl_value_next(subjects, &iter, NULL)) != NULL) {
        if (!is_equal(kl__sim_text_at(subject, "kind", ""), kind)) {
            continue;
        }
        kl__sim_join(&text, ", ",
                     is_account ? kl__sim_text_at(subject, "namespace", "")
                                : "");
        kl__buf_printf(&text, "%s%s", is_account ? "/" : "",
                       kl__sim_text_at(subject, "name", ""));
    }
    kl__sim_cell_take(row, &text);
}

static void write_subjects(const kl__sim_row *row)
{
    write_subjects_of(row, "User");
    write_subjects_of(row, "Group");
    write_subjects_of(row, "ServiceAccount");
}

/* Two cells: the Service that serves an aggregated API, and if it is
 * available. */
static void write_api_service(const kl__sim_row *row)
{
    const kl_value *service = kl__sim_at(row->root, "spec.service");
    const kl_value *available = find_table_condition(row, "Available");
    const char *state = kl__sim_text_at(available, "status", "Unknown");
    const char *reason = kl__sim_text_at(available, "reason", "");

    if (service == NULL) {
        kl__sim_cell_text(row, "Local");
    } else {
        kl__sim_cell_printf(row, "%s/%s",
                            kl__sim_text_at(service, "namespace", ""),
                            kl__sim_text_at(service, "name", ""));
    }
    if (is_equal(state, "True") || *reason == '\0') {
        kl__sim_cell_text(row, state);
    } else {
        kl__sim_cell_printf(row, "%s (%s)", state, reason);
    }
}

/* Two cells: the requested duration of a certificate, and the state of the
 * request. */
static void write_csr(const kl__sim_row *row)
{
    const kl_value *seconds = kl__sim_at(row->root, "spec.expirationSeconds");
    bool is_failed = find_table_condition(row, "Failed") != NULL;
    bool is_issued = *kl__sim_text_at(row->root, "status.certificate", "") != 0;
    char age[KL__SIM_AGE_SIZE];

    kl__sim_cell_text(
        row, seconds != NULL
                 ? kl__sim_duration(kl_value_integer(seconds) * 1000, age)
                 : "<none>");
    kl__sim_cell_printf(row, "%s%s%s",
                        find_table_condition(row, "Denied") != NULL ? "Denied"
                        : find_table_condition(row, "Approved") != NULL
                            ? "Approved"
                            : "Pending",
                        is_failed ? ",Failed" : "", is_issued ? ",Issued" : "");
}

const kl__sim_special kl__sim_specials_cluster[] = {
    {"node_status", write_node_status},
    {"node_roles", write_node_roles},
    {"node_system", write_node_system},
    {"phase", write_phase},
    {"access_modes", write_access_modes},
    {"claim", write_claim},
    {"storage_class", write_storage_class},
    {"claim_ref", write_claim_ref},
    {"default_name", write_default_name},
    {"role_ref", write_role_ref},
    {"subjects", write_subjects},
    {"api_service", write_api_service},
    {"csr", write_csr},
    {NULL, NULL}};
