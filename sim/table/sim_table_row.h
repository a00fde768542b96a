/*
 * sim_table_row.h - writes the cells of one row. Used by the files that know
 * the cells of a kind (sim_table_pod.c and others).
 */
#ifndef KL_SIM_TABLE_ROW_H
#define KL_SIM_TABLE_ROW_H

#include "sim/table/sim_table.h"

#include <stdbool.h>
#include <stddef.h>

/* All borrowed. */
typedef struct kl__sim_row {
    const kl__sim_table *table;
    const kl_value *root; /* may be NULL */
    kl__buf *out;
} kl__sim_row;

/* The cells of a kind, separated by '|'; a path is names with dots between.
 * Each is one cell, except &, which writes any number:
 *
 *   name            metadata.name
 *   age             since metadata.creationTimestamp
 *   s PATH[=WORD]   a text, or WORD where there is none
 *   i PATH          a number, 0 where there is none
 *   n PATH=WORD     a number, or WORD where there is none
 *   N PATH=WORD     a number or text as text, or WORD
 *   b PATH[=true]   a boolean, false where there is none
 *   a PATH=WORD     since that moment
 *   # PATH[,PATH]   how many elements there are
 *   c PATH, m PATH  names of the containers of a pod's spec, or images
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

/* Each writes one cell. When memory runs out, row->out keeps the failure. */
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
/* Writes how long something took, in kubectl's words: "3m2s". */
const char *kl__sim_duration(int64_t ms, char *age);
/* Writes how long ago a timestamp was; "<unknown>" if there is none. */
const char *kl__sim_age(const kl__sim_row *row, const char *timestamp,
                        char *age);

/* Appends an element of a list, after a separator unless it is the first. */
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

/* The first object in an array whose `member` is `text`. */
const kl_value *kl__sim_with(const kl_value *array, const char *member,
                             const char *text);

/* A pod's cells. */
void kl__sim_cells_pod(const kl__sim_row *row);
/* The cells of a custom resource, except the first (its name). */
void kl__sim_cells_custom(const kl__sim_row *row,
                          const kl__sim_version *version);

#endif
