library(testthat)
library(girsanov)
test_check("girsanov")
