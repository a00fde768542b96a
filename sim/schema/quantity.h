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

/* The canonical form: "1000m" is "1", "0.5" is "500m", "1024Mi" is "1Gi".
 * Digits below 10^`scale` (-9: none) are rounded away from 0. Returns NULL on
 * success, else the API server's message; static. */
const char *kl__quantity_canonical(const char *text, size_t length, int scale,
                                   char out[KL__QUANTITY_SIZE]);

/* The canonical sum, and the difference, of two valid quantities: with suffixes
 * like `a`, or like `b` if `a` is 0. */
void kl__quantity_add(const char *a, const char *b,
                      char out[KL__QUANTITY_SIZE]);
void kl__quantity_subtract(const char *a, const char *b,
                           char out[KL__QUANTITY_SIZE]);
/* Less than 0, 0, or more than 0. */
int kl__quantity_compare(const char *a, const char *b);
/* The quantity as a double, about. */
double kl__quantity_real(const char *text);

#endif
