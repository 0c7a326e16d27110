/* The limits of a container: the lowest limit of the process's control group (version 2) and its parents;
 * INFINITY: none. `groups` is a file like /proc/self/cgroup, whose line `0::PATH` gives the process's place
 * in the tree `root`, for example /sys/fs/cgroup. */
#ifndef BASE_GROUP_LIMIT_H
#define BASE_GROUP_LIMIT_H

/* Bytes of memory; processors, which may be a fraction. */
double memory_of_groups(const char *groups, const char *root);
double processors_of_groups(const char *groups, const char *root);

#endif
