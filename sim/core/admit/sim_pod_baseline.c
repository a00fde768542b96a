/*
 * sim_pod_baseline.c - checks of the baseline level (Pod Security Standards):
 * what a process may do in its container and outside of it.
 */
#include "sim/core/admit/sim_pod_check.h"

#include "base/str.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* True if a member of an object is true. */
static bool is_member_true(const kl__node *object, const char *name)
{
    return kl__node_bool(kl__node_get(object, name));
}

/* --- Capabilities. -------------------------------------------------------- */

bool kl__pod_adds(kl__pod_look *look, const kl__node *security,
                  const char *const *allowed, size_t count,
                  kl__pod_names *values)
{
    const kl__node *added =
        kl__node_get(kl__node_get(security, "capabilities"), "add");
    const kl__node *element;
    kl__node_iter iter = {0};
    bool bad = false;

    while ((element = kl__node_next(added, &iter, NULL, NULL)) != NULL) {
        const char *name = kl__node_string(element, NULL);

        if (name != NULL && !kl__stramong(allowed, count, name)) {
            kl__pod_name_add(look, values, name);
            bad = true;
        }
    }
    return bad;
}

static bool adds_more(kl__pod_look *look, const kl__node *security,
                      const kl__node *container, kl__pod_names *values)
{
    /* The capabilities that containers have by default. */
    static const char *const usual[] = {
        "AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE",     "FOWNER",  "FSETID",
        "KILL",        "MKNOD",  "NET_BIND_SERVICE", "SETFCAP", "SETGID",
        "SETPCAP",     "SETUID", "SYS_CHROOT"};

    (void)container;
    return kl__pod_adds(look, security, usual, COUNT(usual), values);
}

