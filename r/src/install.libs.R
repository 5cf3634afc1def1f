# SPDX-License-Identifier: MIT
# The package's library, and beside it the two small ones that R does not bring.
place <- file.path(R_PACKAGE_DIR, paste0("libs", R_ARCH))
dir.create(place, recursive = TRUE, showWarnings = FALSE)
own <- paste0("girsanov", SHLIB_EXT)
file.copy(own, place, overwrite = TRUE)
# OpenBLAS brings many symbols that only debuggers want.
if (nzchar(Sys.which("strip")))
    system2("strip", c("--strip-unneeded", file.path(place, own)))
needed <- suppressWarnings(system2("ldd", own, stdout = TRUE, stderr = FALSE))
for (name in c("libjansson", "liblbfgs")) {
    line <- grep(paste0(name, "\\.so.*=> /"), needed, value = TRUE)
    if (length(line)) {
        path <- sub(".*=> (/[^ ]*) .*", "\\1", line[1])
        file.copy(path, file.path(place, sub("^\\s*(\\S+) =>.*", "\\1", line[1])),
                  overwrite = TRUE)
    }
}
