/*
 * budget.c - shares the room of a map among namespaces and tables; see
 * budget.h.
 */
#include "shared/budget.h"

#include "base/buf.h"
#include "base/mem.h"
#include "shared/owner_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPORT_LINES = 64,
    REPORT_BYTES = 8192,
    PARTS = 2, /* Services and tables */
    /* The words of an entry beside its block: a bucket, as there are less than
     * two for each entry. */
    ENTRY_WORDS = 2
};

/* The entries of a Service, or one value. */
typedef struct group {
    const char *name;
    size_t length;
    struct holder *holder;
    kl__shared_change *entries; /* a list by `next` */
    uint64_t words;
    struct group *next; /* of the holder */
    bool was_out;
} group;

/* A namespace, or a table. */
typedef struct holder {
    const char *name;
    size_t length;
    int part;
    uint64_t words;
    group *groups;
    size_t count;
} holder;

typedef struct sharing {
    group *groups;
    holder *holders;
    group **order; /* memory for the groups of one holder */
    size_t group_count, holder_count;
    kl__map groups_by_name, holders_by_name;
    uint64_t words[PARTS];
} sharing;

static bool is_service(const char *name)
{
    return strcmp(name, KL__SERVICES_TABLE) == 0 ||
           strcmp(name, KL__SPECS_TABLE) == 0;
}

/* The bytes of an entry's name that name a Service or value: those of all names
 * of a Service are equal. */
static size_t group_length(const kl__shared_change *entry)
{
    const char *name = kl__change_name(entry);
    size_t table = strlen(name) + 1;
    const char *colon =
        is_service(name) ? memchr(name + table, ':', entry->name_length - table)
                         : NULL;

    return colon != NULL ? (size_t)(colon - name) : entry->name_length;
}

static size_t holder_length(const char *name, size_t length)
{
    size_t table = strlen(name) + 1;
    const char *slash =
        is_service(name) ? memchr(name + table, '/', length - table) : NULL;

    return slash != NULL ? (size_t)(slash - name) : table;
}

static bool is_report(const kl__shared_change *entry)
{
    return strcmp(kl__change_name(entry), KL__REPORT_TABLE) == 0;
}

static void free_sharing(sharing *self)
{
    kl__map_deinit(&self->groups_by_name);
    kl__map_deinit(&self->holders_by_name);
    kl__free(self->groups);
    kl__free(self->holders);
    kl__free(self->order);
}

static holder *need_holder(sharing *self, const char *name, size_t length)
{
    holder *one = kl__map_get_n(&self->holders_by_name, name, length);

    if (one != NULL) {
        return one;
    }
    one = &self->holders[self->holder_count];
    *one = (holder){
        .name = name, .length = length, .part = is_service(name) ? 0 : 1};
    if (!kl__map_put_n(&self->holders_by_name, name, length, one, NULL)) {
        return NULL;
    }
    self->holder_count++;
    return one;
}

static group *need_group(sharing *self, const char *name, size_t length)
{
    group *one = kl__map_get_n(&self->groups_by_name, name, length);

    if (one != NULL) {
        return one;
    }
    one = &self->groups[self->group_count];
    *one = (group){
        .name = name,
        .length = length,
        .holder = need_holder(self, name, holder_length(name, length)),
    };
    if (one->holder == NULL ||
        !kl__map_put_n(&self->groups_by_name, name, length, one, NULL)) {
        return NULL;
    }
    self->group_count++;
    one->next = one->holder->groups;
    one->holder->groups = one;
    one->holder->count++;
    return one;
}

static bool add_entry(sharing *self, kl__shared_change *entry)
{
    group *one = need_group(self, kl__change_name(entry), group_length(entry));
    uint64_t words = entry->words + ENTRY_WORDS;

    if (one == NULL) {
        return false;
    }
    entry->next = one->entries;
    one->entries = entry;
    one->was_out = one->was_out || entry->is_out;
    one->words += words;
    one->holder->words += words;
    self->words[one->holder->part] += words;
    return true;
}

static bool add_entries(sharing *self, const kl__entries *entries)
{
    size_t count = entries->by_name.count + 1, cursor = 0;
    const kl__map_slot *slot;

    self->groups = kl__malloc(count * sizeof(*self->groups));
    self->holders = kl__malloc(count * sizeof(*self->holders));
    self->order = kl__malloc(count * sizeof(*self->order));
    if (self->groups == NULL || self->holders == NULL || self->order == NULL) {
        return false;
    }
    while ((slot = kl__map_next(&entries->by_name, &cursor)) != NULL) {
        kl__shared_change *entry = slot->value;

        if (!entry->is_refused && !is_report(entry) &&
            !add_entry(self, entry)) {
            return false;
        }
    }
    return true;
}

static int by_words(const void *left, const void *right)
{
    const group *a = *(group *const *)left, *b = *(group *const *)right;
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->name, b->name, common);

    if (a->words != b->words) {
        return a->words < b->words ? -1 : 1;
    }
    return order != 0 ? order
                      : (a->length > b->length) - (a->length < b->length);
}

static int by_need(const void *left, const void *right)
{
    const holder *a = left, *b = right;

    return a->words != b->words ? (a->words < b->words ? -1 : 1)
                                : (a->name > b->name) - (a->name < b->name);
}

/* Sets the flag of a group, and notes entries whose flag changes. */
static void set_group(kl__entries *entries, const group *one, bool is_out)
{
    for (kl__shared_change *entry = one->entries; entry != NULL;
         entry = entry->next) {
        kl__entries_set_out(entries, entry, is_out);
    }
}

/* Notes a group that is left out. */
static void count_group(const group *one, kl__budget_result *result)
{
    result->left_out++;
    if (!one->was_out) {
        result->fresh++;
        result->first = result->first == NULL ? one->entries : result->first;
    }
}

