/*
 * change.c - makes the changes of the public calls that write. The same
 * endpoints in another order give the same block, so that such a put publishes
 * nothing. See change.h.
 */
#include "shared/change.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

kl__shared_change *kl__change_new(kl__change_kind kind, size_t words,
                                  kl_error *err)
{
    kl__shared_change *change = kl__calloc(1, sizeof(*change) + words * 8);

    if (change == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    change->kind = kind;
    change->words = (uint32_t)words;
    change->block[KL__BLOCK_LINK] = words;
    return change;
}

/* Makes a change of the entry `key`, with a zeroed value of `value_words`
 * words; NULL: KL_ENOMEM. */
static kl__shared_change *make_change(kl__change_kind kind,
                                      const kl_shared_key *key,
                                      size_t value_words, kl_error *err)
{
    size_t name_words = kl__words_of(key->name_length);
    size_t value_at = kl__value_at(key->name_length);
    kl__shared_change *change = kl__change_new(
        kind, value_at + kl__line_words((uint32_t)value_words), err);

    if (change != NULL) {
        change->name_length = key->name_length;
        change->block[KL__BLOCK_HASH] = key->hash;
        change->block[KL__BLOCK_FORM] = key->name_length;
        memcpy(&change->block[KL__BLOCK_HEAD], key->name, name_words * 8);
    }
    return change;
}

kl__shared_change *kl__change_put(const kl_shared_key *key, const void *value,
                                  size_t size, kl_error *err)
{
    kl__shared_change *change;

    if (size > KL_SHARED_VALUE_MAX) {
        kl_error_set(err, KL_ETOO_LARGE,
                     "a value of %zu bytes in a shared map: %d at most", size,
                     KL_SHARED_VALUE_MAX);
        return NULL;
    }
    change = make_change(KL__CHANGE_PUT, key, kl__words_of(size), err);
    if (change == NULL) {
        return NULL;
    }
    change->block[KL__BLOCK_FORM] |=
        (uint64_t)KL__BLOCK_BYTES << 16 | (uint64_t)size << 32;
    if (size > 0) {
        memcpy(&change->block[kl__value_at(key->name_length)], value, size);
    }
    return change;
}

kl__shared_change *kl__change_remove(const kl_shared_key *key, kl_error *err)
{
    return make_change(KL__CHANGE_REMOVE, key, 0, err);
}

kl__shared_change *kl__change_refuse(const kl_shared_key *key, const char *why,
                                     kl_error *err)
{
    kl__shared_change *change = kl__change_put(key, why, strlen(why) + 1, err);

    if (change != NULL) {
        change->is_refused = true;
    }
    return change;
}

kl__shared_change *kl__change_complete(const char *table, kl_error *err)
{
    size_t length = strlen(table);
    kl__shared_change *change;

    if (length == 0 || length > KL_SHARED_TABLE_MAX) {
        kl_error_set(err, KL_EINVAL,
                     "the name of a table has 1 to %d bytes, not %zu",
                     KL_SHARED_TABLE_MAX, length);
        return NULL;
    }
    change = kl__change_new(KL__CHANGE_COMPLETE,
                            KL__BLOCK_HEAD + kl__text_words(length), err);
    if (change != NULL) {
        /* with its NUL, as in the names of entries */
        change->name_length = (uint32_t)length + 1;
        memcpy(&change->block[KL__BLOCK_HEAD], table, length);
    }
    return change;
}

typedef enum class_of {
    CLASS_READY,
    CLASS_SERVING,
    CLASS_OTHER,
    CLASSES
} class_of;

/* An endpoint with its sort keys. */
typedef struct ranked {
    kl_endpoint endpoint;
    class_of class_;
    uint64_t zone, node, identity, host;
    size_t host_length, zone_length, node_length, pod_length;
    uint32_t texts_at; /* in words from the first text */
} ranked;

struct kl__ranking {
    size_t count;
    size_t by_zone;    /* so many more follow in `all`: see layout.h */
    size_t text_words; /* of all texts */
    ranked all[];
};

static int compare_texts(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_identity(const void *a_, const void *b_)
{
    const ranked *a = a_, *b = b_;
    int order = compare_texts(a->identity, b->identity);

    return order != 0 ? order : compare_texts(a->class_, b->class_);
}

static int by_place(const void *a_, const void *b_)
{
    const ranked *a = a_, *b = b_;
    int order = compare_texts(a->class_, b->class_);

    order = order != 0 ? order : compare_texts(a->zone, b->zone);
    order = order != 0 ? order : compare_texts(a->node, b->node);
    return order != 0 ? order : compare_texts(a->identity, b->identity);
}

/* Most Services have few endpoints, and qsort takes five times as long for
 * three. */
static void sort_ranked(ranked *all, size_t count,
                        int (*compare)(const void *, const void *))
{
    if (count > 16) {
        qsort(all, count, sizeof(*all), compare);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        ranked one = all[i];
        size_t at = i;

        for (; at > 0 && compare(&one, &all[at - 1]) < 0; at--) {
            all[at] = all[at - 1];
        }
        all[at] = one;
    }
}

/* The hash of "host:port". A printf here would be a third of a publish. */
static uint64_t identity_of(const kl_endpoint *endpoint, size_t host_length)
{
    char text[KL_SHARED_HOST_MAX + 8];
    char *end = text + host_length;
    uint32_t unit = 10000;

    memcpy(text, endpoint->host, host_length);
    *end++ = ':';
    while (unit > 1 && endpoint->port < unit) {
        unit /= 10;
    }
    for (; unit > 0; unit /= 10) {
        *end++ = (char)('0' + endpoint->port / unit % 10);
    }
    return kl_shared_hash(text, (size_t)(end - text));
}

static class_of classify_endpoint(const kl_endpoint *endpoint)
{
    if (endpoint->weight == 0) {
        return CLASS_OTHER;
    }
    if (endpoint->flags & KL_ENDPOINT_READY) {
        return CLASS_READY;
    }
    return endpoint->flags & KL_ENDPOINT_SERVING ? CLASS_SERVING : CLASS_OTHER;
}

static size_t length_of(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static uint64_t place_of(const char *text, size_t length)
{
    return length > 0 ? kl_shared_hash(text, length) : 0;
}

static uint64_t first_zone(const char *zones)
{
    return place_of(zones, strcspn(zones, ","));
}

static kl_code rank_endpoint(const kl_endpoint *endpoint, ranked *to,
                             kl_error *err)
{
    to->endpoint = *endpoint;
    to->host_length = length_of(endpoint->host);
    to->zone_length = length_of(endpoint->zone);
    to->node_length = length_of(endpoint->node);
    to->pod_length = length_of(endpoint->pod);
    if (to->host_length == 0) {
        return kl_error_set(err, KL_EINVAL, "an endpoint without a host");
    }
    if (to->host_length > KL_SHARED_HOST_MAX ||
        to->zone_length > KL_SHARED_ZONES_MAX ||
        to->node_length > KL_SHARED_NODE_MAX ||
        to->pod_length > KL_SHARED_POD_MAX) {
        return kl_error_set(err, KL_ETOO_LARGE,
                            "an endpoint's host, zone, node or pod of %zu, "
                            "%zu, %zu and %zu bytes: %d at most",
                            to->host_length, to->zone_length, to->node_length,
                            to->pod_length, KL_SHARED_HOST_MAX);
    }
    to->class_ = classify_endpoint(endpoint);
    to->zone = to->zone_length > 0 ? first_zone(endpoint->zone) : 0;
    to->node = place_of(endpoint->node, to->node_length);
    to->identity = identity_of(endpoint, to->host_length);
    to->host = kl_shared_hash(endpoint->host, to->host_length);
    return KL_OK;
}

static size_t text_words_of(const ranked *one)
{
    size_t words =
        kl__text_words(one->zone_length) + kl__text_words(one->node_length);

    /* most owners know no pods, so one that is missing takes no word */
    words += one->pod_length > 0 ? kl__text_words(one->pod_length) : 0;

    return one->host_length < KL__RECORD_HOST_SIZE
               ? words
               : words + kl__text_words(one->host_length);
}

/* Sorts the endpoints as layout.h says. Of several with the same host and port,
 * one of the best class is kept. */
static void sort_endpoints(kl__ranking *self)
{
    ranked *all = self->all;
    size_t kept = 0;

    sort_ranked(all, self->count, by_identity);
    for (size_t i = 0; i < self->count; i++) {
        if (kept == 0 || all[kept - 1].identity != all[i].identity) {
            all[kept++] = all[i];
        }
    }
    self->count = kept;
    sort_ranked(all, kept, by_place);
    for (size_t i = 0; i < kept; i++) {
        all[i].texts_at = (uint32_t)self->text_words;
        self->text_words += text_words_of(&all[i]);
    }
}

/* The number of records by zone that these endpoints have at most; 0: each is
 * for one zone. */
static size_t count_by_zone(const kl_endpoint *endpoints, size_t count)
{
    size_t zones = count;

    for (size_t i = 0; i < count; i++) {
        const char *zone = endpoints[i].zone;

        while (zone != NULL && (zone = strchr(zone, ',')) != NULL) {
            zone++;
            zones++;
        }
    }
    return zones > count ? zones : 0;
}

/* Appends a record of an endpoint for each zone that its hint names, each zone
 * once. The array has room: count_by_zone counted the zones. */
static void add_zones(kl__ranking *self, const ranked *one)
{
    ranked *first = &self->all[self->count + self->by_zone], *end = first;
    const char *zone = one->zone_length > 0 ? one->endpoint.zone : "";

    while (*zone != '\0') {
        const ranked *same = first;

        *end = *one;
        end->zone = first_zone(zone);
        while (same->zone != end->zone) {
            same++;
        }
        end += same == end ? 1 : 0;
        zone += strcspn(zone, ",");
        zone += *zone == ',' ? 1 : 0;
    }
    self->by_zone += (size_t)(end - first);
}

static void sort_zones(kl__ranking *self)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->all[i].class_ != CLASS_OTHER) {
            add_zones(self, &self->all[i]);
        }
    }
    if (self->by_zone > UINT16_MAX) {
        self->by_zone = 0; /* more than can be counted: first zones only */
    }
    sort_ranked(&self->all[self->count], self->by_zone, by_place);
}

