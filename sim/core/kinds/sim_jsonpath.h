/*
 * sim_jsonpath.h - the JSON paths of additionalPrinterColumns in a
 * CustomResourceDefinition: names, indexes, and filters by equality.
 */
#ifndef KL_SIM_JSONPATH_H
#define KL_SIM_JSONPATH_H

#include "kubelua/value.h"

/* The first value that a path (".spec.a[0]['b'].c[?(@.d==\"e\")].f") leads to;
 * borrowed. NULL: there is none, or the path is not of this form. */
const kl_value *kl__sim_jsonpath_first(const char *path, const kl_value *root);

#endif
