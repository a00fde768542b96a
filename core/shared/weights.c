/*
 * weights.c - see weights.h.
 */
#include "shared/weights.h"

#include "base/mem.h"
#include "shared/routes.h"

#include <string.h>

int kl__weight_parse(const char *text, size_t length)
{
    int weight = 0;

    if (length == 0 || length > 4) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        weight = weight * 10 + (text[i] - '0');
    }
    return weight <= KL__WEIGHT_MAX ? weight : -1;
}

/* Reads one "NAME=WEIGHT", whose NAME gets a NUL behind it. False: out of
 * memory. */
static bool read_rule(kl__weights *self, char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals != NULL ? (size_t)(equals - text) : 0;
    int weight =
        name > 0 ? kl__weight_parse(equals + 1, length - name - 1) : -1;
    bool is_prefix = weight >= 0 && text[name - 1] == '*';
    kl__weight_rule *rule;

    if (weight < 0) {
        return true;
    }
    if (self->count == KL__WEIGHT_RULES ||
        (is_prefix && self->prefix_count == KL__WEIGHT_PREFIXES)) {
        self->is_cut = true;
        return true;
    }
    name -= is_prefix ? 1 : 0;
    text[name] = '\0';
    rule = &self->rules[self->count];
    *rule = (kl__weight_rule){.name = text,
                              .length = name,
                              .weight = (uint16_t)weight,
                              .is_prefix = is_prefix};
    if (is_prefix) {
        self->prefixes[self->prefix_count++] = (uint16_t)self->count;
    } else if (kl__map_get(&self->by_name, text) == NULL &&
               !kl__map_put(&self->by_name, text, rule, NULL)) {
        return false;
    }
    self->count++;
    return true;
}

static size_t count_rules(const char *text)
{
    size_t rules = 1;

    for (; *text != '\0' && rules < KL__WEIGHT_RULES; text++) {
        rules += strchr(" \t\r\n,", *text) != NULL ? 1 : 0;
    }
    return rules;
}

bool kl__weights_read(kl__weights *self, const char *text)
{
    bool fits = true;
    char *at;

    if (text == NULL) {
        return true;
    }
    self->texts = kl__malloc(strlen(text) + 1);
    self->rules = kl__calloc(count_rules(text), sizeof(*self->rules));
    if (self->texts == NULL || self->rules == NULL) {
        return false;
    }
    at = memcpy(self->texts, text, strlen(text) + 1);
    while (*at != '\0' && !self->is_cut && fits) {
        size_t length;

        at += strspn(at, " \t\r\n,");
        length = strcspn(at, " \t\r\n,");
        if (length > 0) {
            char *next = at[length] != '\0' ? at + length + 1 : at + length;

            fits = read_rule(self, at, length);
            at = next;
        }
    }
    return fits;
}

void kl__weights_deinit(kl__weights *self)
{
    kl__map_deinit(&self->by_name);
    kl__free(self->rules);
    kl__free(self->texts);
    *self = (kl__weights){0};
}

static bool has_prefix(const kl__weight_rule *rule,
                       const char *const texts[KL__WEIGHT_TEXTS])
{
    for (int i = 0; i < KL__WEIGHT_TEXTS; i++) {
        if (texts[i][0] != '\0' &&
            strncmp(texts[i], rule->name, rule->length) == 0) {
            return true;
        }
    }
    return false;
}

int kl__weights_find(const kl__weights *self,
                     const char *const texts[KL__WEIGHT_TEXTS])
{
    const kl__weight_rule *first = NULL;

    for (int i = 0; i < KL__WEIGHT_TEXTS; i++) {
        const kl__weight_rule *rule =
            texts[i][0] != '\0' ? kl__map_get(&self->by_name, texts[i]) : NULL;

        if (rule != NULL && (first == NULL || rule < first)) {
            first = rule;
        }
    }
    for (size_t i = 0; i < self->prefix_count; i++) {
        const kl__weight_rule *rule = &self->rules[self->prefixes[i]];

        if (first != NULL && first < rule) {
            break;
        }
        if (has_prefix(rule, texts)) {
            first = rule;
        }
    }
    return first != NULL ? first->weight : -1;
}
