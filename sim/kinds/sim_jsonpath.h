/*
 * sim_jsonpath.h - the JSON paths of a CustomResourceDefinition: names, indexes
 * and filters by equality, as `additionalPrinterColumns` have them.
 */
#ifndef KL_SIM_JSONPATH_H
#define KL_SIM_JSONPATH_H

#include "kubelua/value.h"

/* The first value that a path (".spec.a[0]['b'].c[?(@.d==\"e\")].f") leads to,
 * or NULL: there is none, or it is no path of that kind. Borrowed. */
const kl_value *kl__sim_jsonpath_first(const char *path, const kl_value *root);

#endif
