/*
 * conflicts.c - see conflicts.h and managers.h: writes the conflicts of an
 * apply as text.
 */
#include "sim/core/patch/conflicts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/quote.h"
#include "sim/core/patch/field_set.h"

#include <stdlib.h>
#include <string.h>

void kl__conflicts_deinit(kl__conflicts *conflicts)
{
    for (size_t i = 0; i < conflicts->count; i++) {
        kl__free(conflicts->items[i].manager);
        kl__free(conflicts->items[i].path);
    }
    kl__free(conflicts->items);
    *conflicts = (kl__conflicts){0};
}

/* Takes both texts, also when it fails. */
static bool add_one(kl__conflicts *conflicts, char *manager, char *path)
{
    if (conflicts->count == conflicts->capacity) {
        size_t capacity = conflicts->capacity * 2 + 8;
        kl__conflict *items =
            kl__realloc(conflicts->items, capacity * sizeof(*items));

        if (items != NULL) {
            conflicts->items = items;
            conflicts->capacity = capacity;
        }
    }
    if (manager == NULL || path == NULL ||
        conflicts->count == conflicts->capacity) {
        kl__free(manager);
        kl__free(path);
        return false;
    }
    conflicts->items[conflicts->count++] = (kl__conflict){manager, path};
    return true;
}

/* `"x" with subresource "status" using apps/v1`. */
static char *put_in_words(const kl__manager *manager)
{
    kl__buf out = {0};
    char *text;

    kl__quote(&out, manager->name, strlen(manager->name));
    if (*manager->subresource != '\0') {
        kl__buf_puts(&out, " with subresource ");
        kl__quote(&out, manager->subresource, strlen(manager->subresource));
    }
    if (!manager->applies) {
        kl__buf_printf(&out, " using %s", manager->api_version);
    }
    text = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    return text;
}

/* Adds the fields of an element, below a path: the element itself first, if it
 * is in the set. */
static bool add_fields(kl__conflicts *conflicts, const char *manager,
                       const kl__node *fields, kl__buf *path)
{
    size_t before = path->length;

    for (int pass = 0; pass < 2; pass++) {
        kl__node_iter iter = {0};
        const kl__node *element;
        const char *name;
        size_t length;

        while ((element = kl__node_next(fields, &iter, &name, &length)) !=
               NULL) {
            bool done = true;

            if (length == 1) {
                continue;
            }
            kl__fields_text(path, name, length);
            if (path->failed) {
                return false;
            }
            if (pass == 0 && kl__fields_has(element)) {
                done = add_one(conflicts, kl__strdup(manager),
                               kl__strdup(path->bytes));
            } else if (pass == 1) {
                done = add_fields(conflicts, manager, element, path);
            }
            path->length = before;
            path->bytes[before] = '\0';
            if (!done) {
                return false;
            }
        }
    }
    return true;
}

bool kl__conflicts_add(kl__conflicts *conflicts, const kl__manager *manager,
                       const kl__node *fields)
{
    char *words = put_in_words(manager);
    kl__buf path = {0};
    bool done = words != NULL && add_fields(conflicts, words, fields, &path);

    kl__buf_deinit(&path);
    kl__free(words);
    return done;
}

char *kl__conflicts_text(const kl__conflicts *conflicts)
{
    const char *manager = "";
    kl__buf out = {0};
    char *text;

    kl__buf_printf(&out, "Apply failed with %zu conflict%s: ", conflicts->count,
                   conflicts->count == 1 ? "" : "s");
    for (size_t i = 0; i < conflicts->count; i++) {
        const kl__conflict *one = &conflicts->items[i];

        if (conflicts->count == 1) {
            kl__buf_printf(&out, "conflict with %s: %s", one->manager,
                           one->path);
            break;
        }
        if (strcmp(manager, one->manager) != 0) {
            kl__buf_printf(&out, "%sconflicts with %s:\n", i > 0 ? "\n" : "",
                           one->manager);
        } else {
            kl__buf_putc(&out, '\n');
        }
        kl__buf_printf(&out, "- %s", one->path);
        manager = one->manager;
    }
    text = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    return text;
}
