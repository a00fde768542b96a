/*
 * lists.c - clears and sorts the lists that readers of the cache get. No lock
 * is held while a list is sorted.
 */
#include "object/lists.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void kl_object_list_clear(kl_object_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kl_object_unref(list->items[i]);
    }
    kl__free(list->items);
    *list = (kl_object_list){0};
}

void kl_string_list_clear(kl_string_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kl__free(list->items[i]);
    }
    kl__free(list->items);
    *list = (kl_string_list){0};
}

static int by_key(const void *a, const void *b)
{
    return strcmp(kl_object_key(*(kl_object *const *)a),
                  kl_object_key(*(kl_object *const *)b));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * A key to sort, and eight bytes of it as a number of the same order. Most
 * comparisons are of these numbers, which lie side by side; so sorting seldom
 * goes to where the keys are. Measured: 10,000 keys such as web/shop-1007 in a
 * third of the time of qsort with strcmp.
 */
typedef struct entry {
    uint64_t head;
    const char *rest; /* begins with the bytes of `head` */
    void *item;
} entry;

enum {
    FEW = 32,       /* qsort sorts fewer items as fast */
    FEW_HEADS = 12, /* sorted by insertion */
    DEEPEST = 64    /* heads in turn; then strcmp compares what is equal */
};

static uint64_t read_head(const char *text)
{
    uint64_t head = 0;

    for (int i = 0; i < 8 && text[i] != '\0'; i++) {
        head |= (uint64_t)(unsigned char)text[i] << (56 - 8 * i);
    }
    return head;
}

static void insert_heads(entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        entry inserted = entries[i];
        size_t to = i;

        for (; to > 0 && inserted.head < entries[to - 1].head; to--) {
            entries[to] = entries[to - 1];
        }
        entries[to] = inserted;
    }
}

/* A merge sort. `spare` has room for half of the entries. */
static void sort_heads(entry *entries, entry *spare, size_t count)
{
    size_t half = count / 2, left = 0, right = half, to = 0;

    if (count <= FEW_HEADS) {
        insert_heads(entries, count);
        return;
    }
    sort_heads(entries, spare, half);
    sort_heads(entries + half, spare, count - half);
    if (entries[half - 1].head <= entries[half].head) {
        return;
    }
    memcpy(spare, entries, half * sizeof(*spare));
    while (left < half) {
        if (right < count && entries[right].head < spare[left].head) {
            entries[to++] = entries[right++];
        } else {
            entries[to++] = spare[left++];
        }
    }
}

static int by_rest(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->rest, ((const entry *)b)->rest);
}

/* Sorts by head, then those of one head by what follows in their keys. */
static void sort_entries(entry *entries, entry *spare, size_t count, int depth)
{
    size_t end;

    if (depth == DEEPEST) {
        qsort(entries, count, sizeof(*entries), by_rest);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i].head = read_head(entries[i].rest);
    }
    sort_heads(entries, spare, count);
    for (size_t from = 0; from < count; from = end) {
        uint64_t head = entries[from].head;

        for (end = from + 1; end < count && entries[end].head == head; end++) {
        }
        /* If its last byte is NUL, the head is the end of these keys. */
        if (end - from == 1 || (head & 0xff) == 0) {
            continue;
        }
        for (size_t i = from; i < end; i++) {
            entries[i].rest += sizeof(head);
        }
        sort_entries(entries + from, spare, end - from, depth + 1);
    }
}

static const char *text_to_sort(const void *text)
{
    return text;
}

static const char *key_to_sort(const void *object)
{
    return kl_object_key(object);
}

/* A list of pointers, to texts or to objects. */
typedef struct pointers {
    char *bytes; /* they look alike, whatever they point to */
    size_t count;
    const char *(*read_key)(const void *item);
    int (*compare)(const void *a, const void *b);
} pointers;

static void sort_pointers(const pointers *list)
{
    enum { SIZE = sizeof(void *) };
    size_t count = list->count;
    entry *entries = NULL;

    if (count > FEW) {
        entries = kl__calloc(count + count / 2, sizeof(*entries));
    }
    if (entries == NULL) {
        /* Few, or no memory: qsort needs none of the library's. */
        if (count > 1) {
            qsort(list->bytes, count, SIZE, list->compare);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(&entries[i].item, list->bytes + i * SIZE, SIZE);
        entries[i].rest = list->read_key(entries[i].item);
    }
    sort_entries(entries, entries + count, count, 0);
    for (size_t i = 0; i < count; i++) {
        memcpy(list->bytes + i * SIZE, &entries[i].item, SIZE);
    }
    kl__free(entries);
}

void kl__object_list_sort(kl_object_list *list)
{
    sort_pointers(
        &(pointers){(char *)list->items, list->count, key_to_sort, by_key});
}

void kl__string_list_sort(kl_string_list *list)
{
    sort_pointers(
        &(pointers){(char *)list->items, list->count, text_to_sort, by_text});
}
