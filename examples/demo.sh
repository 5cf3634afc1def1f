#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo: simulates a noisy Lorenz system, then asks how likely the data are
# under the true parameters and under wrong ones. Takes seconds.
set -eu
cd "$(dirname "$0")/.."
girsanov=build/girsanov
model=examples/lorenz.sde
out=build/demo
mkdir -p "$out"

echo "Simulating 16 series of the Lorenz system, 200 observations each:"
$girsanov simulate $model --tracks 16 --times 0:10:200 --x0 normal \
    -o "$out/lorenz.csv"

ask() {
    echo
    echo "Log-likelihood with $1:"
    shift
    $girsanov loglik $model "$out/lorenz.csv" --steps 16 "$@" --quiet |
        sed -n '1,4s/^/  /p'
}
ask "the true parameters (s = 10, r = 28, b = 8/3, q = 0.15)"
ask "r = 28.05 instead of 28" --set r=28.05
ask "s = 9.95 instead of 10" --set s=9.95
ask "twice the noise, q = 0.3" --set q=0.3
ask "the true parameters, as the paper estimates it (--paper)" --paper

echo
echo "Try it on your own model and CSV file: $girsanov loglik --help"
