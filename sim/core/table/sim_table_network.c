/*
 * sim_table_network.c - cells of services, ingresses and endpoints. See
 * sim_table_row.h.
 */
#include "sim/core/table/sim_table_row.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LISTED = 3, ADDRESS_SIZE = 300 };

/* A list in a cell, which shows only the first MAX_LISTED elements. */
typedef struct listed {
    kl__buf text;
    size_t shown;
    size_t count;
} listed;

static void add_listed(listed *list, const char *text)
{
    if (list->shown < MAX_LISTED) {
        kl__sim_join(&list->text, ",", text);
        list->shown++;
    }
    list->count++;
}

static void write_listed(const kl__sim_row *row, listed *list)
{
    if (list->count > MAX_LISTED) {
        kl__buf_printf(&list->text, " + %zu more...", list->count - MAX_LISTED);
    } else if (list->count == 0) {
        kl__buf_puts(&list->text, "<none>");
    }
    kl__sim_cell_take(row, &list->text);
}

static void add_addresses(listed *list, const kl_value *addresses,
                          const kl_value *port)
{
    kl_value_iter iter = {0};
    const kl_value *address;

    while ((address = kl_value_next(addresses, &iter, NULL)) != NULL) {
        const char *ip = kl__sim_text_at(address, "ip", "");
        bool is_v6 = strchr(ip, ':') != NULL;
        char text[ADDRESS_SIZE];

        snprintf(text, sizeof(text), is_v6 && port != NULL ? "[%s]" : "%s", ip);
        if (port != NULL) {
            size_t length = strlen(text);

            snprintf(text + length, sizeof(text) - length, ":%lld",
                     (long long)kl_value_integer(kl_value_get(port, "port")));
        }
        add_listed(list, text);
    }
}

static void write_endpoints(const kl__sim_row *row)
{
    const kl_value *subsets = kl_value_get(row->root, "subsets");
    kl_value_iter iter = {0};
    const kl_value *subset;
    listed list = {.shown = 0};

    while ((subset = kl_value_next(subsets, &iter, NULL)) != NULL) {
        const kl_value *addresses = kl_value_get(subset, "addresses");
        const kl_value *ports = kl_value_get(subset, "ports");
        kl_value_iter each = {0};
        const kl_value *port;

        if (kl_value_size(ports) == 0) {
            add_addresses(&list, addresses, NULL);
        }
        while ((port = kl_value_next(ports, &each, NULL)) != NULL) {
            add_addresses(&list, addresses, port);
        }
    }
    if (list.count == 0 && kl_value_size(subsets) != 0) {
        kl__sim_cell_text(row, "");
    } else {
        write_listed(row, &list);
    }
}

/* Two cells: the ports and the endpoints of a slice. */
static void write_slice(const kl__sim_row *row)
{
    const kl_value *ports = kl_value_get(row->root, "ports");
    const kl_value *endpoints = kl_value_get(row->root, "endpoints");
    kl_value_iter iter = {0};
    const kl_value *one;
    listed list = {.shown = 0};

    while ((one = kl_value_next(ports, &iter, NULL)) != NULL) {
        char room[KL__SIM_SCALAR_SIZE];
        const char *text = kl__sim_scalar(kl_value_get(one, "port"), room);

        add_listed(&list,
                   *text != '\0' ? text : kl__sim_text_at(one, "name", "*"));
    }
    write_listed(row, &list);
    list = (listed){.shown = 0};
    iter = (kl_value_iter){0};
    while ((one = kl_value_next(endpoints, &iter, NULL)) != NULL) {
        const kl_value *addresses = kl_value_get(one, "addresses");

        for (size_t i = 0; i < kl_value_size(addresses); i++) {
            add_listed(&list, kl_value_string(kl_value_at(addresses, i), NULL));
        }
    }
    write_listed(row, &list);
}

static void write_cluster_ip(const kl__sim_row *row)
{
    const kl_value *ips = kl__sim_at(row->root, "spec.clusterIPs");
    const char *ip = kl_value_string(kl_value_at(ips, 0), NULL);

    kl__sim_cell_text(row, ip != NULL ? ip : "<none>");
}

static void join_strings(kl__buf *out, const kl_value *array)
{
    for (size_t i = 0; i < kl_value_size(array); i++) {
        const char *text = kl_value_string(kl_value_at(array, i), NULL);

        kl__sim_join(out, ",", text != NULL ? text : "");
    }
}

