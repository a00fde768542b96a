/*
 * sim_vet_resources.c - what containers may ask for.
 */
#include "sim/vet/sim_vet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The amount of a quantity, about: to tell which of two is more. */
static double amount(const char *text)
{
    static const struct {
        const char *suffix;
        double factor;
    } suffixes[] = {{"n", 1e-9},
                    {"u", 1e-6},
                    {"m", 1e-3},
                    {"k", 1e3},
                    {"M", 1e6},
                    {"G", 1e9},
                    {"T", 1e12},
                    {"P", 1e15},
                    {"E", 1e18},
                    {"Ki", 1024.0},
                    {"Mi", 1048576.0},
                    {"Gi", 1073741824.0},
                    {"Ti", 1099511627776.0},
                    {"Pi", 1125899906842624.0},
                    {"Ei", 1152921504606846976.0}};
    char *end = NULL;
    double number = strtod(text, &end);

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcmp(end, suffixes[i].suffix) == 0) {
            return number * suffixes[i].factor;
        }
    }
    return number;
}

static bool is_standard(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
           strcmp(name, "ephemeral-storage") == 0 ||
           strncmp(name, "hugepages-", 10) == 0;
}

static void check_amount(kl__vet *vet, const char *name, const char *text)
{
    size_t mark = kl__vet_key(vet, name);

    if (strchr(name, '/') == NULL && !is_standard(name)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource type or fully qualified");
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource for containers");
    }
    if (amount(text) < 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, text,
                      "must be greater than or equal to 0");
    }
    kl__vet_back(vet, mark);
}

/* A request is at most its limit; what is no resource of every node, cannot be
 * shared either. */
static void check_limit(kl__vet *vet, const char *name, const char *request,
                        const char *limit)
{
    bool shared = is_standard(name) && strncmp(name, "hugepages-", 10) != 0;
    char why[300];

    if (limit == NULL) {
        return;
    }
    if (shared ? amount(request) > amount(limit)
               : strcmp(request, limit) != 0) {
        snprintf(why, sizeof(why), "must be %s %.100s limit of %.60s",
                 shared ? "less than or equal to" : "equal to", name, limit);
        kl__vet_fault(vet, KL__FIELD_INVALID, "requests", request, why);
    }
}

void kl__vet_resources(kl__vet *vet, const kl__node *resources)
{
    static const char *const lists[] = {"limits", "requests"};
    const kl__node *limits = kl__node_get(resources, "limits");

    for (size_t i = 0; i < 2; i++) {
        const kl__node *list = kl__node_get(resources, lists[i]), *value;
        kl__node_iter iter = {0};
        const char *name;

        while ((value = kl__node_next(list, &iter, &name, NULL)) != NULL) {
            const char *text = kl__node_string(value, NULL);
            size_t mark = kl__vet_into(vet, lists[i]);

            check_amount(vet, name, text != NULL ? text : "");
            kl__vet_back(vet, mark);
            if (i == 1 && text != NULL) {
                check_limit(vet, name, text, kl__node_text(limits, name));
            }
        }
    }
}
