/*
 * sim_pod_restricted.c - checks of the restricted level: a pod must explicitly
 * give up privileges that it would have by default.
 */
#include "sim/core/admit/sim_pod_check.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* True for a pod of Windows (spec.os, since 1.25): the checks that call this do
 * not apply to such a pod. */
static bool is_windows(const kl__pod_look *look)
{
    const char *name = kl__node_text(kl__node_get(look->spec, "os"), "name");

    return look->minor >= 25 && name != NULL && strcmp(name, "windows") == 0;
}

/* A bool member: 1 or 0; -1: not set. */
static int read_bool(const kl__node *object, const char *name)
{
    const kl__node *value = kl__node_get(object, name);

    return kl__node_is(value, KL_BOOL) ? kl__node_bool(value) : -1;
}

static bool may_escalate(kl__pod_look *look, const kl__node *security,
                         const kl__node *container, kl__pod_names *values)
{
    (void)look;
    (void)container;
    (void)values;
    return read_bool(security, "allowPrivilegeEscalation") != 0;
}

void kl__pod_check_escalation(kl__pod_look *look)
{
    kl__pod_culprits culprits = {0};
    kl__buf detail = {0};

    if (!is_windows(look) &&
        kl__pod_find(look, may_escalate, false, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_puts(&detail, " must set securityContext."
                              "allowPrivilegeEscalation=false");
        kl__pod_forbid(look, "allowPrivilegeEscalation != false", &detail);
    }
    kl__pod_culprits_free(&culprits);
}

/* --- Capabilities. -------------------------------------------------------- */

static bool keeps_some(kl__pod_look *look, const kl__node *security,
                       const kl__node *container, kl__pod_names *values)
{
    const kl__node *capabilities = kl__node_get(security, "capabilities");

    (void)look;
    (void)container;
    (void)values;
    return !kl__node_holds(kl__node_get(capabilities, "drop"), "ALL");
}

static bool adds_any(kl__pod_look *look, const kl__node *security,
                     const kl__node *container, kl__pod_names *values)
{
    static const char *const allowed[] = {"NET_BIND_SERVICE"};

    (void)container;
    return kl__pod_adds(look, security, allowed, COUNT(allowed), values);
}

void kl__pod_check_dropped(kl__pod_look *look)
{
    kl__pod_culprits keeping = {0}, adding = {0};
    kl__buf detail = {0};

    if (is_windows(look)) {
        return;
    }
    if (kl__pod_find(look, keeps_some, false, &keeping)) {
        kl__pod_culprits_put(&detail, &keeping);
        kl__buf_puts(&detail,
                     " must set securityContext.capabilities.drop=[\"ALL\"]");
    }
    if (kl__pod_find(look, adds_any, false, &adding)) {
        kl__buf_puts(&detail, detail.length != 0 ? "; " : "");
        kl__pod_culprits_put(&detail, &adding);
        kl__buf_puts(&detail, " must not include ");
        kl__pod_names_put(&detail, &adding.values);
        kl__buf_puts(&detail, " in securityContext.capabilities.add");
    }
    kl__pod_forbid(look, "unrestricted capabilities", &detail);
    kl__pod_culprits_free(&keeping);
    kl__pod_culprits_free(&adding);
}

/* --- Volumes. ------------------------------------------------------------- */

/* The type of a volume if this type is not allowed; else NULL. */
static const char *bad_source(const kl__node *volume)
{
    static const char *const allowed[] = {
        "configMap", "csi",   "downwardAPI",           "emptyDir",
        "ephemeral", "image", "persistentVolumeClaim", "projected",
        "secret"};
    static const char *const others[] = {"hostPath",
                                         "gcePersistentDisk",
                                         "awsElasticBlockStore",
                                         "gitRepo",
                                         "nfs",
                                         "iscsi",
                                         "glusterfs",
                                         "rbd",
                                         "flexVolume",
                                         "cinder",
                                         "cephfs",
                                         "flocker",
                                         "fc",
                                         "azureFile",
                                         "vsphereVolume",
                                         "quobyte",
                                         "azureDisk",
                                         "photonPersistentDisk",
                                         "portworxVolume",
                                         "scaleIO",
                                         "storageos"};

    for (size_t i = 0; i < COUNT(allowed); i++) {
        if (kl__node_is(kl__node_get(volume, allowed[i]), KL_OBJECT)) {
            return NULL;
        }
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        if (kl__node_is(kl__node_get(volume, others[i]), KL_OBJECT)) {
            return others[i];
        }
    }
    return "unknown";
}

void kl__pod_check_volumes(kl__pod_look *look)
{
    const kl__node *volumes = kl__node_get(look->spec, "volumes"), *volume;
    kl__node_iter iter = {0};
    kl__pod_names names = {0}, types = {0};
    kl__buf detail = {0};

    while ((volume = kl__node_next(volumes, &iter, NULL, NULL)) != NULL) {
        const char *source = bad_source(volume);

        if (source != NULL) {
            kl__pod_name_add(look, &names, kl__node_text(volume, "name"));
            kl__pod_name_add(look, &types, source);
        }
    }
    kl__pod_names_sort(&types);
    if (names.count != 0) {
        kl__buf_printf(&detail, "%s ",
                       kl__pod_plural(names.count, "volume", "volumes"));
        kl__pod_names_put(&detail, &names);
        kl__buf_printf(&detail, " %s %s ",
                       kl__pod_plural(names.count, "uses", "use"),
                       kl__pod_plural(types.count, "restricted volume type",
                                      "restricted volume types"));
        kl__pod_names_put(&detail, &types);
        kl__pod_forbid(look, "restricted volume types", &detail);
    }
    kl__pod_names_free(&names);
    kl__pod_names_free(&types);
}

/* --- Users. --------------------------------------------------------------- */

/* Notes a member that is set neither in the containers nor in the pod. */
static void forbid_unsaid(kl__pod_look *look, const char *reason,
                          const kl__pod_culprits *culprits, const char *must)
{
    kl__buf detail = {0};

    kl__buf_puts(&detail, "pod or ");
    kl__pod_culprits_put(&detail, culprits);
    kl__buf_printf(&detail, " must set securityContext.%s", must);
    kl__pod_forbid(look, reason, &detail);
}

static bool wants_root(kl__pod_look *look, const kl__node *security,
                       const kl__node *container, kl__pod_names *values)
{
    (void)look;
    (void)container;
    (void)values;
    return read_bool(security, "runAsNonRoot") == 0;
}

static bool may_be_root(kl__pod_look *look, const kl__node *security,
                        const kl__node *container, kl__pod_names *values)
{
    (void)container;
    (void)values;
    return read_bool(security, "runAsNonRoot") < 0 &&
           read_bool(look->security, "runAsNonRoot") != 1;
}

void kl__pod_check_root(kl__pod_look *look)
{
    static const char reason[] = "runAsNonRoot != true";
    kl__pod_culprits wanting = {0}, silent = {0};
    kl__buf detail = {0};

    if (look->minor >= 35 && kl__pod_has_own_users(look)) {
        return;
    }
    if (kl__pod_find(look, wants_root, true, &wanting)) {
        kl__pod_culprits_put(&detail, &wanting);
        kl__buf_puts(&detail,
                     " must not set securityContext.runAsNonRoot=false");
        kl__pod_forbid(look, reason, &detail);
    } else if (kl__pod_find(look, may_be_root, false, &silent)) {
        forbid_unsaid(look, reason, &silent, "runAsNonRoot=true");
    }
    kl__pod_culprits_free(&wanting);
    kl__pod_culprits_free(&silent);
}

static bool is_root(kl__pod_look *look, const kl__node *security,
                    const kl__node *container, kl__pod_names *values)
{
    const kl__node *user = kl__node_get(security, "runAsUser");

    (void)look;
    (void)container;
    (void)values;
    return kl__node_is(user, KL_INTEGER) && kl__node_integer(user) == 0;
}

void kl__pod_check_user(kl__pod_look *look)
{
    kl__pod_culprits culprits = {0};
    kl__buf detail = {0};

    if (look->minor >= 35 && kl__pod_has_own_users(look)) {
        return;
    }
    if (kl__pod_find(look, is_root, true, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_puts(&detail, " must not set runAsUser=0");
        kl__pod_forbid(look, "runAsUser=0", &detail);
    }
    kl__pod_culprits_free(&culprits);
}

/* --- Seccomp. ------------------------------------------------------------- */

static bool has_profile(const kl__node *security)
{
    return kl__node_is(kl__node_get(security, "seccompProfile"), KL_OBJECT);
}

static bool has_no_seccomp(kl__pod_look *look, const kl__node *security,
                           const kl__node *container, kl__pod_names *values)
{
    (void)container;
    (void)values;
    return !has_profile(security) && !has_profile(look->security);
}

void kl__pod_check_seccomp_set(kl__pod_look *look)
{
    kl__pod_culprits bad = {0}, silent = {0};

    if (is_windows(look)) {
        return;
    }
    if (kl__pod_find(look, kl__pod_bad_seccomp, true, &bad)) {
        kl__pod_forbid_seccomp(look, &bad);
    } else if (kl__pod_find(look, has_no_seccomp, false, &silent)) {
        forbid_unsaid(look, "seccompProfile", &silent,
                      "seccompProfile.type to \"RuntimeDefault\" or "
                      "\"Localhost\"");
    }
    kl__pod_culprits_free(&bad);
    kl__pod_culprits_free(&silent);
}
