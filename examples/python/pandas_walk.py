#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a table with dates, gaps and several subjects to parameters, smoothed
states and forecasts, all as DataFrames."""
import numpy as np
import pandas as pd

import girsanov

MODEL = """
state x
param rate = 0.5 > 0, mean = 0, s = 1 > 0, e = 0.3 > 0
init x ~ normal(0, 3)
dx = rate*(mean - x)*dt + s*dW
obs y ~ normal(x, e)
"""

# A table as it comes: rows by date, subjects mixed, cells missing.
model = girsanov.Model(MODEL)
truth = model.copy().set(rate=0.4, mean=2, s=0.6)
table = truth.simulate(np.arange(0, 30.0), tracks=3, seed=2).frame()
table["date"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(table["time"], "D")
table["subject"] = "S" + table["series"]
table = table[["date", "subject", "y"]].sort_values(["date", "subject"])
table.loc[table.sample(frac=0.2, random_state=1).index, "y"] = np.nan
print(table.head(4).to_string(index=False))

data = model.data(table, time="date", series="subject")
fit = model.fit(data)
print()
print(fit.summary())

estimates = pd.DataFrame({"estimate": fit.params, "stderr": fit.stderr})
assert (abs(estimates["estimate"] - pd.Series(truth.params))
        < 4 * estimates["stderr"]).all()

states = fit.paths(data).frame()
print()
print(states.groupby("series")[["x_mean", "x_sd"]].mean().round(3))

ahead = fit.predict(data, ahead=5).frame()
ahead["time"] = pd.to_datetime(ahead["time"], unit="D", origin="unix")
print()
print(ahead[["series", "time", "y_q05", "y_q50", "y_q95"]].iloc[[19]].round(3))
