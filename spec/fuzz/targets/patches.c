/*
 * patches.c - patches of every kind: "json", "merge", "strategic" or "apply"
 * and a kind on the first line ("strategic Deployment"; none: not known), the
 * object on the second, the patch on the others. The result is no deeper than
 * JSON may be; a merge (except of nulls) or an apply changes nothing the second
 * time; a set of owned fields reads back the same.
 */
#include "tree.h"

#include "sim/core/patch/field_set.h"
#include "sim/core/patch/managers.h"
#include "sim/core/patch/members.h"
#include "sim/core/patch/patch.h"

#include <stdlib.h>
#include <string.h>

typedef struct trial {
    kl__edit *edit;
    const kl__schema *schema;
    kl__node *object;
    kl__node *patch;
    bool is_changed;
} trial;

static const kl__schema *schema_of(fuzz_text *line)
{
    static const char *const kinds[][2] = {
        {"", "Pod"},  {"", "ConfigMap"},      {"", "Service"},
        {"", "Node"}, {"apps", "Deployment"}, {"batch", "Job"}};
    const char *blank = memchr(line->bytes, ' ', line->length);

    for (size_t i = 0; blank != NULL && i < sizeof(kinds) / sizeof(kinds[0]);
         i++) {
        const size_t at = (size_t)(blank + 1 - line->bytes);

        if (fuzz_is((fuzz_text){blank + 1, line->length - at}, kinds[i][1])) {
            line->length = at - 1;
            return kl__schema_builtin(kinds[i][0], "v1", kinds[i][1], NULL);
        }
    }
    return NULL;
}

/* True if it succeeded; an error must have a status and a message. */
static bool is_done(kl_code code, const kl_error *err)
{
    FUZZ_EXPECT(code == KL_OK ||
                (err->http_status >= 400 && *err->message != '\0'));
    return code == KL_OK;
}

static void expect_bounded(const kl__node *node)
{
    FUZZ_EXPECT(kl__node_depth(node) <= KL__NODE_DEPTH);
}

/* A canonical set of fields stays the same when it is made canonical again. */
static void expect_set(kl__edit *edit, const kl__node *fields)
{
    kl__node *copy = kl__edit_copy(edit, fields);

    FUZZ_EXPECT(copy != NULL && kl__fields_adopt(edit, copy, NULL) == KL_OK);
    FUZZ_EXPECT(kl__node_equal(copy, fields));
    FUZZ_EXPECT(kl__fields_unite(edit, copy, fields));
    FUZZ_EXPECT(kl__node_equal(copy, fields));
    kl__fields_subtract(copy, fields, false);
    FUZZ_EXPECT(kl__node_size(copy) == 0);
}

static void expect_sets(kl__edit *edit, const kl__node *managed)
{
    kl__node_iter iter = {0};
    const kl__node *entry;

    while ((entry = kl__node_next(managed, &iter, NULL, NULL)) != NULL) {
        expect_set(edit, kl__node_get(entry, "fieldsV1"));
    }
}

/* Applies a configuration; returns the object with its managedFields. */
static kl__node *apply(trial *self, const kl__node *live, bool *is_changed)
{
    const kl__author author = {.edit = self->edit,
                               .schema = self->schema,
                               .api_version = "v1",
                               .name = "fuzz",
                               .subresource = "",
                               .now = "2026-11-22T00:00:00Z"};
    kl_error err = {0};
    kl__applied applied;
    kl_code code =
        kl__track_apply(&author, live, self->patch, true, &applied, &err);
    kl__node *metadata;

    kl__conflicts_deinit(&applied.conflicts);
    if (code != KL_OK) {
        FUZZ_EXPECT(code == KL_EINVAL && *err.message != '\0');
        return NULL;
    }
    *is_changed = applied.is_changed;
    expect_bounded(applied.object);
    expect_sets(self->edit, applied.managed);
    metadata = kl__node_ensure(self->edit, applied.object, "metadata");
    if (applied.managed != NULL) {
        FUZZ_EXPECT(kl__node_put(self->edit, metadata, "managedFields",
                                 applied.managed));
    }
    return applied.object;
}

/* True for values that reach an apply: the server refuses others before. */
static bool is_resource(const kl__node *node)
{
    const kl__node *metadata = kl__node_get(node, "metadata");

    return kl__node_is(node, KL_OBJECT) &&
           (metadata == NULL || kl__node_is(metadata, KL_OBJECT));
}

static void expect_applied(trial *self)
{
    kl__node *metadata = kl__node_get(self->object, "metadata");
    bool is_changed = false;
    kl__node *once, *twice;

    if (!is_resource(self->patch) || !is_resource(self->object)) {
        return;
    }
    if (kl__node_is(metadata, KL_OBJECT)) {
        kl__node_remove(metadata, "managedFields");
    }
    once = apply(self, self->object, &is_changed);
    if (once == NULL) {
        return;
    }
    twice = apply(self, once, &is_changed);
    FUZZ_EXPECT(twice != NULL);
    FUZZ_EXPECT(!is_changed);
    FUZZ_EXPECT(kl__node_equal(once, twice));
}

/* A second merge patch changes nothing but nulls: as in kube-apiserver, an
 * array that replaces an object keeps the nulls of its elements, an array that
 * replaces anything else does not. */
static void expect_merged(trial *self, kl__node *again)
{
    kl__node *once = kl__edit_copy(self->edit, self->object);

    expect_bounded(self->object);
    FUZZ_EXPECT(kl__patch_merge(self->edit, self->object, again, NULL) ==
                KL_OK);
    kl__patch_prune(once);
    kl__patch_prune(self->object);
    FUZZ_EXPECT(kl__node_equal(once, self->object));
}

static void expect_patched(trial *self, fuzz_text sort)
{
    kl_error err = {0};
    kl__node *again = kl__edit_copy(self->edit, self->patch);

    /* Only objects are stored, so only they are patched. */
    if (!kl__node_is(self->object, KL_OBJECT)) {
        return;
    }
    if (fuzz_is(sort, "json")) {
        if (is_done(kl__patch_json(self->edit, self->object, self->patch, &err),
                    &err)) {
            expect_bounded(self->object);
        }
    } else if (fuzz_is(sort, "strategic")) {
        if (is_done(kl__patch_strategic(self->edit, self->schema, self->object,
                                        self->patch, &err),
                    &err)) {
            expect_bounded(self->object);
        }
    } else if (is_done(
                   kl__patch_merge(self->edit, self->object, self->patch, &err),
                   &err)) {
        expect_merged(self, again);
    }
}

void fuzz_patches(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text sort = fuzz_line(&text);
    fuzz_text object = fuzz_line(&text);
    trial self = {.edit = kl__edit_new(NULL)};

    kl__schema_hold();
    self.schema = schema_of(&sort);
    self.object = fuzz_tree(self.edit, object);
    self.patch = fuzz_tree(self.edit, text);
    if (self.object != NULL && self.patch != NULL) {
        if (fuzz_is(sort, "apply")) {
            expect_applied(&self);
        } else if (self.schema != NULL || !fuzz_is(sort, "strategic")) {
            expect_patched(&self, sort);
        }
    }
    kl__edit_free(self.edit);
    kl__schema_release();
}
