/*
 * vet_cases.h - objects of built-in kinds that a kube-apiserver refuses, with
 * its messages.
 */
#ifndef KL_SPEC_VET_CASES_H
#define KL_SPEC_VET_CASES_H

#include <stddef.h>

typedef struct vet_case {
    const char *path; /* the collection's path */
    const char *body; /* YAML */
    const char *says; /* the message of its 422 */
} vet_case;

extern const vet_case vet_cases[];
extern const size_t vet_case_count;

#endif