kl__ranking *kl__ranking_new(const kl_endpoint *endpoints, size_t count,
                             kl_error *err)
{
    kl__ranking *self;
    size_t by_zone;

    if (count > KL_SHARED_ENDPOINTS_MAX) {
        kl_error_set(err, KL_ETOO_LARGE,
                     "%zu endpoints in an entry of a shared map: %d at most",
                     count, KL_SHARED_ENDPOINTS_MAX);
        return NULL;
    }
    by_zone = count_by_zone(endpoints, count);
    self = kl__malloc(sizeof(*self) + (count + by_zone) * sizeof(ranked));
    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    *self = (kl__ranking){.count = count};
    for (size_t i = 0; i < count; i++) {
        if (rank_endpoint(&endpoints[i], &self->all[i], err) != KL_OK) {
            kl__free(self);
            return NULL;
        }
    }
    sort_endpoints(self);
    if (by_zone > 0) {
        sort_zones(self);
    }
    return self;
}

static void write_record(uint64_t *record, const ranked *one, uint32_t before,
                         uint32_t texts_at)
{
    const kl_endpoint *endpoint = &one->endpoint;

    record[KL__RECORD_ZONE] = one->zone;
    record[KL__RECORD_NODE] = one->node;
    record[KL__RECORD_IDENTITY] = one->identity;
    record[KL__RECORD_FORM] =
        (uint64_t)endpoint->port | (uint64_t)endpoint->weight << 16 |
        (uint64_t)endpoint->flags << 32 | (uint64_t)one->host_length << 48;
    record[KL__RECORD_PLACE] = kl__pair(texts_at, before);
    record[KL__RECORD_TEXTS] =
        (uint64_t)one->zone_length | (uint64_t)one->node_length << 8 |
        (uint64_t)one->pod_length << 16 | kl__host_part(one->host) << 24;
}

