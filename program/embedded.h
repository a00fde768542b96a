/*
 * embedded.h - the Lua files in the one file of the command. embed.lua writes
 * embedded.c, which holds them.
 */
#ifndef KL_PROGRAM_EMBEDDED_H
#define KL_PROGRAM_EMBEDDED_H

#include <stddef.h>

typedef struct embedded_file {
    const char *name;   /* of the module, as `require` has it; NULL: the end */
    const char *source; /* the chunk's name: "@(kubelua)/kubelua/log.lua" */
    const unsigned char *text;
    size_t size; /* bytes */
} embedded_file;

extern const embedded_file embedded_files[];

#endif
