/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds since some moment, which never go back. */
double clock_seconds(void);

#endif
