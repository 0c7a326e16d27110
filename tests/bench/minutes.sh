#!/bin/sh
# The loss that one and five minutes of ./train lm buy on each text, and its spread over seeds 1 to 3:
#
#     sh tests/bench/minutes.sh data/chronicle.txt my-1-MB.txt my-10-MB.txt
#
# A line each: text, minutes, and what --seeds prints. The machine must do nothing else.
for text; do
    for minutes in 1 5; do
        printf '%s, %s minutes: ' "$text" "$minutes"
        ./train lm --text "$text" --minutes "$minutes" --seeds 3 --samples 0 --run runs/minutes --force 2>&1 | tail -n 1
    done
done
