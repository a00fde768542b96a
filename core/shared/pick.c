/*
 * pick.c - copies endpoints out of an entry: all, or the one to use next.
 * Records are sorted by class (ready, serving), zone, node and identity, so the
 * endpoints of a node or zone are a range.
 */
#include "shared/records.h"

#include <string.h>

/* Copies a text of `length` bytes out of the block. False: it is not inside the
 * block, or there is no room for its NUL. */
static bool copy_view_text(const kl__shared_view *view, uint64_t at,
                           size_t length, size_t room, char *to)
{
    uint32_t words = kl__text_words(length);
    uint64_t text[(KL_SHARED_HOST_MAX + 1) / 8];

    if (length >= room || words > view->words || at > view->words - words) {
        return false;
    }
    kl__shared_copy_out(view->block + at, words, text);
    memcpy(to, text, length);
    to[length] = '\0';
    return true;
}

static bool copy_places(const kl__shared_view *view, const kl__word *record,
                        uint64_t at, kl_pick *pick)
{
    uint64_t lengths = kl__word_load(&record[KL__RECORD_TEXTS]);
    uint8_t zone = kl__byte(lengths, 0), node = kl__byte(lengths, 1);
    uint8_t pod = kl__byte(lengths, 2);
    uint64_t node_at = at + kl__text_words(zone);

    return copy_view_text(view, at, zone, sizeof(pick->zone), pick->zone) &&
           copy_view_text(view, node_at, node, sizeof(pick->node),
                          pick->node) &&
           (pod == 0 || copy_view_text(view, node_at + kl__text_words(node),
                                       pod, sizeof(pick->pod), pick->pod));
}

/* Copies the host. A short one is in the record; a long one is the first of the
 * record's texts, at `at`, which is moved behind it. */
static bool copy_host(const kl__shared_view *view, const kl__word *record,
                      uint64_t *at, kl_pick *pick)
{
    uint32_t length = pick->host_length;
    uint64_t host[KL__RECORD_HOST_SIZE / 8];
    uint64_t text = *at;

    if (length >= KL__RECORD_HOST_SIZE) {
        *at += kl__text_words(length);
        return copy_view_text(view, text, length, sizeof(pick->host),
                              pick->host);
    }
    kl__shared_copy_out(&record[KL__RECORD_HOST], KL__RECORD_HOST_SIZE / 8,
                        host);
    memcpy(pick->host, host, KL__RECORD_HOST_SIZE);
    pick->host[length] = '\0';
    return true;
}

static bool copy_record(const kl__shared_view *view,
                        const kl__entry_records *records,
                        const kl__word *record, bool with_places, kl_pick *pick)
{
    uint64_t form = kl__word_load(&record[KL__RECORD_FORM]);
    uint64_t at = kl__high(kl__word_load(&record[KL__RECORD_PLACE]));

    pick->identity = kl__word_load(&record[KL__RECORD_IDENTITY]);
    pick->version = view->version;
    pick->port = kl__quarter(form, 0);
    pick->weight = kl__quarter(form, 1);
    pick->flags = kl__quarter(form, 2);
    pick->ready = (uint16_t)records->all.ready;
    pick->total = (uint16_t)records->all.total;
    pick->host_length = kl__quarter(form, 3);
    pick->zone[0] = '\0';
    pick->node[0] = '\0';
    pick->pod[0] = '\0';
    return copy_host(view, record, &at, pick) &&
           (!with_places || copy_places(view, record, at, pick));
}

/* Chooses a record of the range that is not excluded; NULL: none. */
static const kl__word *choose_record(const kl__records *records,
                                     kl__range range,
                                     const kl_pick_options *options,
                                     uint32_t turn)
{
    uint32_t index = KL__NO_RECORD;

    if (range.first < range.end) {
        index = options->hash != 0
                    ? kl__choose_by_hash(records, range, options)
                    : kl__choose_by_turn(records, range, options, turn);
    }
    return index != KL__NO_RECORD ? kl__records_at(records, index) : NULL;
}

typedef enum class_of { CLASS_READY, CLASS_SERVING } class_of;

