/*
 * sim_vet.c - see sim_vet.h: the checks that many kinds share.
 */
#include "sim/core/vet/sim_vet.h"

#include "base/mem.h"
#include "sim/core/schema/names.h"
#include "sim/core/answer/sim_labels.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The path. ------------------------------------------------------------ */

size_t kl__vet_into(kl__vet *vet, const char *member)
{
    size_t mark = vet->path.length;

    if (mark != 0) {
        kl__buf_putc(&vet->path, '.');
    }
    kl__buf_puts(&vet->path, member);
    return mark;
}

size_t kl__vet_at(kl__vet *vet, size_t index)
{
    size_t mark = vet->path.length;

    kl__buf_printf(&vet->path, "[%zu]", index);
    return mark;
}

size_t kl__vet_key(kl__vet *vet, const char *key)
{
    size_t mark = vet->path.length;

    kl__buf_putc(&vet->path, '[');
    kl__buf_puts(&vet->path, key);
    kl__buf_putc(&vet->path, ']');
    return mark;
}

void kl__vet_back(kl__vet *vet, size_t mark)
{
    if (vet->path.length > mark) {
        vet->path.length = mark;
        vet->path.bytes[mark] = '\0';
    }
}

/* --- Faults. -------------------------------------------------------------- */

static void add_vet_fault(kl__vet *vet, kl__field_fault fault,
                          const char *member, const char *shown,
                          const char *detail)
{
    size_t mark = vet->path.length;

    if (member != NULL) {
        kl__vet_into(vet, member);
    }
    vet->errors->failed |= vet->path.failed;
    if (!vet->errors->failed) {
        kl__field_add(vet->errors, fault,
                      vet->path.bytes != NULL ? vet->path.bytes : "", shown,
                      detail);
    }
    kl__vet_back(vet, mark);
}

void kl__vet_fault(kl__vet *vet, kl__field_fault fault, const char *member,
                   const char *text, const char *detail)
{
    kl__buf quoted = {0};

    if (text != NULL) {
        kl__go_quote(&quoted, text, strlen(text));
        vet->errors->failed |= quoted.failed;
    }
    add_vet_fault(vet, fault, member, text != NULL ? quoted.bytes : NULL,
                  detail);
    kl__buf_deinit(&quoted);
}

void kl__vet_shown(kl__vet *vet, kl__field_fault fault, const char *shown,
                   const char *detail)
{
    add_vet_fault(vet, fault, NULL, shown, detail);
}

void kl__vet_value(kl__vet *vet, kl__field_fault fault, const char *member,
                   const kl__node *value, const char *detail)
{
    char *shown = kl__field_value(value);

    vet->errors->failed |= shown == NULL;
    add_vet_fault(vet, fault, member, shown, detail);
    kl__free(shown);
}

const char *kl__vet_text(const kl__node *object, const char *member)
{
    const char *text = kl__node_text(object, member);

    return text != NULL ? text : "";
}

/* --- Checks. -------------------------------------------------------------- */

bool kl__vet_required(kl__vet *vet, const kl__node *object, const char *member)
{
    if (*kl__vet_text(object, member) == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, member, NULL, "");
        return false;
    }
    return true;
}

void kl__vet_unsupported(kl__vet *vet, const char *member, const char *text,
                         const char *const *names)
{
    kl__buf detail = {0};

    for (const char *const *name = names; *name != NULL; name++) {
        if (strcmp(*name, text) == 0) {
            return;
        }
    }
    kl__buf_puts(&detail, "supported values: ");
    for (const char *const *name = names; *name != NULL; name++) {
        kl__buf_printf(&detail, "%s\"%s\"", name != names ? ", " : "", *name);
    }
    vet->errors->failed |= detail.failed;
    kl__vet_fault(vet, KL__FIELD_UNSUPPORTED, member, text,
                  detail.failed ? "" : detail.bytes);
    kl__buf_deinit(&detail);
}

void kl__vet_enum(kl__vet *vet, const kl__node *object, const char *member,
                  const char *const *names)
{
    const char *text = kl__vet_text(object, member);

    if (*text != '\0') {
        kl__vet_unsupported(vet, member, text, names);
    }
}

