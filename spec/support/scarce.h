/*
 * scarce.h - takes a resource of the process away for a while (descriptors,
 * address space), for specs of how the library fails then and recovers.
 */
#ifndef KL_SPEC_SCARCE_H
#define KL_SPEC_SCARCE_H

#include <stdint.h>

/* Leaves `left` descriptors to be opened; the second function restores the
 * limit. */
void scarce_descriptors(int left);
void scarce_descriptors_end(void);

/* Leaves `left_mb` megabytes to be mapped; the second function restores the
 * limit. */
void scarce_address_space(int left_mb);
void scarce_address_space_end(void);

/* How many descriptors are open. */
int scarce_count_descriptors(void);

/* CPU time that the whole process has used. */
int64_t scarce_cpu_ms(void);

#endif
