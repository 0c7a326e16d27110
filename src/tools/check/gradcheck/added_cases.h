/* The cases that the checker makes of a given one: other sizes and values. A gradient is accused
 * there only where forward is finite, and smooth or on a kink (check_smooth.c). */
#pragma once

#include "autograd/check_case.h"
#include "base/arena.h"

typedef struct AddedCase {
    CheckCase c;
    char how[32];
    long resized; /* the size that an axis has now; -1: none is changed */
    bool beyond;  /* values may lie beyond the range of the base */
} AddedCase;

/* Makes the case number `which`, from 0 on. Returns false if it would change nothing. Values are
 * allocated in the arena. */
bool added_case(const CheckCase *base, int which, Arena *arena, AddedCase *to);

/* The number of these cases. */
extern const int added_cases;

/* Gives all axes of one size another: products and broadcasts still fit. False: there is none,
 * or one whose values are given. */
bool added_resize(CheckCase *c, long from, long to);
