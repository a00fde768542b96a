/*
 * catalogue_find.c - finds a resource by name, as kubectl reads names and
 * slightly more tolerant: "po", "Pod", "deployments.apps",
 * "deployments.v1.apps", "v1/Pod", "apps/v1/Deployment". See catalogue.h.
 */
#include "api/catalogue.h"

#include <string.h>

typedef struct span {
    const char *at;
    size_t length;
} span;

/* One way to read a name. */
typedef struct reading {
    span word;    /* plural, singular, kind or short name */
    span group;   /* at NULL: any */
    span version; /* at NULL: any */
    bool group_may_be_prefix;
} reading;

enum { MAX_READINGS = 3 };

/* Not tolower(), which follows the host's locale. */
static char to_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* True if `text` begins with the span; upper and lower case are equal. */
static bool begins_with(const char *text, span with)
{
    for (size_t i = 0; i < with.length; i++) {
        if (text[i] == '\0' || to_lower(text[i]) != to_lower(with.at[i])) {
            return false;
        }
    }
    return true;
}

static bool equals_span(const char *text, span other)
{
    return begins_with(text, other) && text[other.length] == '\0';
}

static span make_span(const char *at)
{
    return (span){at, strlen(at)};
}

/* "group/version/word", "v1/word" of the core group, "group/word". */
static int read_slashes(const char *name, const char *slash, reading *out)
{
    const char *second = strchr(slash + 1, '/');
    span first = {name, (size_t)(slash - name)};

    if (second != NULL && strchr(second + 1, '/') != NULL) {
        return 0;
    }
    if (second != NULL) {
        *out = (reading){.word = make_span(second + 1),
                         .group = first,
                         .version = {slash + 1, (size_t)(second - slash - 1)}};
    } else if (equals_span("v1", first)) {
        *out = (reading){
            .word = make_span(slash + 1), .group = {"", 0}, .version = first};
    } else {
        *out = (reading){.word = make_span(slash + 1), .group = first};
    }
    return 1;
}

/* "word.version.group", "word.group", "word.version" of the core group: all
 * possible readings, in kubectl's order. */
static int read_dots(const char *name, const char *dot, reading *out)
{
    const char *second = strchr(dot + 1, '.');
    span word = {name, (size_t)(dot - name)};
    int count = 0;

    if (second != NULL) {
        out[count++] =
            (reading){.word = word,
                      .version = {dot + 1, (size_t)(second - dot - 1)},
                      .group = make_span(second + 1)};
    }
    out[count++] = (reading){
        .word = word, .group = make_span(dot + 1), .group_may_be_prefix = true};
    if (second == NULL) {
        out[count++] = (reading){
            .word = word, .version = make_span(dot + 1), .group = {"", 0}};
    }
    return count;
}

/* Finds all ways to read a name, in the order in which they are tried; returns
 * their number. */
static int read_name(const char *name, reading out[MAX_READINGS])
{
    const char *slash = strchr(name, '/');
    const char *dot = strchr(name, '.');

    if (slash != NULL) {
        return read_slashes(name, slash, out);
    }
    if (dot != NULL) {
        return read_dots(name, dot, out);
    }
    out[0] = (reading){.word = make_span(name)};
    return 1;
}

const char *kl__resource_word(const char *name, size_t *length)
{
    reading readings[MAX_READINGS];

    if (read_name(name, readings) == 0) {
        *length = 0;
        return name;
    }
    *length = readings[0].word.length;
    return readings[0].word.at;
}

static bool is_version(span text)
{
    return text.at != NULL && text.length > 1 && to_lower(text.at[0]) == 'v' &&
           text.at[1] >= '0' && text.at[1] <= '9';
}