void kl__vet_range(kl__vet *vet, const kl__node *object, const char *member,
                   int64_t low, int64_t high)
{
    const kl__node *value = kl__node_get(object, member);
    int64_t number = kl__node_integer(value);
    char why[100];

    if (value != NULL && (number < low || number > high)) {
        snprintf(why, sizeof(why),
                 "must be between %" PRId64 " and %" PRId64 ", inclusive", low,
                 high);
        kl__vet_value(vet, KL__FIELD_INVALID, member, value, why);
    }
}

void kl__vet_not_negative(kl__vet *vet, const kl__node *object,
                          const char *member)
{
    const kl__node *value = kl__node_get(object, member);

    if (kl__node_integer(value) < 0) {
        kl__vet_value(vet, KL__FIELD_INVALID, member, value,
                      "must be greater than or equal to 0");
    }
}

static void check_text(kl__vet *vet, const char *member, const char *text,
                       bool (*is_one)(const char *text, kl__buf *why))
{
    kl__buf why = {0};

    if (!is_one(text, &why)) {
        vet->errors->failed |= why.failed;
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                      why.bytes != NULL ? why.bytes : "");
    }
    kl__buf_deinit(&why);
}

static void check_dns_name(kl__vet *vet, const kl__node *object,
                           const char *member,
                           bool (*is_one)(const char *text, kl__buf *why))
{
    const char *text = kl__vet_text(object, member);

    if (*text != '\0') {
        check_text(vet, member, text, is_one);
    }
}

void kl__vet_dns(kl__vet *vet, const char *member, const char *text)
{
    check_text(vet, member, text != NULL ? text : "", kl__name_is_subdomain);
}

void kl__vet_label(kl__vet *vet, const kl__node *object, const char *member)
{
    check_dns_name(vet, object, member, kl__name_is_label);
}

void kl__vet_subdomain(kl__vet *vet, const kl__node *object, const char *member)
{
    check_dns_name(vet, object, member, kl__name_is_subdomain);
}

void kl__vet_unique(kl__vet *vet, kl__map *map, const char *member,
                    const char *text)
{
    if (kl__map_get(map, text) != NULL) {
        kl__vet_fault(vet, KL__FIELD_DUPLICATE, member, text, "");
    } else if (!kl__map_put(map, text, map, NULL)) {
        vet->errors->failed = true;
    }
}

/* Checks a port's name: letters, digits and '-', with at least one letter. */
static void check_port_name(kl__vet *vet, const char *member, const char *name)
{
    size_t length = strlen(name);
    bool has_letter = false;

    for (size_t i = 0; i < length; i++) {
        has_letter |= name[i] >= 'a' && name[i] <= 'z';
    }
    if (length > 15) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, name,
                      "must be no more than 15 characters");
    }
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != length) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, name,
                      "must contain only alpha-numeric characters (a-z, 0-9), "
                      "and hyphens (-)");
    }
    if (!has_letter) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, name,
                      "must contain at least one letter (a-z)");
    }
    if (strstr(name, "--") != NULL) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, name,
                      "must not contain consecutive hyphens");
    }
    if (length > 0 && (name[0] == '-' || name[length - 1] == '-')) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, name,
                      "must not begin or end with a hyphen");
    }
}

void kl__vet_port(kl__vet *vet, const kl__node *object, const char *member)
{
    const kl__node *value = kl__node_get(object, member);

    if (kl__node_is(value, KL_STRING)) {
        check_port_name(vet, member, kl__node_string(value, NULL));
    } else {
        kl__vet_range(vet, object, member, 1, 65535);
    }
}

static void check_faults(kl__vet *vet, const kl__sim_faults *faults,
                         const char *member, const char *text)
{
    for (size_t i = 0; i < faults->count; i++) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text, faults->texts[i]);
    }
}

void kl__vet_labels(kl__vet *vet, const kl__node *labels, const char *member)
{
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;

    while ((value = kl__node_next(labels, &iter, &name, NULL)) != NULL) {
        const char *text = kl__node_string(value, NULL);
        kl__sim_faults faults = kl__sim_key_faults(name);

        check_faults(vet, &faults, member, name);
        faults = kl__sim_value_faults(text != NULL ? text : "");
        check_faults(vet, &faults, member, text);
    }
}

/* --- Selectors. ----------------------------------------------------------- */

