/*
 * sim_table.h - Tables, the form of a list that `kubectl get` asks for: the
 * columns of a kind, and a row of cells for each object.
 */
#ifndef KL_SIM_TABLE_H
#define KL_SIM_TABLE_H

#include "base/buf.h"
#include "sim/core/kinds/sim_kinds.h"

#include <stdint.h>

typedef struct kl__sim_table {
    const kl__sim_kind *kind;
    const char *version; /* of the request: "v1" */
    int64_t now_ms;      /* the Unix time for which ages are written */
} kl__sim_table;

/* Appends the column definitions as JSON. When memory runs out, `out` keeps the
 * failure. */
void kl__sim_table_columns(const kl__sim_kind *kind, const char *version,
                           kl__buf *out);

/* True if the kind has only the default cells, or is custom: then a table
 * without rows has no member "rows" either. */
bool kl__sim_table_is_plain(const kl__sim_kind *kind);

/* Appends an object's cells as JSON; NULL is an empty object. */
void kl__sim_table_cells(const kl__sim_table *table, const kl_value *root,
                         kl__buf *out);

#endif
