/*
 * sim_compose.c - see sim_compose.h.
 */
#include "sim/sim_compose.h"

#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_name(kl_writer *writer, const char *name)
{
    kl_writer_name(writer, name, strlen(name));
}

static void write_text(kl_writer *writer, const char *name, const char *text)
{
    if (text != NULL && *text != '\0') {
        write_name(writer, name);
        kl_writer_string(writer, text, strlen(text));
    }
}

static void write_number(kl_writer *writer, const char *name, int64_t number)
{
    write_name(writer, name);
    kl_writer_integer(writer, number);
}

typedef struct member {
    const kl_value *name;
    const kl_value *value;
    size_t index;
} member;

static int compare_members(const void *a, const void *b)
{
    const member *left = a, *right = b;
    size_t left_length, right_length, shorter;
    const char *left_name = kl_value_string(left->name, &left_length);
    const char *right_name = kl_value_string(right->name, &right_length);
    int order;

    shorter = left_length < right_length ? left_length : right_length;
    order = memcmp(left_name, right_name, shorter);
    if (order != 0) {
        return order;
    }
    if (left_length != right_length) {
        return left_length < right_length ? -1 : 1;
    }
    return left->index < right->index ? -1 : 1;
}

static void write_sorted(kl_writer *writer, const kl_value *value);

/* The members in the order of their names; of equal ones the last, as Go. */
static void write_members(kl_writer *writer, member *members, size_t count)
{
    qsort(members, count, sizeof(*members), compare_members);
    for (size_t i = 0; i < count; i++) {
        size_t length, next_length;
        const char *name = kl_value_string(members[i].name, &length);
        const char *next =
            i + 1 < count ? kl_value_string(members[i + 1].name, &next_length)
                          : NULL;

        if (next != NULL && length == next_length &&
            memcmp(name, next, length) == 0) {
            continue;
        }
        kl_writer_name(writer, name, length);
        write_sorted(writer, members[i].value);
    }
}

/* Makes the writer fail: there is no other word for it. */
static void write_nothing(kl_writer *writer)
{
    kl_writer_end_array(writer);
}

static void write_sorted_object(kl_writer *writer, const kl_value *object)
{
    size_t count = 0, size = kl_value_size(object);
    member *members = kl__calloc(size + 1, sizeof(*members));
    const kl_value *name, *value;
    kl_value_iter iter = {0};

    if (members == NULL) {
        write_nothing(writer);
        return;
    }
    while ((value = kl_value_next(object, &iter, &name)) != NULL) {
        members[count] = (member){name, value, count};
        count++;
    }
    kl_writer_begin_object(writer);
    write_members(writer, members, count);
    kl_writer_end_object(writer);
    kl__free(members);
}

/* A value whose objects are sorted; nested at most KL_MAX_DEPTH deep. */
static void write_sorted(kl_writer *writer, const kl_value *value)
{
    const kl_value *element;
    kl_value_iter iter = {0};

    switch (kl_value_type(value)) {
    case KL_OBJECT:
        write_sorted_object(writer, value);
        break;
    case KL_ARRAY:
        kl_writer_begin_array(writer);
        while ((element = kl_value_next(value, &iter, NULL)) != NULL) {
            write_sorted(writer, element);
        }
        kl_writer_end_array(writer);
        break;
    default:
        kl_writer_value(writer, value);
    }
}

/* The members of metadata in the order of the Go struct, and sorted. */
static const char *const struct_order[] = {"name",
                                           "generateName",
                                           "namespace",
                                           "uid",
                                           "resourceVersion",
                                           "generation",
                                           "creationTimestamp",
                                           "deletionTimestamp",
                                           "deletionGracePeriodSeconds",
                                           "labels",
                                           "annotations",
                                           "ownerReferences",
                                           "finalizers",
                                           "managedFields",
                                           NULL};
static const char *const sorted_order[] = {"annotations",
                                           "creationTimestamp",
                                           "deletionGracePeriodSeconds",
                                           "deletionTimestamp",
                                           "finalizers",
                                           "generateName",
                                           "generation",
                                           "labels",
                                           "managedFields",
                                           "name",
                                           "namespace",
                                           "ownerReferences",
                                           "resourceVersion",
                                           "uid",
                                           NULL};

/* One that the draft decides; false: it is the request's. */
static bool write_decided(kl_writer *writer, const kl__sim_draft *draft,
                          const char *name)
{
    const struct {
        const char *name;
        const char *text;
    } texts[] = {{"name", draft->name},
                 {"generateName", draft->generate_name},
                 {"namespace", draft->name_space},
                 {"uid", draft->uid},
                 {"creationTimestamp", draft->created},
                 {"deletionTimestamp", draft->deleted}};
    char version[24];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(name, texts[i].name) == 0) {
            write_text(writer, name, texts[i].text);
            return true;
        }
    }
    if (strcmp(name, "resourceVersion") == 0) {
        snprintf(version, sizeof(version), "%" PRId64, draft->version);
        write_text(writer, name, version);
    } else if (strcmp(name, "generation") == 0) {
        if (draft->generation != 0) {
            write_number(writer, name, draft->generation);
        }
    } else if (strcmp(name, "deletionGracePeriodSeconds") == 0) {
        if (draft->deleted != NULL) {
            write_number(writer, name, draft->grace_seconds);
        }
    } else {
        return false;
    }
    return true;
}

