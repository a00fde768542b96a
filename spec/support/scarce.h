/*
 * scarce.h - takes a resource of the process away for a while: descriptors,
 * address space. For specs of what the library says then, and whether it goes
 * on afterwards.
 */
#ifndef KL_SPEC_SCARCE_H
#define KL_SPEC_SCARCE_H

#include <stdint.h>

/* No descriptor can be opened any more, but for so many; and as before. */
void scarce_descriptors(int left);
void scarce_descriptors_end(void);

/* Nothing can be mapped any more, but for so many megabytes; and as before. */
void scarce_address_space(int left_mb);
void scarce_address_space_end(void);

/* How many descriptors are open. */
int scarce_count_descriptors(void);

/* Time that the whole process has spent on a processor. */
int64_t scarce_cpu_ms(void);

#endif