const char *kl__resource_group(const char *name, size_t *length)
{
    reading readings[MAX_READINGS];
    int count = read_name(name, readings);
    span group = {"", 0};

    /* "foos.example.com" can be read as version "example" of group "com": a
     * reading with a version counts only if that looks like a version. */
    for (int i = 0; i < count && group.length == 0; i++) {
        const reading *at = &readings[i];

        if (at->group.at != NULL && !is_version(at->group) &&
            (at->version.at == NULL || is_version(at->version))) {
            group = at->group;
        }
    }
    *length = group.length;
    return group.at;
}

bool kl__catalogue_has_group(const kl__catalogue *catalogue, const char *group,
                             size_t length)
{
    for (size_t i = 0; i < catalogue->count; i++) {
        if (begins_with(
                kl__catalogue_text(catalogue, catalogue->entries[i].group),
                (span){group, length})) {
            return true;
        }
    }
    return false;
}

/* What one pass over the entries compares. */
typedef struct pass {
    bool short_names; /* compare short names, else plural, singular and kind */
    bool by_prefix;   /* compare the beginning of the group only */
    bool stale;
} pass;

static bool has_short_name(const kl__catalogue *catalogue,
                           const kl__entry *entry, span word)
{
    const char *name = kl__catalogue_text(catalogue, entry->short_names);

    for (uint32_t i = 0; i < entry->short_count; i++) {
        if (equals_span(name, word)) {
            return true;
        }
        name += strlen(name) + 1;
    }
    return false;
}

static bool is_named(const kl__catalogue *catalogue, const kl__entry *entry,
                     span word)
{
    return equals_span(kl__catalogue_text(catalogue, entry->plural), word) ||
           equals_span(kl__catalogue_text(catalogue, entry->singular), word) ||
           equals_span(kl__catalogue_text(catalogue, entry->kind), word);
}

static bool matches(const kl__catalogue *catalogue, const kl__entry *entry,
                    const reading *wanted, pass how)
{
    const char *group = kl__catalogue_text(catalogue, entry->group);
    const char *version = kl__catalogue_text(catalogue, entry->version);

    if (entry->stale != how.stale ||
        (wanted->version.at != NULL &&
         !equals_span(version, wanted->version)) ||
        (wanted->group.at != NULL && !how.by_prefix &&
         !equals_span(group, wanted->group)) ||
        (wanted->group.at != NULL && how.by_prefix &&
         !begins_with(group, wanted->group))) {
        return false;
    }
    return how.short_names ? has_short_name(catalogue, entry, wanted->word)
                           : is_named(catalogue, entry, wanted->word);
}

/* The first match; a resource that can be watched is preferred. */
static const kl__entry *run_pass(const kl__catalogue *catalogue,
                                 const reading *wanted, pass how)
{
    const kl__entry *found = NULL;

    for (size_t i = 0; i < catalogue->count; i++) {
        const kl__entry *entry = &catalogue->entries[i];

        if (matches(catalogue, entry, wanted, how)) {
            if (entry->watchable) {
                return entry;
            }
            found = found != NULL ? found : entry;
        }
    }
    return found;
}

/* Searches in this order: full names before short ones, exact groups before
 * beginnings of groups, fresh entries before stale ones. */
static const kl__entry *find_reading(const kl__catalogue *catalogue,
                                     const reading *wanted)
{
    int groups = wanted->group_may_be_prefix ? 2 : 1;
    const kl__entry *found = NULL;

    for (int i = 0; found == NULL && i < groups * 4; i++) {
        pass how = {.by_prefix = i / 4 == 1,
                    .short_names = i / 2 % 2 == 1,
                    .stale = i % 2 == 1};

        found = run_pass(catalogue, wanted, how);
    }
    return found;
}

const kl__entry *kl__catalogue_find(const kl__catalogue *catalogue,
                                    const char *name)
{
    reading readings[MAX_READINGS];
    int count = read_name(name, readings);
    const kl__entry *found = NULL;

    for (int i = 0; found == NULL && i < count; i++) {
        if (readings[i].word.length != 0) {
            found = find_reading(catalogue, &readings[i]);
        }
    }
    return found;
}