/* A map of strings, in which null is "" as Go reads it. */
static void write_strings(kl_writer *writer, const kl_value *map)
{
    const kl_value *name, *value;
    kl_value_iter iter = {0};

    kl_writer_begin_object(writer);
    while ((value = kl_value_next(map, &iter, &name)) != NULL) {
        size_t length;
        const char *bytes = kl_value_string(name, &length);

        kl_writer_name(writer, bytes, length);
        if (kl_value_type(value) == KL_NULL) {
            kl_writer_string(writer, "", 0);
        } else {
            kl_writer_value(writer, value);
        }
    }
    kl_writer_end_object(writer);
}

static void write_metadata(kl_writer *writer, const kl__sim_draft *draft)
{
    bool is_custom = kl__sim_kind_is(draft->kind, KL__SIM_CUSTOM);
    const char *const *order = is_custom ? sorted_order : struct_order;

    write_name(writer, "metadata");
    kl_writer_begin_object(writer);
    for (; *order != NULL; order++) {
        const kl_value *value = kl_value_get(draft->metadata, *order);

        if (!write_decided(writer, draft, *order) && kl_value_size(value) > 0) {
            write_name(writer, *order);
            if (kl_value_type(value) == KL_OBJECT) {
                write_strings(writer, value);
            } else {
                write_sorted(writer, value);
            }
        }
    }
    kl_writer_end_object(writer);
}

/* What is neither kind, apiVersion, metadata nor status. */
static bool is_free(const kl_value *name)
{
    const char *text = kl_value_string(name, NULL);

    return strcmp(text, "kind") != 0 && strcmp(text, "apiVersion") != 0 &&
           strcmp(text, "metadata") != 0 && strcmp(text, "status") != 0;
}

/* After metadata a sorted object may have names of before "metadata" too: the
 * head comes first all the same, which no reader minds. */
static void write_rest(kl_writer *writer, const kl__sim_draft *draft)
{
    bool is_custom = kl__sim_kind_is(draft->kind, KL__SIM_CUSTOM);
    const kl_value *name, *value;
    kl_value_iter iter = {0};
    member *members =
        kl__calloc(kl_value_size(draft->body) + 1, sizeof(*members));
    size_t count = 0;

    if (members == NULL) {
        write_nothing(writer);
        return;
    }
    while ((value = kl_value_next(draft->body, &iter, &name)) != NULL) {
        if (is_free(name)) {
            members[count] = (member){name, value, count};
            count++;
        }
    }
    if (is_custom) {
        write_members(writer, members, count);
    }
    for (size_t i = 0; i < count && !is_custom; i++) {
        if (kl_value_type(members[i].value) != KL_NULL) {
            write_name(writer, kl_value_string(members[i].name, NULL));
            kl_writer_value(writer, members[i].value);
        }
    }
    if (draft->status != NULL && kl_value_type(draft->status) != KL_NULL) {
        write_name(writer, "status");
        if (is_custom) {
            write_sorted(writer, draft->status);
        } else {
            kl_writer_value(writer, draft->status);
        }
    }
    kl__free(members);
}

/* kind and apiVersion, in the order that kl__sim_write_head has them. */
static void write_type(kl_writer *writer, const kl__sim_kind *kind)
{
    char *version = *kind->group != '\0'
                        ? kl__strprintf("%s/%s", kind->group, kind->storage)
                        : kl__strdup(kind->storage);

    if (version == NULL) {
        write_nothing(writer);
        return;
    }
    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        write_text(writer, "apiVersion", version);
        write_text(writer, "kind", kind->kind);
    } else {
        write_text(writer, "kind", kind->kind);
        write_text(writer, "apiVersion", version);
    }
    kl__free(version);
}

kl__sim_state *kl__sim_compose(const kl__sim_draft *draft, kl_error *err)
{
    kl_writer *writer = kl_writer_new();
    kl__sim_state *state = NULL;
    const char *json;
    size_t length;
    char *text;

    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    kl_writer_begin_object(writer);
    write_type(writer, draft->kind);
    write_metadata(writer, draft);
    write_rest(writer, draft);
    kl_writer_end_object(writer);
    json = kl_writer_finish(writer, &length, NULL);
    text = json != NULL ? kl__strndup(json, length) : NULL;
    kl_writer_free(writer);
    if (text != NULL) {
        state = kl__sim_state_new(draft->kind, text, length, err);
    } else {
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
    }
    return state;
}

void kl__sim_draft_of(kl__sim_draft *draft, const kl__sim_kind *kind,
                      const kl_value *root)
{
    const kl_value *metadata = kl_value_get(root, "metadata");

    memset(draft, 0, sizeof(*draft));
    draft->kind = kind;
    draft->body = root;
    draft->metadata = metadata;
    draft->status = kl_value_get(root, "status");
    draft->name = kl__sim_text(metadata, "name");
    draft->generate_name = kl__sim_text(metadata, "generateName");
    draft->name_space = kl__sim_text(metadata, "namespace");
    draft->uid = kl__sim_text(metadata, "uid");
    draft->created = kl__sim_text(metadata, "creationTimestamp");
    draft->deleted = kl__sim_text(metadata, "deletionTimestamp");
    draft->grace_seconds =
        kl_value_integer(kl_value_get(metadata, "deletionGracePeriodSeconds"));
    draft->generation = kl_value_integer(kl_value_get(metadata, "generation"));
    draft->version = 0;
}