/* Appends the addresses in status.loadBalancer. */
static void join_balancer(kl__buf *out, const kl__sim_row *row)
{
    const kl_value *ingress =
        kl__sim_at(row->root, "status.loadBalancer.ingress");
    kl_value_iter iter = {0};
    const kl_value *one;

    while ((one = kl_value_next(ingress, &iter, NULL)) != NULL) {
        const char *ip = kl__sim_text_at(one, "ip", "");

        kl__sim_join(out, ",",
                     *ip != '\0' ? ip : kl__sim_text_at(one, "hostname", ""));
    }
}

static void write_external_ip(const kl__sim_row *row)
{
    const char *type = kl__sim_text_at(row->root, "spec.type", "");
    const char *otherwise = "<none>";
    kl__buf text = {0};

    if (strcmp(type, "ExternalName") == 0) {
        kl__sim_cell_text(row,
                          kl__sim_text_at(row->root, "spec.externalName", ""));
        return;
    }
    if (strcmp(type, "LoadBalancer") == 0) {
        join_balancer(&text, row);
        otherwise = "<pending>";
    } else if (*type == '\0') {
        otherwise = "<unknown>";
    }
    join_strings(&text, kl__sim_at(row->root, "spec.externalIPs"));
    if (text.length == 0) {
        kl__buf_puts(&text, otherwise);
    }
    kl__sim_cell_take(row, &text);
}

static void write_ports(const kl__sim_row *row)
{
    const kl_value *ports = kl__sim_at(row->root, "spec.ports");
    kl_value_iter iter = {0};
    const kl_value *port;
    kl__buf text = {0};

    while ((port = kl_value_next(ports, &iter, NULL)) != NULL) {
        long long node = kl_value_integer(kl_value_get(port, "nodePort"));

        kl__buf_puts(&text, text.length != 0 ? "," : "");
        kl__buf_printf(&text, "%lld",
                       (long long)kl_value_integer(kl_value_get(port, "port")));
        if (node > 0) {
            kl__buf_printf(&text, ":%lld", node);
        }
        kl__buf_printf(&text, "/%s", kl__sim_text_at(port, "protocol", ""));
    }
    if (text.length == 0) {
        kl__buf_puts(&text, "<none>");
    }
    kl__sim_cell_take(row, &text);
}

static void write_hosts(const kl__sim_row *row)
{
    const kl_value *rules = kl__sim_at(row->root, "spec.rules");
    kl_value_iter iter = {0};
    const kl_value *rule;
    kl__buf text = {0};
    size_t shown = 0;
    bool more = false;

    while ((rule = kl_value_next(rules, &iter, NULL)) != NULL) {
        const char *host = kl__sim_text_at(rule, "host", "");

        more = more || shown == MAX_LISTED;
        if (!more && *host != '\0') {
            kl__sim_join(&text, ",", host);
            shown++;
        }
    }
    if (more) {
        kl__buf_printf(&text, " + %zu more...",
                       kl_value_size(rules) - MAX_LISTED);
    } else if (shown == 0) {
        kl__buf_putc(&text, '*');
    }
    kl__sim_cell_take(row, &text);
}

static void write_address(const kl__sim_row *row)
{
    kl__buf text = {0};

    join_balancer(&text, row);
    kl__sim_cell_take(row, &text);
}

static void write_ingress_ports(const kl__sim_row *row)
{
    bool is_secure = kl_value_size(kl__sim_at(row->root, "spec.tls")) != 0;

    kl__sim_cell_text(row, is_secure ? "80, 443" : "80");
}

static void write_ingress_parameters(const kl__sim_row *row)
{
    const kl_value *ref = kl__sim_at(row->root, "spec.parameters");
    const char *group = kl__sim_text_at(ref, "apiGroup", NULL);

    if (ref == NULL) {
        kl__sim_cell_text(row, "<none>");
        return;
    }
    kl__sim_cell_printf(row, "%s%s%s/%s", kl__sim_text_at(ref, "kind", ""),
                        group != NULL ? "." : "", group != NULL ? group : "",
                        kl__sim_text_at(ref, "name", ""));
}

const kl__sim_special kl__sim_specials_network[] = {
    {"endpoints", write_endpoints},
    {"slice", write_slice},
    {"cluster_ip", write_cluster_ip},
    {"external_ip", write_external_ip},
    {"ports", write_ports},
    {"hosts", write_hosts},
    {"address", write_address},
    {"ingress_ports", write_ingress_ports},
    {"ingress_parameters", write_ingress_parameters},
    {NULL, NULL}};
