/* Signals that ask a program to end. The program asks for them between two pieces of work. */
#pragma once

/* Records SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) from now on. A second SIGINT or
 * SIGTERM, at least a second later, ends the process at once. Signals that were ignored stay
 * ignored, as SIGINT is for a program in the background. Ignores SIGPIPE and SIGXFSZ, so that the
 * write fails instead. */
void interrupt_heed(void);

/* The same, but a signal also ends a read that waits, with EINTR. */
void interrupt_heed_reading(void);

/* The signal that has arrived; 0: none. */
int interrupt_signal(void);

/* If a signal has arrived, ends the process by it, so that the parent sees why. */
void interrupt_end(void);

/* In a child process: restores the signals' default actions. */
void interrupt_leave(void);
