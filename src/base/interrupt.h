/* Signals that ask a program to end. The program asks for them between two pieces of work. */
#pragma once

/* From here on SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) are recorded. A second
 * SIGINT or SIGTERM, at least a second later, kills at once. Ignored signals stay ignored, as
 * SIGINT is for a program in the background. SIGPIPE and SIGXFSZ are ignored, so that the write
 * fails instead. */
void interrupt_heed(void);

/* The signal that has arrived; 0: none. */
int interrupt_signal(void);

/* If a signal has arrived, ends the process by it, so that the parent sees why. */
void interrupt_end(void);

/* In a child process: restores the signals' default actions. */
void interrupt_leave(void);
