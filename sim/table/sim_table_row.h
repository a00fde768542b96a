/*
 * sim_table_row.h - the cells of a row as they are written, for the files that
 * know what a kind's are.
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

/* What stands in for the columns of a kind, separated by '|'; a path is one of
 * names with dots between. Each is one cell (but for &, which writes its own):
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

extern const kl__sim_cells kl__sim_cells_table[]; /* ends with a NULL plural */

typedef struct kl__sim_special {
    const char *name;
    void (*write)(const kl__sim_row *row);
} kl__sim_special;

/* Each ends with a NULL name. */
extern const kl__sim_special kl__sim_specials_load[]; /* of work loads */
extern const kl__sim_special kl__sim_specials_network[];
extern const kl__sim_special kl__sim_specials_cluster[]; /* nodes, volumes,
                                                            rights, ... */

/* One cell each; out of memory sticks in row->out. */
void kl__sim_cell_text(const kl__sim_row *row, const char *text);
void kl__sim_cell_printf(const kl__sim_row *row, const char *format, ...)
    KL_PRINTF(2, 3);
void kl__sim_cell_integer(const kl__sim_row *row, int64_t value);
void kl__sim_cell_bool(const kl__sim_row *row, bool value);
void kl__sim_cell_null(const kl__sim_row *row);
/* JSON as it is. */
void kl__sim_cell_raw(const kl__sim_row *row, const char *json);
/* A text that was made; takes the buffer's bytes. */
void kl__sim_cell_take(const kl__sim_row *row, kl__buf *text);

/* The value at a path of names, or NULL. */
const kl_value *kl__sim_at(const kl_value *value, const char *path);
/* The text at a path, or `otherwise`. */
const char *kl__sim_text_at(const kl_value *value, const char *path,
                            const char *otherwise);

enum { KL__SIM_AGE_SIZE = 48 };
/* Writes how long something took or takes, as kubectl does: "3m2s". */
const char *kl__sim_duration(int64_t ms, char *age);
/* Writes how long ago a timestamp was; "<unknown>" of none. */
const char *kl__sim_age(const kl__sim_row *row, const char *timestamp,
                        char *age);

/* Appends an element of a list, with a separator before all but the first. */
void kl__sim_join(kl__buf *out, const char *separator, const char *text);
/* Appends labels, or a label selector's requirements, in order of their keys;
 * `nothing` where there are none. */
void kl__sim_join_labels(kl__buf *out, const kl_value *labels,
                         const char *nothing);
void kl__sim_join_selector(kl__buf *out, const kl_value *selector,
                           const char *nothing);

/* A text, or a number written into `room`; "" for anything else. */
enum { KL__SIM_SCALAR_SIZE = 32 };
const char *kl__sim_scalar(const kl_value *value, char *room);
/* Makes ASCII letters small. */
void kl__sim_lower(char *text);

/* The first element of an array of objects whose member is that text. */
const kl_value *kl__sim_with(const kl_value *array, const char *member,
                             const char *text);

/* A pod's cells. */
void kl__sim_cells_pod(const kl__sim_row *row);
/* A custom resource's, but for the first. */
void kl__sim_cells_custom(const kl__sim_row *row,
                          const kl__sim_version *version);

#endif
