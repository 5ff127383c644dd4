"""The names of all functions that the engines have, ours or not: a known one that is missing is said to be so.

Spark's are what SHOW FUNCTIONS lists in version 3.5, Flink's those of its documentation up to version 2.1.
"""

from __future__ import annotations

from bergsql.engine.sql.flavour import Flavour

_FLINK = """
abs acos any_value approx_count_distinct array array_agg array_append array_concat array_contains
array_distinct array_except array_intersect array_join array_max array_min array_position array_prepend
array_remove array_reverse array_slice array_sort array_union ascii asin atan atan2 avg bin bit_and bit_or
bit_xor btrim cardinality ceil ceiling char_length character_length chr coalesce collect concat concat_ws
convert_tz cos cosh cot count covar_pop covar_samp cume_dist current_catalog current_database current_date
current_row_timestamp current_time current_timestamp current_user current_watermark date_format dayofmonth
dayofweek dayofyear decode degrees dense_rank descriptor e element elt encode endswith every exp extract
first_value floor from_base64 from_unixtime fusion greatest group_id grouping grouping_id hex hop_end
hop_proctime hop_rowtime hop_start hour if ifnull initcap instr intersection is_alpha is_decimal is_digit json
json_array json_arrayagg json_exists json_object json_objectagg json_query json_quote json_string json_unquote
json_value lag last_value lead least left listagg ln localtime localtimestamp locate log log10 log2 lower lpad
ltrim map map_entries map_from_arrays map_keys map_union map_values match_proctime match_rowtime max md5 min
minute ml_evaluate ml_forecast ml_predict mod mode month now nth_value ntile nullif object_of object_update
overlay parse_json parse_url percent_rank percentile pi position power printf proctime quarter radians rand
rand_integer rank regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_replace
regexp_substr regr_count regr_sxx regr_syy repeat replace reverse right round row row_number rpad rtrim second
session_end session_proctime session_rowtime session_start session_user sha1 sha2 sha224 sha256 sha384 sha512
sign sin single_value sinh some source_watermark split split_index sqrt startswith stddev stddev_pop
stddev_samp str_to_map substr substring sum system_user tan tanh timestampadd timestampdiff to_base64 to_date
to_timestamp to_timestamp_ltz translate trim truncate try_parse_json tumble_end tumble_proctime tumble_rowtime
tumble_start typeof unhex unix_timestamp unnest upper url_decode url_encode uuid var_pop var_samp variance
vector_search week year
"""

_SPARK = """
abs acos acosh add_months aes_decrypt aes_encrypt aggregate any any_value approx_count_distinct
approx_percentile array array_agg array_append array_compact array_contains array_distinct array_except
array_insert array_intersect array_join array_max array_min array_position array_prepend array_remove
array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan
atan2 atanh avg base64 bigint bin binary bit_and bit_count bit_get bit_length bit_or bit_xor
bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg bool_and bool_or
boolean bround btrim cardinality cast cbrt ceil ceiling char char_length character_length chr coalesce
collect_list collect_set concat concat_ws contains conv convert_timezone corr cos cosh cot count count_if
count_min_sketch covar_pop covar_samp crc32 csc cume_dist curdate current_catalog current_database
current_date current_schema current_timestamp current_timezone current_user date date_add date_diff
date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day dayofmonth
dayofweek dayofyear decimal decode degrees dense_rank double e element_at elt encode endswith equal_null every
exists exp explode explode_outer expm1 extract factorial filter find_in_set first first_value flatten float
floor forall format_number format_string from_csv from_json from_unixtime from_utc_timestamp get
get_json_object getbit greatest grouping grouping_id hash hex histogram_numeric hll_sketch_agg
hll_sketch_estimate hll_union hll_union_agg hour hypot if ifnull initcap inline inline_outer
input_file_block_length input_file_block_start input_file_name instr int isnan isnotnull isnull java_method
json_array_length json_object_keys json_tuple kurtosis lag last last_day last_value lcase lead least left len
length levenshtein ln localtimestamp locate log log10 log1p log2 lower lpad ltrim luhn_check make_date
make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval map
map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values
map_zip_with mask max max_by md5 mean median min min_by minute mod mode monotonically_increasing_id month
months_between named_struct nanvl negative next_day now nth_value ntile nullif nvl nvl2 octet_length overlay
parse_url percent_rank percentile percentile_approx pi pmod posexplode posexplode_outer position positive pow
power printf quarter radians raise_error rand randn random range rank reduce reflect regexp regexp_count
regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr regr_avgx regr_avgy
regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right rint
round row_number rpad rtrim schema_of_csv schema_of_json sec second sentences sequence session_window sha sha1
sha2 shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice smallint some
sort_array soundex space spark_partition_id split split_part sql_keywords sqrt stack startswith std stddev
stddev_pop stddev_samp str_to_map string struct substr substring substring_index sum tan tanh timestamp
timestamp_micros timestamp_millis timestamp_seconds tinyint to_binary to_char to_csv to_date to_json to_number
to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar transform
transform_keys transform_values translate trim trunc try_add try_aes_decrypt try_avg try_divide try_element_at
try_multiply try_subtract try_sum try_to_binary try_to_number try_to_timestamp typeof ucase unbase64 unhex
unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode url_encode user uuid var_pop
var_samp variance version weekday weekofyear width_bucket window window_time xpath xpath_boolean xpath_double
xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64 year zip_with
"""


def known_names(flavour: Flavour) -> frozenset[str]:
    """The lower-case names of the engine's own functions."""
    return frozenset((_FLINK if flavour is Flavour.FLINK else _SPARK).split())
