/*
 * sim_vet_host.c - see sim_vet.h: validates a pod's security settings, its use
 * of the node's namespaces, its DNS settings and its operating system.
 */
#include "sim/core/vet/sim_vet.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- Security. ------------------------------------------------------------ */

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* True if a name consists of words of lower-case letters, digits, '-' and '_',
 * separated by dots or slashes. */
static bool is_sysctl(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++) {
        bool is_edge = i == 0 || i + 1 == length ||
                       strchr("./", name[i - 1]) != NULL ||
                       strchr("./", name[i + 1]) != NULL;

        if (!is_alphanumeric(name[i]) &&
            (strchr(is_edge ? "" : "-_./", name[i]) == NULL)) {
            return false;
        }
    }
    return length > 0 && length <= 253;
}

static void check_sysctl(kl__vet *vet, const kl__node *sysctl)
{
    const char *name = kl__vet_text(sysctl, "name");

    if (kl__vet_required(vet, sysctl, "name") && !is_sysctl(name)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "name", name,
                      "must have at most 253 characters and match regex "
                      "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0"
                      "-9]*[a-z0-9])?$");
    }
}

static void check_groups(kl__vet *vet, const kl__node *security)
{
    const kl__node *list = kl__node_get(security, "supplementalGroups"), *group;
    size_t outer = kl__vet_into(vet, "supplementalGroups"), index = 0;
    kl__node_iter iter = {0};

    while ((group = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);
        int64_t number = kl__node_integer(group);

        if (number < 0 || number > INT32_MAX) {
            kl__vet_value(vet, KL__FIELD_INVALID, NULL, group,
                          "must be between 0 and 2147483647, inclusive");
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

static void check_users(kl__vet *vet, const kl__node *spec)
{
    static const char *const shared[] = {"hostNetwork", "hostPID", "hostIPC"};
    const kl__node *users = kl__node_get(spec, "hostUsers");

    for (size_t i = 0; i < 3; i++) {
        if (users != NULL && !kl__node_bool(users) &&
            kl__node_bool(kl__node_get(spec, shared[i]))) {
            kl__vet_fault(vet, KL__FIELD_FORBIDDEN, shared[i], NULL,
                          "when `hostUsers` is false");
        }
    }
}

void kl__vet_host(kl__vet *vet, const kl__node *spec)
{
    static const char *const policies[] = {"Always", "OnRootMismatch", NULL};
    const kl__node *security = kl__node_get(spec, "securityContext");
    const kl__node *share = kl__node_get(spec, "shareProcessNamespace");
    size_t mark = kl__vet_into(vet, "securityContext");

    kl__vet_range(vet, security, "fsGroup", 0, INT32_MAX);
    kl__vet_range(vet, security, "runAsUser", 0, INT32_MAX);
    kl__vet_range(vet, security, "runAsGroup", 0, INT32_MAX);
    check_groups(vet, security);
    if (kl__node_bool(share) && kl__node_bool(kl__node_get(spec, "hostPID"))) {
        kl__vet_value(vet, KL__FIELD_INVALID, "shareProcessNamespace", share,
                      "ShareProcessNamespace and HostPID cannot both be "
                      "enabled");
    }
    kl__vet_each(vet, security, "sysctls", check_sysctl);
    kl__vet_enum(vet, security, "fsGroupChangePolicy", policies);
    kl__vet_back(vet, mark);
}

/* --- Names. --------------------------------------------------------------- */

static void check_server(kl__vet *vet, const kl__node *server)
{
    const char *text = kl__node_string(server, NULL);

    kl__vet_address(vet, NULL, text != NULL ? text : "");
}

static void check_search(kl__vet *vet, const kl__node *search)
{
    const char *text = kl__node_string(search, NULL);
    char name[600];
    size_t length;

    snprintf(name, sizeof(name), "%s", text != NULL ? text : "");
    if (strcmp(name, ".") == 0) {
        return;
    }
    length = strlen(name);
    if (length > 0 && name[length - 1] == '.') {
        name[length - 1] = '\0';
    }
    kl__vet_dns_underscore(vet, name);
}

static void check_option(kl__vet *vet, const kl__node *option)
{
    if (*kl__vet_text(option, "name") == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL, "must not be empty");
    }
}

static void check_dns(kl__vet *vet, const kl__node *spec)
{
    const kl__node *dns = kl__node_get(spec, "dnsConfig");
    const kl__node *servers = kl__node_get(dns, "nameservers");
    bool is_alone = strcmp(kl__vet_text(spec, "dnsPolicy"), "None") == 0;

    if (is_alone && dns == NULL) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must provide `dnsConfig` when `dnsPolicy` is None");
        return;
    }
    if (is_alone && kl__node_size(servers) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "nameservers", NULL,
                      "must provide at least one DNS nameserver when "
                      "`dnsPolicy` is None");
        return;
    }
    if (kl__node_size(servers) > 3) {
        kl__vet_value(vet, KL__FIELD_INVALID, "nameservers", servers,
                      "must not have more than 3 nameservers");
    }
    kl__vet_each(vet, dns, "nameservers", check_server);
    if (kl__node_size(kl__node_get(dns, "searches")) > 32) {
        kl__vet_value(vet, KL__FIELD_INVALID, "searches",
                      kl__node_get(dns, "searches"),
                      "must not have more than 32 search paths");
    }
    kl__vet_each(vet, dns, "searches", check_search);
    kl__vet_each(vet, dns, "options", check_option);
}

static void check_proc(kl__vet *vet, const kl__node *container)
{
    const char *mount =
        kl__vet_text(kl__node_get(container, "securityContext"), "procMount");

    if (strcmp(mount, "Unmasked") == 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "securityContext.procMount",
                      mount, "`hostUsers` must be false to use `Unmasked`");
    }
}

/* Unmasked /proc needs a user namespace (hostUsers: false). */
static void check_procs(kl__vet *vet, const kl__node *spec)
{
    const kl__node *host_users = kl__node_get(spec, "hostUsers");

    if (!kl__node_is(host_users, KL_BOOL) || kl__node_bool(host_users)) {
        kl__vet_each(vet, spec, "initContainers", check_proc);
        kl__vet_each(vet, spec, "containers", check_proc);
    }
}

static void check_gate(kl__vet *vet, const kl__node *gate)
{
    kl__vet_qualified(vet, "conditionType",
                      kl__vet_text(gate, "conditionType"));
}

void kl__vet_names_of_host(kl__vet *vet, const kl__node *spec)
{
    size_t mark = kl__vet_into(vet, "dnsConfig");

    check_dns(vet, spec);
    kl__vet_back(vet, mark);
    kl__vet_each(vet, spec, "readinessGates", check_gate);
    check_users(vet, spec);
    check_procs(vet, spec);
}

/* --- Operating systems. --------------------------------------------------- */

/* Checks os.name. A pod for Linux must not have options of Windows; the reverse
 * is not checked. */
void kl__vet_system(kl__vet *vet, const kl__node *spec)
{
    static const char *const systems[] = {"linux", "windows", NULL};
    const kl__node *os = kl__node_get(spec, "os");
    const char *name = kl__vet_text(os, "name");

    if (os == NULL) {
        return;
    }
    if (*name == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "os.name", NULL, "");
        return;
    }
    kl__vet_unsupported(vet, "os", name, systems);
    if (strcmp(name, "linux") == 0 &&
        kl__node_get(kl__node_get(spec, "securityContext"), "windowsOptions") !=
            NULL) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN,
                      "securityContext.windowsOptions", NULL,
                      "windows options cannot be set for a linux pod");
    }
}
