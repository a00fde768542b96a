/*
 * sim_table_row.h - writes the cells of one row, for the files that have the
 * cells of some kinds (sim_table_pod.c and others).
 */
#ifndef KL_SIM_TABLE_ROW_H
#define KL_SIM_TABLE_ROW_H

#include "sim/core/table/sim_table.h"

#include <stdbool.h>
#include <stddef.h>

/* All borrowed. */
typedef struct kl__sim_row {
    const kl__sim_table *table;
    const kl_value *root; /* may be NULL */
    kl__buf *out;
} kl__sim_row;

/* The cells of a kind, separated by '|'. A PATH is names with dots between
 * them. Each word writes one cell, except &WORD, which may write several:
 *
 *   name            metadata.name
 *   age             the time since metadata.creationTimestamp
 *   s PATH[=WORD]   a text; if absent, WORD or ""
 *   i PATH          a number; if absent, 0
 *   n PATH=WORD     a number; if absent, WORD
 *   N PATH=WORD     a number or text, written as text; if absent, WORD
 *   b PATH[=true]   a boolean; if absent, false (or true)
 *   a PATH[=WORD]   the time since a timestamp; if absent, WORD
 *   # PATH[,PATH]   how many elements or members the values have
 *   c PATH          names of the containers in the pod spec at PATH
 *   m PATH          images of these containers
 *   l PATH          labels
 *   L PATH          a label selector
 *   &WORD           the kl__sim_special of that name
 */
typedef struct kl__sim_cells {
    const char *group;
    const char *plural;
    const char *cells;
} kl__sim_cells;

extern const kl__sim_cells kl__sim_cells_table[]; /* ends with plural == NULL */

typedef struct kl__sim_special {
    const char *name;
    void (*write)(const kl__sim_row *row);
} kl__sim_special;

/* Each table ends with name == NULL. */
extern const kl__sim_special kl__sim_specials_load[]; /* workloads */
extern const kl__sim_special kl__sim_specials_network[];
/* nodes, volumes, roles, ... */
extern const kl__sim_special kl__sim_specials_cluster[];

/* Each function writes one cell. When memory runs out, row->out keeps the
 * failure. */
void kl__sim_cell_text(const kl__sim_row *row, const char *text);
void kl__sim_cell_printf(const kl__sim_row *row, const char *format, ...)
    KL_PRINTF(2, 3);
void kl__sim_cell_integer(const kl__sim_row *row, int64_t value);
void kl__sim_cell_bool(const kl__sim_row *row, bool value);
void kl__sim_cell_null(const kl__sim_row *row);
/* Writes JSON as it is. */
void kl__sim_cell_raw(const kl__sim_row *row, const char *json);
/* Writes the text in a buffer, and empties it. */
void kl__sim_cell_take(const kl__sim_row *row, kl__buf *text);

/* The value at a path of names, or NULL. */
const kl_value *kl__sim_at(const kl_value *value, const char *path);
/* The text at a path, or `otherwise`. */
const char *kl__sim_text_at(const kl_value *value, const char *path,
                            const char *otherwise);

enum { KL__SIM_AGE_SIZE = 48 };
/* A duration in kubectl's form: "3m2s". Written to `age` (KL__SIM_AGE_SIZE
 * bytes); the result is `age` or a static text. */
const char *kl__sim_duration(int64_t ms, char *age);
/* The same for the time since a timestamp; "<unknown>" if it is NULL or
 * malformed. */
const char *kl__sim_age(const kl__sim_row *row, const char *timestamp,
                        char *age);

/* Appends a text, after a separator if `out` is not empty. */
void kl__sim_join(kl__buf *out, const char *separator, const char *text);
/* Appends labels, or the requirements of a label selector, sorted by key;
 * `nothing` if there are none. */
void kl__sim_join_labels(kl__buf *out, const kl_value *labels,
                         const char *nothing);
void kl__sim_join_selector(kl__buf *out, const kl_value *selector,
                           const char *nothing);

/* A text, or a number written into `room`; "" for any other value. */
enum { KL__SIM_SCALAR_SIZE = 32 };
const char *kl__sim_scalar(const kl_value *value, char *room);
/* Turns ASCII letters into lower case. */
void kl__sim_lower(char *text);

/* The first object in an array whose `member` is `text`; NULL: none. */
const kl_value *kl__sim_with(const kl_value *array, const char *member,
                             const char *text);

/* Writes the cells of a pod. */
void kl__sim_cells_pod(const kl__sim_row *row);
/* Writes the cells of a custom object, except for the first, its name. */
void kl__sim_cells_custom(const kl__sim_row *row,
                          const kl__sim_version *version);

#endif
