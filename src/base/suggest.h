/* Suggests a known name for one that does not exist. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

/* The name with the fewest characters to insert, delete or replace in what was typed, which may be an abbreviation;
 * NULL: none is near. */
const char *suggest_nearest(const char *typed, const char *const *name, int count);

/* The same of options, without "--", where names of nanoGPT and PyTorch stand for those here. */
const char *suggest_option(const char *typed, const char *const *name, int count);

#endif
