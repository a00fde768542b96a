/*
 * sim_columns.h - the columns of `kubectl get`: for built-in kinds a table that
 * was read from a real server, for custom kinds additionalPrinterColumns of the
 * CustomResourceDefinition. sim/core/table writes the cells.
 */
#ifndef KL_SIM_COLUMNS_H
#define KL_SIM_COLUMNS_H

#include "sim/core/kinds/sim_kinds.h"

/* The columns of a kind, separated by '|': "Name[:type[:format]][!priority]".
 * The default type is "string", the default priority 0. */
typedef struct kl__sim_columns {
    const char *group;
    const char *plural; /* NULL: the end of the table */
    const char *columns;
} kl__sim_columns;

extern const kl__sim_columns kl__sim_columns_table[];

/* Reads the columns of a version from its definition. False: out of memory. The
 * caller frees the columns, also after a failure. */
bool kl__sim_columns_read(kl__sim_version *version, const kl_value *definition);
void kl__sim_columns_free(kl__sim_version *version);

#endif
