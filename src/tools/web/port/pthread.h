/* Stands in for <pthread.h>, which the modules' C library lacks: there is one thread. */
#pragma once

typedef int pthread_once_t, pthread_mutex_t, pthread_key_t;
#define PTHREAD_ONCE_INIT             0
#define PTHREAD_MUTEX_INITIALIZER     0
#define pthread_once(once, f)         (*(once) ? 0 : (*(once) = 1, (f)(), 0))
#define pthread_mutex_lock(m)         ((void)(m))
#define pthread_mutex_unlock(m)       ((void)(m))
#define pthread_key_create(key, free) ((void)(key), (void)(free), 0)
#define pthread_setspecific(key, p)   ((void)(key), (void)(p), 0)
