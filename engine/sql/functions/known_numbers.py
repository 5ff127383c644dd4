"""Numbers and aggregates: every function that Flink or Spark has (see :mod:`known_names`)."""

NUMBERS = """
abs                            | fs | magnitude
acos, asin, atan, cos, cot, sin, tan | fs | trigonometry
acosh, asinh, atanh            | s  | inverse hyperbolic functions
atan2                          | fs | angle of a point
bin                            | fs | binary digits
bit_count                      | s  | number of bits that are set
bit_get, getbit                | s  | one bit
bround                         | s  | rounded, halves to the even digit
cbrt                           | s  | cube root
ceil, ceiling                  | fs | rounded up
conv                           | s  | digits of one base in another
cosh, sinh, tanh               | fs | hyperbolic functions
csc, sec                       | s  | cosecant, secant
degrees, radians               | fs | radians to degrees, and back
e, pi                          | fs | the constants
exp                            | fs | power of e
expm1                          | s  | power of e, less 1
factorial                      | s  | factorial
floor                          | fs | rounded down
hypot                          | s  | length of the hypotenuse
ln, log10, log2                | fs | logarithms
log                            | fs | logarithm, natural or of a base
log1p                          | s  | natural logarithm of 1 + x
mod                            | fs | remainder
negative, positive             | s  | the signs as calls
pmod                           | s  | remainder that is not negative
pow                            | s  | power
power                          | fs | power
rand                           | fs | a random number from 0 to 1
rand_integer                   | f  | a random whole number
randn                          | s  | a random number of the normal distribution
random                         | s  | a random number from 0 to 1
rint                           | s  | rounded to the nearest whole number, as DOUBLE
round                          | fs | rounded, halves away from zero
shiftleft, shiftright, shiftrightunsigned | s | bits moved
sign                           | fs | -1, 0 or 1
signum                         | s  | -1, 0 or 1
sqrt                           | fs | square root
truncate                       | f  | cut off after n digits
try_add, try_divide, try_mod, try_multiply, try_subtract | s | arithmetic; NULL where it fails
uniform                        | s  | a random number of a range
width_bucket                   | s  | number of the bucket in a histogram
"""

AGGREGATES = """
any, some                      | s  | whether it holds for a row
some                           | f  | whether it holds for a row
any_value                      | fs | the value of any row
approx_count_distinct          | fs | about how many different values
approx_percentile, percentile_approx | s | a percentile, about
approx_top_k, approx_top_k_accumulate | s | the most frequent values, about | sketches are not there
approx_top_k_combine, approx_top_k_estimate | s | the most frequent values, about | sketches are not there
array_agg                      | fs | an array of the values
avg                            | fs | mean
bit_and, bit_or, bit_xor       | fs | bits of all rows
bool_and, bool_or              | s  | whether it holds for all rows, for one
collect_list, collect_set      | s  | an array of the values, of the different ones
corr                           | s  | correlation
count                          | fs | number of rows
count_if                       | s  | number of rows for which it holds
count_min_sketch               | s  | a sketch of frequencies | sketches are not there
covar_pop, covar_samp          | fs | covariance
every                          | fs | whether it holds for all rows
first, last                    | s  | the value of the first, of the last row
first_value, last_value        | fs | the value of the first, of the last row
group_id                       | f  | number of a repeated grouping set
grouping, grouping_id          | fs | which columns a grouping set leaves out
histogram_numeric              | s  | a histogram | its buckets depend on Spark's partitions
hll_sketch_agg, hll_sketch_estimate, hll_union, hll_union_agg | s | HyperLogLog sketches | sketches are not there
kll_sketch_agg_bigint, kll_sketch_agg_double, kll_sketch_agg_float | s | sketches | sketches are not there
theta_sketch_agg, theta_sketch_estimate, theta_union, theta_union_agg | s | sketches | sketches are not there
theta_intersection, theta_intersection_agg, theta_difference | s | sketches | sketches are not there
kurtosis, skewness             | s  | shape of a distribution
listagg                        | fs | texts joined with a separator
max, min                       | fs | the greatest, the least value
max_by, min_by                 | s  | the value where another is greatest, least
mean                           | s  | mean
median                         | s  | median
mode                           | s  | the most frequent value
percentile                     | fs | a percentile
percentile_cont, percentile_disc | s | a percentile WITHIN GROUP
regr_avgx, regr_avgy, regr_intercept, regr_r2, regr_slope, regr_sxy | s | linear regression
regr_count, regr_sxx, regr_syy | fs | linear regression
single_value                   | f  | the value of the only row
std                            | s  | standard deviation
stddev, stddev_pop, stddev_samp, variance, var_pop, var_samp | fs | deviation and variance
string_agg                     | s  | texts joined with a separator
sum                            | fs | sum
try_avg, try_sum               | s  | mean and sum; NULL where they overflow
"""

WINDOWS = """
cume_dist, percent_rank        | fs | place in the order, from 0 to 1
dense_rank, rank, row_number   | fs | place in the order
lag, lead                      | fs | the value of a row before, behind
nth_value                      | fs | the value of the n-th row
ntile                          | fs | number of the bucket
match_proctime, match_rowtime  | f  | times in MATCH_RECOGNIZE | MATCH_RECOGNIZE is not there
ml_evaluate, ml_forecast, ml_predict, vector_search | f | models and vectors | models are not there
"""

SECTIONS = {"Numbers": NUMBERS, "Aggregates": AGGREGATES, "Windows": WINDOWS}
