#!/bin/sh
# The loss that one and five minutes of ./train lm buy on each text, and with each of the seeds 1 to
# 3:
#
#     sh tests/bench/minutes.sh data/chronicle.txt my-1-MB.txt my-10-MB.txt
#
# A line each: text, minutes, seed, and the last line of the run. The machine must do nothing else.
for text; do
    for minutes in 1 5; do
        for seed in 1 2 3; do
            printf '%s, %s minutes, seed %s: ' "$text" "$minutes" "$seed"
            ./train lm --text "$text" --minutes "$minutes" --seed "$seed" \
                --run runs/minutes --force 2>&1 | tail -n 1
        done
    done
done
