/*
 * sim_table.h - what `kubectl get` shows of a kind: columns, and the cells of
 * an object.
 */
#ifndef KL_SIM_TABLE_H
#define KL_SIM_TABLE_H

#include "base/buf.h"
#include "sim/kinds/sim_kinds.h"

#include <stdint.h>

typedef struct kl__sim_table {
    const kl__sim_kind *kind;
    const char *version; /* of the request */
    int64_t now_ms;      /* Unix time, for ages */
} kl__sim_table;

/* Appends the column definitions as JSON. Out of memory sticks in `out`. */
void kl__sim_table_columns(const kl__sim_kind *kind, const char *version,
                           kl__buf *out);

/* Whether the kind has no cells of its own: such an empty table has no rows at
 * all, not even none. */
bool kl__sim_table_is_plain(const kl__sim_kind *kind);

/* Appends an object's cells as JSON; a NULL object reads as an empty one. */
void kl__sim_table_cells(const kl__sim_table *table, const kl_value *root,
                         kl__buf *out);

#endif
