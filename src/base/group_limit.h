/* What a container leaves to this process: the lowest limit of the control groups that it is in; INFINITY:
 * none. `groups` is a file like /proc/self/cgroup, whose lines `N:CONTROLLERS:PATH` say where in the tree
 * `root`, as /sys/fs/cgroup is one, the process stands. A limit holds for all groups below it. */
#ifndef BASE_GROUP_LIMIT_H
#define BASE_GROUP_LIMIT_H

/* Bytes of memory, and processors' worth of time, which need not be a whole number. */
double memory_of_groups(const char *groups, const char *root);
double processors_of_groups(const char *groups, const char *root);

#endif