/* Leaves out what does not fit into the share of a holder: the smallest groups
 * stay. Returns the words that stay. */
static uint64_t fit_holder(sharing *self, const holder *one, uint64_t share,
                           kl__entries *entries, kl__budget_result *result)
{
    uint64_t used = 0;
    size_t count = 0;

    for (group *at = one->groups; at != NULL; at = at->next) {
        self->order[count++] = at;
    }
    if (one->words > share) {
        qsort(self->order, count, sizeof(*self->order), by_words);
    }
    for (size_t i = 0; i < count; i++) {
        bool is_out = self->order[i]->words > share - used;

        set_group(entries, self->order[i], is_out);
        if (is_out) {
            count_group(self->order[i], result);
        } else {
            used += self->order[i]->words;
        }
    }
    return used;
}

/* Shares the words of a part among its holders; those that need least come
 * first, so that what they leave goes to the others. */
static void share_part(sharing *self, int part, uint64_t words,
                       kl__entries *entries, kl__budget_result *result)
{
    size_t left = 0;

    for (size_t i = 0; i < self->holder_count; i++) {
        left += self->holders[i].part == part ? 1 : 0;
    }
    for (size_t i = 0; i < self->holder_count; i++) {
        if (self->holders[i].part == part) {
            words -= fit_holder(self, &self->holders[i], words / left, entries,
                                result);
            left--;
        }
    }
}

/* The words of each part: see budget.h. */
static void divide_room(const sharing *self, uint64_t room,
                        uint64_t words[PARTS])
{
    uint64_t own = room / 4 * 3;

    words[0] = self->words[0];
    words[1] = self->words[1];
    if (words[0] + words[1] <= room) {
        return;
    }
    if (words[1] <= room - own) {
        words[0] = room - words[1];
    } else if (words[0] <= own) {
        words[1] = room - words[0];
    } else {
        words[0] = own;
        words[1] = room - own;
    }
}

/* Appends "TABLE\tKEY\tWHY\n". */
static void report_group(kl__buf *text, const char *name, size_t length,
                         const char *why)
{
    size_t table = strlen(name);

    kl__buf_append(text, name, table);
    kl__buf_putc(text, '\t');
    for (size_t i = table + 1; i < length; i++) {
        /* a key may have any bytes */
        kl__buf_putc(text, (unsigned char)name[i] < ' ' ? '?' : name[i]);
    }
    kl__buf_printf(text, "\t%s\n", why);
}

static const char *why_refused(const kl__shared_change *entry)
{
    return (const char *)&entry->block[kl__value_at(entry->name_length)];
}

/* Writes the lines of the report, and counts what was refused. */
static void write_report(const sharing *self, const kl__entries *entries,
                         kl__buf *text, kl__budget_result *result)
{
    size_t cursor = 0, lines = 0;
    const kl__map_slot *slot;
    char why[96];

    while ((slot = kl__map_next(&entries->by_name, &cursor)) != NULL) {
        const kl__shared_change *entry = slot->value;

        if (entry->is_refused) {
            result->left_out++;
            if (lines++ < REPORT_LINES && text->length < REPORT_BYTES) {
                report_group(text, slot->key, entry->name_length,
                             why_refused(entry));
            }
        }
    }
    for (size_t i = 0; i < self->group_count; i++) {
        const group *one = &self->groups[i];

        if (one->entries->is_out && lines++ < REPORT_LINES &&
            text->length < REPORT_BYTES) {
            snprintf(why, sizeof(why),
                     "needs %llu bytes, more than its share of the map",
                     (unsigned long long)one->words * 8);
            report_group(text, one->name, one->length, why);
        }
    }
}

/* Entries are in no list outside of this file's calls. */
static void clear_lists(const kl__entries *entries)
{
    size_t cursor = 0;
    const kl__map_slot *slot;

    while ((slot = kl__map_next(&entries->by_name, &cursor)) != NULL) {
        ((kl__shared_change *)slot->value)->next = NULL;
    }
}

static kl_code put_report(kl__entries *entries, const kl_shared_key *key,
                          const kl__buf *text, kl_error *err)
{
    kl__shared_change *change =
        text->length > 0 ? kl__change_put(key, text->bytes, text->length, err)
                         : kl__change_remove(key, err);

    if (change == NULL || !kl__entries_apply(entries, change)) {
        kl__free(change);
        return kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    return KL_OK;
}

uint64_t kl__budget_room(uint64_t slot_words)
{
    uint64_t reserved = KL__SLOT_HEAD + 8 +
                        kl__words_of(REPORT_BYTES + 1024 + KL_SHARED_KEY_MAX);

    return slot_words > reserved ? slot_words - reserved : 0;
}

kl_code kl__budget_apply(kl__entries *entries, const kl_shared_key *report_key,
                         uint64_t slot_words, kl__budget_result *result,
                         kl_error *err)
{
    uint64_t room = kl__budget_room(slot_words);
    uint64_t words[PARTS];
    sharing self = {0};
    kl__buf text = {0};
    kl_code code = KL_ENOMEM;

    *result = (kl__budget_result){0};
    if (add_entries(&self, entries)) {
        result->needs = (self.words[0] + self.words[1]) * 8;
        qsort(self.holders, self.holder_count, sizeof(*self.holders), by_need);
        divide_room(&self, room, words);
        for (int part = 0; part < PARTS; part++) {
            share_part(&self, part, words[part], entries, result);
        }
        write_report(&self, entries, &text, result);
        code = put_report(entries, report_key, &text, err);
    } else {
        kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    clear_lists(entries);
    kl__buf_deinit(&text);
    free_sharing(&self);
    return code;
}
