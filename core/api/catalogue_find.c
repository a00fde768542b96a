/*
 * catalogue_find.c - finds a resource by name, as kubectl reads names and
 * slightly more tolerant: "po", "Pod", "deployments.apps",
 * "deployments.v1.apps", "v1/Pod", "apps/v1/Deployment". For a name that the
 * server does not know, suggests names that are near, by edit distance. See
 * catalogue.h.
 */
#include "api/catalogue.h"

#include <stdio.h>
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
                           const kl__catalogue_entry *entry, span word)
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

static bool is_named(const kl__catalogue *catalogue,
                     const kl__catalogue_entry *entry, span word)
{
    return equals_span(kl__catalogue_text(catalogue, entry->plural), word) ||
           equals_span(kl__catalogue_text(catalogue, entry->singular), word) ||
           equals_span(kl__catalogue_text(catalogue, entry->kind), word);
}

static bool matches(const kl__catalogue *catalogue,
                    const kl__catalogue_entry *entry, const reading *wanted,
                    pass how)
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
static const kl__catalogue_entry *run_pass(const kl__catalogue *catalogue,
                                           const reading *wanted, pass how)
{
    const kl__catalogue_entry *found = NULL;

    for (size_t i = 0; i < catalogue->count; i++) {
        const kl__catalogue_entry *entry = &catalogue->entries[i];

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
static const kl__catalogue_entry *find_reading(const kl__catalogue *catalogue,
                                               const reading *wanted)
{
    int groups = wanted->group_may_be_prefix ? 2 : 1;
    const kl__catalogue_entry *found = NULL;

    for (int i = 0; found == NULL && i < groups * 4; i++) {
        pass how = {.by_prefix = i / 4 == 1,
                    .short_names = i / 2 % 2 == 1,
                    .stale = i % 2 == 1};

        found = run_pass(catalogue, wanted, how);
    }
    return found;
}

const kl__catalogue_entry *kl__catalogue_find(const kl__catalogue *catalogue,
                                              const char *name)
{
    reading readings[MAX_READINGS];
    int count = read_name(name, readings);
    const kl__catalogue_entry *found = NULL;

    for (int i = 0; found == NULL && i < count; i++) {
        if (readings[i].word.length != 0) {
            found = find_reading(catalogue, &readings[i]);
        }
    }
    return found;
}

/* Names of resources are DNS labels: at most 63 bytes. */
enum { MAX_WORD = 63, NEAREST = 3 };

typedef struct candidate {
    const kl__catalogue_entry *entry;
    unsigned distance;
} candidate;

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The number of letters to insert, remove, replace or swap with the next one to
 * make `a` of `b` (optimal string alignment); upper and lower case are equal.
 */
static unsigned distance_of(const char *a, size_t a_length, const char *b)
{
    unsigned rows[3][MAX_WORD + 1];
    size_t b_length = strlen(b);

    if (a_length > MAX_WORD || b_length > MAX_WORD) {
        return UINT32_MAX;
    }
    for (unsigned j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *higher = rows[(i + 1) % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = to_lower(a[i - 1]), y = to_lower(b[j - 1]);

            row[j] =
                least(least(row[j - 1], above[j]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == to_lower(b[j - 2]) &&
                to_lower(a[i - 2]) == y) {
                row[j] = least(row[j], higher[j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

static unsigned nearest_name(const kl__catalogue *catalogue,
                             const kl__catalogue_entry *entry, const char *word,
                             size_t length)
{
    unsigned plural =
        distance_of(word, length, kl__catalogue_text(catalogue, entry->plural));
    unsigned kind =
        distance_of(word, length, kl__catalogue_text(catalogue, entry->kind));

    return least(plural, kind);
}

/* True if a candidate of the same group and name is listed already, in another
 * version. */
static bool is_listed(const kl__catalogue *catalogue, const candidate *best,
                      size_t count, const kl__catalogue_entry *entry)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kl__catalogue_text(catalogue, best[i].entry->plural),
                   kl__catalogue_text(catalogue, entry->plural)) == 0 &&
            strcmp(kl__catalogue_text(catalogue, best[i].entry->group),
                   kl__catalogue_text(catalogue, entry->group)) == 0) {
            return true;
        }
    }
    return false;
}

/* Finds the nearest candidates, best first; returns their number. A candidate
 * that is much farther than the best one is left out: if a name matches
 * exactly, only exact matches stay. */
static size_t find_nearest(const kl__catalogue *catalogue, const char *name,
                           candidate best[NEAREST])
{
    size_t length, count = 0;
    const char *word = kl__resource_word(name, &length);
    unsigned bound = length < 4 ? 1 : least(2 + (unsigned)(length / 8), 4);

    for (size_t i = 0; i < catalogue->count; i++) {
        const kl__catalogue_entry *entry = &catalogue->entries[i];
        unsigned distance = nearest_name(catalogue, entry, word, length);
        size_t at = count;

        if (!entry->watchable || distance > bound ||
            is_listed(catalogue, best, count, entry)) {
            continue;
        }
        while (at > 0 && best[at - 1].distance > distance) {
            at--;
        }
        if (at < NEAREST) {
            count = count < NEAREST ? count + 1 : NEAREST;
            memmove(&best[at + 1], &best[at], (count - at - 1) * sizeof(*best));
            best[at] = (candidate){entry, distance};
        }
    }
    while (count > 0 && best[count - 1].distance > 2 * best[0].distance) {
        count--;
    }
    return count;
}

/* Appends "; did you mean A, B or C?", or nothing if no name is near. */
static void put_nearest(const kl__catalogue *catalogue, const char *name,
                        kl__buf *out)
{
    candidate best[NEAREST];
    size_t count = find_nearest(catalogue, name, best);

    for (size_t i = 0; i < count; i++) {
        const char *group = kl__catalogue_text(catalogue, best[i].entry->group);
        const char *joint = i == 0           ? "; did you mean "
                            : i + 1 == count ? " or "
                                             : ", ";

        kl__buf_printf(out, "%s%s%s%s", joint,
                       kl__catalogue_text(catalogue, best[i].entry->plural),
                       group[0] != '\0' ? "." : "", group);
    }
    if (count != 0) {
        kl__buf_putc(out, '?');
    }
}

/* True if a served group differs from this one by a letter or two, or is its
 * beginning: "apps" of "apps.k8s.io". */
static bool is_near_group(const kl__catalogue *catalogue, const char *group,
                          size_t length)
{
    for (size_t i = 0; i < catalogue->count; i++) {
        const char *own =
            kl__catalogue_text(catalogue, catalogue->entries[i].group);
        size_t own_length = strlen(own);
        bool is_beginning = own_length < length && group[own_length] == '.' &&
                            distance_of(group, own_length, own) == 0;

        if (own_length > 0 &&
            (is_beginning || distance_of(group, length, own) <= 2)) {
            return true;
        }
    }
    return false;
}

/* True if the server has this group, but discovery failed for it. */
static bool is_unreachable(const kl__catalogue *catalogue, const char *group,
                           size_t length)
{
    const kl__buf *texts = &catalogue->unreachable;

    return texts->length != 0 &&
           memmem(texts->bytes, texts->length, group, length) != NULL;
}

/* A group is a DNS subdomain (RFC 1123): what else stands in a name must not
 * get into the path of a request. */
static bool is_subdomain(const char *group, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char byte = to_lower(group[i]);

        if (!(byte >= 'a' && byte <= 'z') && !(byte >= '0' && byte <= '9') &&
            byte != '-' && byte != '.') {
            return false;
        }
    }
    return memchr(group, '.', length) != NULL;
}

const char *kl__catalogue_missing_group(const kl__catalogue *catalogue,
                                        const char *name, size_t *length)
{
    const char *group = kl__resource_group(name, length);

    if (*length > 0 && (!is_subdomain(group, *length) ||
                        is_unreachable(catalogue, group, *length) ||
                        kl__catalogue_has_group(catalogue, group, *length))) {
        *length = 0;
    }
    return group;
}

/* The missing group of a name, unless the server has a similar one. A group
 * without a dot, such as "extensions", is one of Kubernetes' own, whose
 * resources have moved to other groups: the message suggests near names. */
static const char *unserved_group(const kl__catalogue *catalogue,
                                  const char *name, size_t *length)
{
    const char *group = kl__catalogue_missing_group(catalogue, name, length);

    if (*length > 0 && is_near_group(catalogue, group, *length)) {
        *length = 0;
    }
    return group;
}

kl_code kl__catalogue_unknown(const kl__catalogue *catalogue, const char *name,
                              kl_error *err)
{
    kl__buf nearest = {0};
    size_t length, group_length;
    const char *group;
    kl_code code;

    kl__resource_word(name, &length);
    if (length == 0 || length > MAX_WORD) {
        return kl_error_set(err, KL_EUNKNOWN_KIND,
                            "\"%.100s\" names no resource; write it as "
                            "\"pods\", \"deployments.apps\" or "
                            "\"apps/v1/Deployment\"",
                            name);
    }
    group = unserved_group(catalogue, name, &group_length);
    if (group_length > 0) {
        return kl_error_set(err, KL_EUNKNOWN_KIND,
                            "the server serves no resource \"%.200s\", and "
                            "nothing of the group %.*s: install its CRD "
                            "(CustomResourceDefinition) or API server",
                            name, (int)least((unsigned)group_length, 200),
                            group);
    }
    put_nearest(catalogue, name, &nearest);
    if (nearest.failed) {
        kl__buf_deinit(&nearest);
        return kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
    }
    code = kl_error_set(
        err, KL_EUNKNOWN_KIND,
        "the server serves no resource \"%.200s\"%s%s%.300s%s", name,
        nearest.length != 0
            ? nearest.bytes
            : "; if it is a custom one, its CustomResourceDefinition is not "
              "installed yet",
        catalogue->unreachable.length != 0 ? "; it does not know " : "",
        catalogue->unreachable.length != 0 ? catalogue->unreachable.bytes : "",
        catalogue->unreachable.length != 0
            ? ", whose API server does not answer (kubectl get apiservices)"
            : "");
    kl__buf_deinit(&nearest);
    return code;
}