static void check_expression(kl__vet *vet, const kl__node *expression)
{
    const char *way = kl__vet_text(expression, "operator");
    const char *key = kl__vet_text(expression, "key");
    size_t values = kl__node_size(kl__node_get(expression, "values"));
    bool is_in = strcmp(way, "In") == 0 || strcmp(way, "NotIn") == 0;
    bool is_there =
        strcmp(way, "Exists") == 0 || strcmp(way, "DoesNotExist") == 0;
    kl__sim_faults faults = kl__sim_key_faults(key);

    if (is_in && values == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "values", NULL,
                      "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (is_there && values > 0) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, "values", NULL,
                      "may not be specified when `operator` is 'Exists' or "
                      "'DoesNotExist'");
    } else if (!is_in && !is_there) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "operator", way,
                      "not a valid selector operator");
    }
    check_faults(vet, &faults, "key", key);
}

void kl__vet_selector(kl__vet *vet, const kl__node *object, const char *member)
{
    const kl__node *selector = kl__node_get(object, member);
    size_t mark;

    if (selector == NULL) {
        return;
    }
    mark = kl__vet_into(vet, member);
    kl__vet_labels(vet, kl__node_get(selector, "matchLabels"), "matchLabels");
    kl__vet_each(vet, selector, "matchExpressions", check_expression);
    kl__vet_back(vet, mark);
}

static bool meets_expression(const kl__node *expression, const kl__node *labels)
{
    const char *way = kl__vet_text(expression, "operator");
    const char *value = kl__node_text(labels, kl__vet_text(expression, "key"));
    const kl__node *values = kl__node_get(expression, "values");

    return strcmp(way, "In") == 0       ? kl__node_holds(values, value)
           : strcmp(way, "NotIn") == 0  ? !kl__node_holds(values, value)
           : strcmp(way, "Exists") == 0 ? value != NULL
                                        : value == NULL;
}

bool kl__vet_selects(const kl__node *selector, const kl__node *labels)
{
    kl__node_iter iter = {0}, more = {0};
    const kl__node *value, *list;
    const char *name;

    list = kl__node_get(selector, "matchLabels");
    while ((value = kl__node_next(list, &iter, &name, NULL)) != NULL) {
        if (!kl__node_equal(value, kl__node_get(labels, name))) {
            return false;
        }
    }
    list = kl__node_get(selector, "matchExpressions");
    while ((value = kl__node_next(list, &more, NULL, NULL)) != NULL) {
        if (!meets_expression(value, labels)) {
            return false;
        }
    }
    return kl__node_is(selector, KL_OBJECT);
}

void kl__vet_percent(kl__vet *vet, const kl__node *object, const char *member)
{
    const kl__node *value = kl__node_get(object, member);
    const char *text = kl__node_string(value, NULL);
    size_t digits = text != NULL ? strspn(text, "0123456789") : 0;

    if (!kl__node_is(value, KL_STRING)) {
        kl__vet_not_negative(vet, object, member);
    } else if (digits == 0 || strcmp(text + digits, "%") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                      "a valid percent string must be a numeric string "
                      "followed by an ending '%' (e.g. '1%',  or '93%', regex "
                      "used for validation is '[0-9]+%')");
    }
}

/* --- Names, addresses, lists. --------------------------------------------- */

void kl__vet_qualified(kl__vet *vet, const char *member, const char *name)
{
    kl__sim_faults faults = kl__sim_key_faults(name);

    check_faults(vet, &faults, member, name);
}

bool kl__vet_address(kl__vet *vet, const char *member, const char *text)
{
    unsigned char bytes[16];

    if (inet_pton(AF_INET, text, bytes) == 1 ||
        inet_pton(AF_INET6, text, bytes) == 1) {
        return true;
    }
    kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                  "must be a valid IP address, (e.g. 10.9.8.7 or "
                  "2001:db8::ffff)");
    return false;
}

void kl__vet_each(kl__vet *vet, const kl__node *object, const char *member,
                  void (*check)(kl__vet *vet, const kl__node *element))
{
    const kl__node *list = kl__node_get(object, member), *element;
    size_t outer = kl__vet_into(vet, member), index = 0;
    kl__node_iter iter = {0};

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check(vet, element);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}
