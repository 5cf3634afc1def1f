# SPDX-License-Identifier: MIT
OU <- "state x\nparam k = 1 > 0, m = 0, s = 1 > 0\ndx = k*(m - x)*dt + s*dW"

ou_data <- function(tracks = 2, n = 101, seed = 1)
    simulate(sde_set(sde_model(OU), k = 2, m = 1, s = 0.5), tracks, seed,
             times = seq(0, (n - 1) / 10, length.out = n), x0 = 1)

# Runs the command; skips where there is none.
command <- function(...) {
    path <- Sys.getenv("GIRSANOV")
    skip_if(path == "", "GIRSANOV does not name the command")
    system2(path, c(...), stdout = TRUE, stderr = FALSE)
}

full_csv <- function(data, path) {
    data[] <- lapply(data, function(x)
        if (is.double(x)) sprintf("%.17g", x) else x)
    utils::write.csv(data, path, row.names = FALSE, quote = FALSE)
}
