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

echo "Simulating 4 series of the Lorenz system, 1001 observations each:"
$girsanov simulate $model --tracks 4 --times 0:10:1001 --x0 normal \
    --set q=2 -o "$out/lorenz.csv"

ask() {
    echo
    echo "Log-likelihood with $1:"
    shift
    $girsanov loglik $model "$out/lorenz.csv" --paths 256 --steps 32 "$@" \
        --quiet | sed -n '1,4s/^/  /p'
}
ask "the true parameters (s = 10, r = 28, b = 8/3, q = 2)" --set q=2
ask "r = 27 instead of 28" --set q=2 --set r=27
ask "s = 11 instead of 10" --set q=2 --set s=11
ask "twice the noise, q = 4" --set q=4
echo
echo "Try it on your own model and CSV file: $girsanov loglik --help"
