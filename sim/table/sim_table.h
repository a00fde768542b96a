/*
 * sim_table.h - Tables, the answers for `kubectl get`: the columns of a kind
 * and the cells of an object.
 */
#ifndef KL_SIM_TABLE_H
#define KL_SIM_TABLE_H

#include "base/buf.h"
#include "sim/kinds/sim_kinds.h"

#include <stdint.h>

typedef struct kl__sim_table {
    const kl__sim_kind *kind;
    const char *version; /* of the request */
    int64_t now_ms;      /* Unix time, from which ages are counted */
} kl__sim_table;

/* Appends the column definitions as JSON. When memory runs out, `out` keeps the
 * failure. */
void kl__sim_table_columns(const kl__sim_kind *kind, const char *version,
                           kl__buf *out);

/* True if the kind has no cells of its own: an empty table then has no "rows"
 * member. */
bool kl__sim_table_is_plain(const kl__sim_kind *kind);

/* Appends an object's cells as JSON; NULL is an empty object. */
void kl__sim_table_cells(const kl__sim_table *table, const kl_value *root,
                         kl__buf *out);

#endif
