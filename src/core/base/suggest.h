/* Suggests a known name for one that does not exist. */
#pragma once

/* The option nearest to what was typed, both without "--"; names of nanoGPT and PyTorch stand for
 * those here. NULL: none is near. */
const char *suggest_option(const char *typed, const char *const *name, int count);
