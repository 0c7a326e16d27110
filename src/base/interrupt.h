/* Signals that ask a program to end, heeded between two pieces of work. */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

/* From here on Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) are noted: a second Ctrl-C or
 * SIGTERM, a second of time later or more, kills at once. One that was ignored stays so: of a program in
 * the background, Ctrl-C means another. A reader of stdout that goes and a limit on the size of files cost
 * their bytes, as a full disk does, and not the program. */
void interrupt_heed(void);

/* The signal that came; 0: none. */
int interrupt_signal(void);

/* Ends the program by it, where one came, so that whoever started the program sees why it ended. */
void interrupt_end(void);

/* In a child process: these signals do what they usually do. */
void interrupt_leave(void);

#endif
