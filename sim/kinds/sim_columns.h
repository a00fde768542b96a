/*
 * sim_columns.h - the table of the built-in kinds' columns, as a real server
 * told them.
 */
#ifndef KL_SIM_COLUMNS_H
#define KL_SIM_COLUMNS_H

#include "sim/kinds/sim_kinds.h"

/* Columns are separated by '|': "Name[:type[:format]][!priority]"; a type that
 * is not given is "string", a priority 0. */
typedef struct kl__sim_columns {
    const char *group;
    const char *plural; /* NULL: the end of the table */
    const char *columns;
} kl__sim_columns;

extern const kl__sim_columns kl__sim_columns_table[];

/* Fills the columns of a version from what its definition says of it; false
 * when out of memory (free them all the same). */
bool kl__sim_columns_read(kl__sim_version *version, const kl_value *definition);
void kl__sim_columns_free(kl__sim_version *version);

#endif