static uint64_t *write_text(uint64_t *to, const char *text, size_t length)
{
    if (length > 0) {
        memcpy(to, text, length);
    }
    return to + kl__text_words(length);
}

/* Writes records one after the other, and counts them by class. */
static void write_records(uint64_t *record, uint32_t texts_at,
                          const ranked *all, size_t count, uint64_t *counts)
{
    uint32_t before = 0;

    for (size_t i = 0; i < count; i++, record += KL__RECORD_WORDS) {
        const ranked *one = &all[i];

        write_record(record, one, before, texts_at + one->texts_at);
        if (one->host_length < KL__RECORD_HOST_SIZE) {
            memcpy(&record[KL__RECORD_HOST], one->endpoint.host,
                   one->host_length);
        }
        before += one->endpoint.weight;
        counts[one->class_]++;
    }
}

static void write_texts(uint64_t *to, const ranked *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ranked *one = &all[i];

        if (one->host_length >= KL__RECORD_HOST_SIZE) {
            to = write_text(to, one->endpoint.host, one->host_length);
        }
        to = write_text(to, one->endpoint.zone, one->zone_length);
        to = write_text(to, one->endpoint.node, one->node_length);
        if (one->pod_length > 0) {
            to = write_text(to, one->endpoint.pod, one->pod_length);
        }
    }
}

