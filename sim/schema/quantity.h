/*
 * quantity.h - amounts of resources ("500m", "1Gi"), as resource.Quantity of
 * k8s.io/apimachinery reads and writes them.
 */
#ifndef KL_SCHEMA_QUANTITY_H
#define KL_SCHEMA_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

/* The longest canonical text, its NUL included. */
#define KL__QUANTITY_SIZE 64

/* The canonical form of a quantity: "1000m" is "1", "0.5" is "500m", "1024Mi"
 * is "1Gi". NULL on success, else what the API server says of the text. What
 * is finer than 10^`scale` (-9: nothing) is rounded away from 0. Static. */
const char *kl__quantity_canonical(const char *text, size_t length, int scale,
                                   char out[KL__QUANTITY_SIZE]);

/* Two quantities, each of which was found good, and their sum or difference in
 * its canonical form: with suffixes as `a` has them, or as `b` where `a` is 0.
 */
void kl__quantity_add(const char *a, const char *b,
                      char out[KL__QUANTITY_SIZE]);
void kl__quantity_subtract(const char *a, const char *b,
                           char out[KL__QUANTITY_SIZE]);
/* Less than 0, 0, more than 0: as of strcmp. */
int kl__quantity_compare(const char *a, const char *b);
/* The quantity of a ratio, about. */
double kl__quantity_real(const char *text);

#endif
