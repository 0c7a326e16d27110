#include "base/interrupt.h"
#include "base/clock.h"
#include <signal.h>
#include <stddef.h>

enum { ASKING = 3, SAME = 1000 }; /* milliseconds */
static const int asking[ASKING] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t came;
static _Atomic unsigned first[ASKING]; /* when each arrived, in milliseconds; 0: not yet */

static void end_by(int signal_number) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* One request may send a signal twice: `timeout` signals the program and then its group; on a
 * closed terminal both the shell and the system send SIGHUP. A user who repeats a request waits
 * longer. */
static void note(int signal_number) {
    unsigned now = (unsigned)(unsigned long long)(clock_seconds() * 1000) | 1;
    int i = 0;
    while (asking[i] != signal_number) i++;
    came = signal_number;
    if (!first[i])
        first[i] = now;
    else if (signal_number != SIGHUP && now - first[i] >= SAME)
        end_by(signal_number);
}

static void heed(int flags) {
    struct sigaction noted = {.sa_flags = flags}, was;
    noted.sa_handler = note;
    sigemptyset(&noted.sa_mask);
    for (int i = 0; i < ASKING; i++)
        if (sigaction(asking[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(asking[i], &noted, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void interrupt_heed(void) {
    heed(SA_RESTART);
}

void interrupt_heed_reading(void) {
    heed(0);
}

int interrupt_signal(void) {
    return came;
}

void interrupt_end(void) {
    if (came) end_by(came);
}

void interrupt_leave(void) {
    struct sigaction is;
    for (int i = 0; i < ASKING; i++)
        if (sigaction(asking[i], NULL, &is) == 0 && is.sa_handler == note)
            signal(asking[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    for (int i = 0; i < ASKING; i++) first[i] = 0;
    came = 0;
}
