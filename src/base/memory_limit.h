/* How much memory a container leaves to this process. */
#ifndef BASE_MEMORY_LIMIT_H
#define BASE_MEMORY_LIMIT_H

/* The lowest limit of the control groups that a process is in, in bytes; INFINITY: none. `groups` is a file like
 * /proc/self/cgroup, whose lines `N:CONTROLLERS:PATH` say where in the tree `root`, as /sys/fs/cgroup is one, the
 * process stands. A limit holds for all groups below it. */
double memory_of_groups(const char *groups, const char *root);

#endif
