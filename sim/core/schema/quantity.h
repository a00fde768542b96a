/*
 * quantity.h - quantities ("500m", "1Gi"), read and written like
 * resource.Quantity of k8s.io/apimachinery.
 */
#ifndef KL_SCHEMA_QUANTITY_H
#define KL_SCHEMA_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

/* The longest canonical text, with its NUL. */
#define KL__QUANTITY_SIZE 64

/* Writes the canonical form: "1" for "1000m", "500m" for "0.5", "1Gi" for
 * "1024Mi". Rounds away from 0 to a multiple of 10^`scale`, which is -9 or
 * more. Returns NULL on success, else the message of kube-apiserver, static. */
const char *kl__quantity_canonical(const char *text, size_t length, int scale,
                                   char out[KL__QUANTITY_SIZE]);

/* Less than 0, 0, or more than 0, like strcmp; the quantities are valid. */
int kl__quantity_compare(const char *a, const char *b);

#endif