static kl__range range_of(const kl__records *records, class_of class_)
{
    return class_ == CLASS_READY ? (kl__range){0, records->ready}
                                 : (kl__range){records->ready, records->usable};
}

/* Chooses the nearest record of a class: of the node, else of the zone, else
 * any. */
static const kl__word *choose_nearest(const kl__entry_records *records,
                                      class_of class_,
                                      const kl_pick_options *options,
                                      kl_pick *pick, uint32_t turn)
{
    const kl__records *all = &records->all, *by_zone = &records->by_zone;
    const kl__word *record = NULL;

    if (options->node != 0) {
        pick->scope = KL_PICK_NODE;
        record = choose_record(
            all, kl__find_node(all, range_of(all, class_), options->node),
            options, turn);
    }
    if (record == NULL && options->zone != 0) {
        pick->scope = KL_PICK_ZONE;
        record = choose_record(
            by_zone,
            kl__find_zone(by_zone, range_of(by_zone, class_), options->zone),
            options, turn);
    }
    if (record == NULL) {
        pick->scope = KL_PICK_ALL;
        record = choose_record(all, range_of(all, class_), options, turn);
    }
    return record;
}

static kl_shared_result pick_one(const kl__shared_view *view,
                                 const kl_pick_options *options, uint32_t turn,
                                 kl_pick *pick)
{
    kl__entry_records records;
    kl_shared_result result = kl__records_open(view, &records);
    const kl__word *record;

    if (result != KL_SHARED_OK) {
        return result;
    }
    if (records.all.usable == 0) {
        return KL_SHARED_EMPTY;
    }
    record = choose_nearest(&records, CLASS_READY, options, pick, turn);
    if (record == NULL) {
        record = choose_nearest(&records, CLASS_SERVING, options, pick, turn);
    }
    if (record == NULL) {
        return KL_SHARED_EXCLUDED;
    }
    return copy_record(view, &records, record, options->with_places != 0, pick)
               ? KL_SHARED_OK
               : KL_SHARED_BROKEN;
}

kl_shared_result kl_shared_pick(const kl_shared *map, kl_shared_key *key,
                                const kl_pick_options *options, kl_pick *pick)
{
    static const kl_pick_options defaults;
    kl__shared_view view = {0};
    uint32_t turn = kl__low(kl__shared_process_seed()) + key->turn;
    kl_shared_result result;

    options = options != NULL ? options : &defaults;
    while (kl__shared_view_begin(map, key, &view)) {
        result = view.found == KL_SHARED_OK
                     ? pick_one(&view, options, turn, pick)
                     : view.found;
        if (kl__shared_view_end(map, &view)) {
            key->turn++;
            pick->version = view.version;
            return result;
        }
    }
    pick->version = view.version;
    return KL_SHARED_BUSY;
}

static kl_shared_result copy_all(const kl__shared_view *view, kl_pick *picks,
                                 uint32_t capacity, uint32_t *count)
{
    kl__entry_records records;
    kl_shared_result result = kl__records_open(view, &records);

    if (result != KL_SHARED_OK) {
        return result;
    }
    *count = records.all.total;
    if (records.all.total > capacity) {
        return KL_SHARED_TOO_SMALL;
    }
    for (uint32_t i = 0; i < records.all.total; i++) {
        if (!copy_record(view, &records, kl__records_at(&records.all, i), true,
                         &picks[i])) {
            return KL_SHARED_BROKEN;
        }
        picks[i].scope = KL_PICK_ALL;
    }
    return KL_SHARED_OK;
}

kl_shared_result kl_shared_endpoints(const kl_shared *map, kl_shared_key *key,
                                     kl_pick *picks, uint32_t capacity,
                                     uint32_t *count)
{
    kl__shared_view view = {0};
    kl_shared_result result;

    while (kl__shared_view_begin(map, key, &view)) {
        *count = 0;
        result = view.found == KL_SHARED_OK
                     ? copy_all(&view, picks, capacity, count)
                     : view.found;
        if (kl__shared_view_end(map, &view)) {
            return result;
        }
    }
    return KL_SHARED_BUSY;
}