static bool has_weights(const kl__ranking *self)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->all[i].class_ != CLASS_OTHER &&
            self->all[i].endpoint.weight != self->all[0].endpoint.weight) {
            return true;
        }
    }
    return false;
}

static void write_all(uint64_t *block, uint32_t value_at,
                      const kl__ranking *self)
{
    uint64_t counts[CLASSES] = {0}, by_zone[CLASSES] = {0};
    size_t zones_at = value_at + self->count * KL__RECORD_WORDS;
    size_t texts_at = zones_at + self->by_zone * KL__RECORD_WORDS;

    write_records(&block[value_at], (uint32_t)texts_at, self->all, self->count,
                  counts);
    write_records(&block[zones_at], (uint32_t)texts_at, &self->all[self->count],
                  self->by_zone, by_zone);
    write_texts(&block[texts_at], self->all, self->count);
    block[KL__BLOCK_FORM] |= (uint64_t)KL__BLOCK_ENDPOINTS << 16 |
                             (uint64_t)has_weights(self) << 24 |
                             by_zone[CLASS_READY] << 32 |
                             by_zone[CLASS_SERVING] << 48;
    block[KL__BLOCK_COUNTS] = counts[CLASS_READY] |
                              counts[CLASS_SERVING] << 16 |
                              (uint64_t)self->count << 32;
}

kl__shared_change *kl__change_put_ranking(const kl_shared_key *key,
                                          const kl__ranking *ranking,
                                          kl_error *err)
{
    size_t words = (ranking->count + ranking->by_zone) * KL__RECORD_WORDS +
                   ranking->text_words;
    kl__shared_change *change = make_change(KL__CHANGE_PUT, key, words, err);

    if (change != NULL) {
        write_all(change->block, kl__value_at(key->name_length), ranking);
    }
    return change;
}

kl__shared_change *kl__change_put_endpoints(const kl_shared_key *key,
                                            const kl_endpoint *endpoints,
                                            size_t count, kl_error *err)
{
    kl__ranking *ranking = kl__ranking_new(endpoints, count, err);
    kl__shared_change *change = NULL;

    if (ranking != NULL) {
        change = kl__change_put_ranking(key, ranking, err);
        kl__free(ranking);
    }
    return change;
}
