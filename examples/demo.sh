#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo: learns the Lorenz system from data, drift and noise both unknown,
# and compares the result with the truth. GIRSANOV and OUT may name
# another command and another folder.
set -eu
cd "$(dirname "$0")/.."
girsanov=${GIRSANOV:-build/girsanov}
out=${OUT:-build/demo}
truth=examples/lorenz.sde
model=examples/lorenz_net.sde
data=$out/lorenz.csv
fit=$out/lorenz.fit
mkdir -p "$out"

say() {
    printf '\n%s\n' "$*"
}

say "Data: 16 series of the Lorenz system, 200 observations each, noise 0.15"
"$girsanov" simulate $truth --tracks 16 --times 0:10:200 --x0 normal -o "$data"

say "The model, $model: a network for the drift, one number for the noise"
sed -n '/^[^#]/s/^/  /p' $model

say "girsanov fit $model $data -o $fit --trace $out/trace.csv"
"$girsanov" fit $model "$data" -o "$fit" --trace "$out/trace.csv"

# --- How far from the truth ---------------------------------------------------

# A field's table is time and the states, then the drifts: columns 5, 6 and 7
# of 16. Both tables have the same points.
"$girsanov" field "$fit" --at "$data" -o "$out/learned.csv" --quiet
"$girsanov" field $truth --at "$data" -o "$out/true.csv" --quiet
err=$(paste -d, "$out/learned.csv" "$out/true.csv" | awk -F, '
    NR > 1 {
        for (i = 5; i <= 7; i++) {
            off += ($i - $(16 + i)) ^ 2
            all += $(16 + i) ^ 2
        }
    }
    END { printf "%.2g", off / all }')
rm "$out/learned.csv" "$out/true.csv"

summary=$("$girsanov" summary "$fit" 2>/dev/null)
sigma=$(echo "$summary" | awk '$1 == "sigma" { print $2 }')
held=$(echo "$summary" | sed -n 's/^held out *//p')

# The log-likelihood of new data under the fit and under the truth.
"$girsanov" simulate $truth --tracks 16 --times 0:10:200 --x0 normal --seed 2 \
    -o "$out/test.csv" --quiet
per_gap=$("$girsanov" compare "$fit" $truth "$out/test.csv" --quiet \
    --paths 8 --steps 64 |
    awk -v fit="$fit" 'NR > 1 { p[$1 == fit] = $3 } END { print p[1], p[0] }')
ours=${per_gap% *} best=${per_gap#* }

say "Results:"
cat <<END
  drift error  $err  sum |f - f_Lorenz|^2 / sum |f_Lorenz|^2 at the data
  sigma        $sigma  (true value 0.15)
  held out     $held: log-likelihood of gaps that were not used for learning
  new data     $ours per gap (under the true SDE $best)
END

# --- Whether it can be trusted ------------------------------------------------

# diagnose repeats the estimate with longer steps and tests residuals: on new
# data, because those that were learned look better than they are, and on two
# series of them, which takes seconds.
awk -F, 'NR == 1 || $1 <= 2' "$out/test.csv" >"$out/two.csv"
say "girsanov diagnose $fit $out/two.csv"
"$girsanov" diagnose "$fit" "$out/two.csv" --draws 64 --quiet \
    >"$out/diagnose.txt" 2>&1 || true
grep -E '^discretisation|trusted|too long|use more|contradict' \
    "$out/diagnose.txt" | sed 's/^ */  /' || true
cat <<END
  The fit itself warns of some gaps of its own data: it has 16 paths and 8 steps
  in each of them to be quick. fit --paths 64 --steps 16 takes longer.
END

# --- Figures ------------------------------------------------------------------

"$girsanov" simulate "$fit" --tracks 16 --times 0:10:1001 --x0 normal --seed 2 \
    --quiet | awk -F, '$1 != last { print ""; last = $1 } 1' >"$out/new.csv"

style="
set datafile separator ','
set border 3 lw 1 lc rgb '#555555'
set tics nomirror out scale 0.6 textcolor rgb '#333333'
set grid lw 0.8 dt 1 lc rgb '#e8e8e8'
set title font ',17' textcolor rgb '#333333'
set xlabel textcolor rgb '#333333'
set ylabel textcolor rgb '#333333'
set key textcolor rgb '#333333'"

draw_attractor() {
    gnuplot <<END
set terminal svg size 1000,480 font 'sans-serif,15' background '#ffffff'
set output '$out/attractor.svg'
$style
set key off
set xrange [-22:22]
set yrange [-5:55]
set xtics 10
set ytics 10
set xlabel 'x'
set ylabel 'z'
set multiplot layout 1,2
set title '16 series of data'
plot '$data' using 3:5 skip 1 with points pt 7 ps 0.22 lc rgb '#601f5fa8'
set title '16 new paths of the fit'
plot '$out/new.csv' using 3:5 skip 2 with lines lw 0.7 lc rgb '#80c8482e'
unset multiplot
END
}

draw_learning() {
    last=$(tail -n 1 "$out/trace.csv" | cut -d, -f1)
    seconds=$(tail -n 1 "$out/trace.csv" | cut -d, -f3 |
        awk '{ printf "%.0f", $1 }')
    gnuplot <<END
set terminal svg size 900,640 font 'sans-serif,15' background '#ffffff'
set output '$out/learning.svg'
$style
trace = '$out/trace.csv'
set xrange [0:$last]
set lmargin 9
set multiplot layout 2,1
set arrow 1 from 2*$last/3.0, graph 0 to 2*$last/3.0, graph 1 nohead dt 2 \
    lw 1.2 lc rgb '#999999'
set label 1 'finer estimates' at 2*$last/3.0, graph 0.08 offset 0.8,0 \
    font ',13' textcolor rgb '#777777'
set title '$last iterations, $seconds seconds'
set ylabel 'log-likelihood of a gap'
set format x ''
set yrange [-8:8]
set key bottom left reverse Left samplen 2 opaque
plot trace using 1:4 skip 1 with points pt 7 ps 0.2 lc rgb '#a9c4e4' notitle, \
    NaN with points pt 7 ps 0.7 lc rgb '#a9c4e4' title 'batches', \
    trace using 1:6 skip 1 with lines lw 2.2 lc rgb '#1f5fa8' \
    title 'held out', \
    $best with lines dt 4 lw 1.6 lc rgb '#3a8f4d' title 'the true SDE'
unset title
unset label 1
set xlabel 'iteration'
set ylabel 'sigma'
set format x '%g'
set logscale y
set yrange [0.1:20]
set ytics add ('0.15' 0.15)
set key top right reverse Left samplen 2
plot trace using 1:8 skip 1 with lines lw 2.2 lc rgb '#c8482e' \
    title 'learned', \
    0.15 with lines dt 4 lw 1.6 lc rgb '#3a8f4d' title 'true'
unset multiplot
END
}

if command -v gnuplot >/dev/null; then
    draw_attractor
    draw_learning
    say "Figures: $out/attractor.svg, $out/learning.svg"
else
    say "gnuplot is not installed: there are no figures"
fi
rm "$out/test.csv" "$out/two.csv" "$out/new.csv"

cat <<END

For your own data: write a header (time, a column for each state, and a column
series if there are several series), copy $model, and run
  $girsanov check my.sde my.csv             # shows how both files were read
  $girsanov fit my.sde my.csv -o my.fit     # learns
  $girsanov summary my.fit                  # estimates
  $girsanov field my.fit my.csv -o field.csv --plot field.svg
  $girsanov diagnose my.fit my.csv          # where the result cannot be trusted
docs/LEARN.md explains the fit, docs/LANGUAGE.md how to write a model.
END