void kl__pod_check_added(kl__pod_look *look)
{
    kl__pod_culprits culprits;
    kl__buf detail = {0};

    if (kl__pod_find(look, adds_more, false, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_puts(&detail, " must not include ");
        kl__pod_names_put(&detail, &culprits.values);
        kl__buf_puts(&detail, " in securityContext.capabilities.add");
        kl__pod_forbid(look, "non-default capabilities", &detail);
    }
    kl__pod_culprits_free(&culprits);
}

/* --- Privileges of processes. --------------------------------------------- */

static bool is_privileged(kl__pod_look *look, const kl__node *security,
                          const kl__node *container, kl__pod_names *values)
{
    (void)look;
    (void)container;
    (void)values;
    return is_member_true(security, "privileged");
}

void kl__pod_check_privileged(kl__pod_look *look)
{
    kl__pod_culprits culprits;
    kl__buf detail = {0};

    if (kl__pod_find(look, is_privileged, false, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_puts(&detail, " must not set securityContext.privileged=true");
        kl__pod_forbid(look, "privileged", &detail);
    }
    kl__pod_culprits_free(&culprits);
}

static bool unmasks_proc(kl__pod_look *look, const kl__node *security,
                         const kl__node *container, kl__pod_names *values)
{
    const char *mount = kl__node_text(security, "procMount");

    (void)container;
    if (mount == NULL || strcmp(mount, "Default") == 0) {
        return false;
    }
    kl__pod_name_add(look, values, mount);
    return true;
}

void kl__pod_check_proc_always(kl__pod_look *look)
{
    kl__pod_culprits culprits;
    kl__buf detail = {0};

    if (kl__pod_find(look, unmasks_proc, false, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_puts(&detail, " must not set securityContext.procMount to ");
        kl__pod_names_put(&detail, &culprits.values);
        kl__pod_forbid(look, "procMount", &detail);
    }
    kl__pod_culprits_free(&culprits);
}

void kl__pod_check_proc(kl__pod_look *look)
{
    if (look->minor < 35 || !kl__pod_has_own_users(look)) {
        kl__pod_check_proc_always(look);
    }
}

static const char *const selinux_types[] = {
    "", "container_t", "container_init_t", "container_kvm_t",
    "container_engine_t" /* allowed since 1.31 */};

static bool is_set(const kl__node *object, const char *name)
{
    const char *text = kl__node_text(object, name);

    return text != NULL && *text != '\0';
}

static bool bad_selinux(kl__pod_look *look, const kl__node *security,
                        const kl__node *container, kl__pod_names *values)
{
    const kl__node *options = kl__node_get(security, "seLinuxOptions");
    const char *type = kl__node_text(options, "type");
    size_t count = COUNT(selinux_types) - (look->minor < 31);
    bool bad_type = type != NULL && !kl__stramong(selinux_types, count, type);

    (void)container;
    if (bad_type) {
        kl__pod_name_add(look, values, type);
    }
    return bad_type || is_set(options, "user") || is_set(options, "role");
}

/* True if the pod or a container sets that member of seLinuxOptions. */
static bool any_selinux(const kl__pod_look *look, const char *name)
{
    kl__pod_containers at = {0};
    const kl__node *container;
    bool found = is_set(kl__node_get(look->security, "seLinuxOptions"), name);

    while (!found && (container = kl__pod_next(look, &at)) != NULL) {
        found = is_set(kl__node_get(kl__node_get(container, "securityContext"),
                                    "seLinuxOptions"),
                       name);
    }
    return found;
}

void kl__pod_check_selinux(kl__pod_look *look)
{
    static const char *const others[] = {"user", "role"};
    kl__pod_culprits culprits;
    kl__buf detail = {0};
    const char *between = "";

    if (kl__pod_find(look, bad_selinux, true, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_puts(&detail,
                     " set forbidden securityContext.seLinuxOptions: ");
        if (culprits.values.count != 0) {
            kl__buf_printf(
                &detail, "%s ",
                kl__pod_plural(culprits.values.count, "type", "types"));
            kl__pod_names_put(&detail, &culprits.values);
            between = "; ";
        }
        for (size_t i = 0; i < COUNT(others); i++) {
            if (any_selinux(look, others[i])) {
                kl__buf_printf(&detail, "%s%s may not be set", between,
                               others[i]);
                between = "; ";
            }
        }
        kl__pod_forbid(look, "seLinuxOptions", &detail);
    }
    kl__pod_culprits_free(&culprits);
}

void kl__pod_check_sysctls(kl__pod_look *look)
{
    /* The sysctls that affect one pod only, and the version since which each is
     * allowed. */
    static const struct {
        const char *name;
        int since;
    } safe[] = {{"kernel.shm_rmid_forced", 0},
                {"net.ipv4.ip_local_port_range", 0},
                {"net.ipv4.tcp_syncookies", 0},
                {"net.ipv4.ping_group_range", 0},
                {"net.ipv4.ip_unprivileged_port_start", 0},
                {"net.ipv4.ip_local_reserved_ports", 27},
                {"net.ipv4.tcp_keepalive_time", 29},
                {"net.ipv4.tcp_fin_timeout", 29},
                {"net.ipv4.tcp_keepalive_intvl", 29},
                {"net.ipv4.tcp_keepalive_probes", 29},
                {"net.ipv4.tcp_rmem", 32},
                {"net.ipv4.tcp_wmem", 32}};
    const kl__node *sysctls = kl__node_get(look->security, "sysctls"), *sysctl;
    kl__node_iter iter = {0};
    kl__buf detail = {0};

    while ((sysctl = kl__node_next(sysctls, &iter, NULL, NULL)) != NULL) {
        const char *name = kl__node_text(sysctl, "name");
        bool is_safe = name == NULL;

        for (size_t i = 0; i < COUNT(safe) && !is_safe; i++) {
            is_safe =
                look->minor >= safe[i].since && strcmp(name, safe[i].name) == 0;
        }
        if (!is_safe) {
            kl__buf_printf(&detail, "%s%s", detail.length != 0 ? ", " : "",
                           name);
        }
    }
    kl__pod_forbid(look, "forbidden sysctls", &detail);
}

static bool is_host_process(kl__pod_look *look, const kl__node *security,
                            const kl__node *container, kl__pod_names *values)
{
    (void)look;
    (void)container;
    (void)values;
    return is_member_true(kl__node_get(security, "windowsOptions"),
                          "hostProcess");
}

void kl__pod_check_windows(kl__pod_look *look)
{
    kl__pod_culprits culprits;
    kl__buf detail = {0};

    if (kl__pod_find(look, is_host_process, true, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_puts(&detail, " must not set "
                              "securityContext.windowsOptions.hostProcess="
                              "true");
        kl__pod_forbid(look, "hostProcess", &detail);
    }
    kl__pod_culprits_free(&culprits);
}
