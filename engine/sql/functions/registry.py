"""Finding a function by name in a flavour. Its subject's module is imported then, and no other."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.functions.model import Function

SUBJECTS = {
    "conditional": """
        assert_true bigint binary boolean coalesce date decimal double equal_null float greatest if iff ifnull int
        isnan isnotnull isnull least nanvl nullif nullifzero nvl nvl2 raise_error smallint string timestamp tinyint
        typeof zeroifnull
    """,
    "numeric": """
        abs acos acosh asin asinh atan atan2 atanh bround cbrt ceil ceiling cos cosh cot csc degrees e exp
        expm1 factorial floor hex hypot ln log log10 log1p log2 mod pi pmod pow power radians rint round sec
        sign signum sin sinh sqrt tan tanh truncate unhex width_bucket
    """,
    "bits": """
        bin bit_count bit_get conv getbit shiftleft shiftright shiftrightunsigned
    """,
    "trying": "negative positive try_add try_divide try_mod try_multiply try_subtract",
    "randoms": "rand rand_integer randn random randstr uniform",
    "strings": """
        ascii bit_length btrim char char_length character_length charindex chr concat concat_ws contains endswith
        from_base64 initcap instr lcase left len length locate lower lpad ltrim octet_length overlay position
        repeat replace reverse right rpad rtrim space split_index startswith substr
        substring to_base64 translate trim ucase unbase64 upper uuid
    """,
    "words": """
        elt find_in_set is_alpha is_decimal is_digit levenshtein luhn_check mask quote soundex split_part str_to_map
        substring_index
    """,
    "codecs": """
        base64 crc32 decode encode is_valid_utf8 make_valid_utf8
        parse_url to_binary try_parse_url try_to_binary try_url_decode try_validate_utf8 url_decode
        url_decode_recursive url_encode
        validate_utf8
    """,
    "json_texts": "from_json get_json_object json_array_length json_object_keys schema_of_json to_json",
    "json_calls": """
        json json_array json_arrayagg json_exists json_object json_objectagg json_query json_quote json_string
        json_unquote json_value
    """,
    "bitmaps": """
        bitmap_and_agg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg
    """,
    "number_formats": "to_char to_number to_varchar try_to_number",
    "hashes": "hash xxhash64",
    "digests": "md5 sha sha1 sha2 sha224 sha256 sha384 sha512",
    "printed": "format_number format_string printf",
    "patterns": """
        regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr
        rlike split
    """,
    "times": """
        add_months curdate current_date current_row_timestamp current_time current_timestamp
        current_timezone  date_add date_diff date_sub date_trunc dateadd datediff day
        dayname dayofmonth dayofweek dayofyear hour last_day localtime localtimestamp minute month monthname
        months_between next_day now quarter second timestampadd timestampdiff trunc week weekday
        weekofyear year
    """,
    "time_parts": "date_part datepart extract",
    "time_text": """
        convert_tz date_format from_unixtime to_date to_timestamp to_timestamp_ltz to_timestamp_ntz
        to_unix_timestamp try_to_date try_to_timestamp unix_timestamp
    """,
    "day_times": "make_time time time_diff time_trunc to_time try_to_time",
    "time_making": """
        convert_timezone date_from_unix_date from_utc_timestamp make_date make_dt_interval make_interval
        make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval timestamp_micros
        timestamp_millis timestamp_seconds to_utc_timestamp try_make_interval try_make_timestamp
        try_make_timestamp_ltz try_make_timestamp_ntz unix_date unix_micros unix_millis unix_seconds window window_time
    """,
    "collections": """
        array array_append array_concat array_contains array_distinct array_intersect array_join array_max
        array_min array_position array_prepend array_remove array_reverse array_size cardinality
        element element_at try_element_at map map_keys map_values named_struct row sequence size sort_array struct
    """,
    "arrays": """
        array_compact array_except array_insert array_repeat array_slice array_union arrays_overlap arrays_zip
        flatten get shuffle slice
    """,
    "maps": "map_concat map_contains_key map_entries map_from_arrays map_from_entries map_union",
    "aggregates": """
        any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and
        bool_or collect_list collect_set corr count count_if covar_pop covar_samp every first first_value
        group_id grouping grouping_id last last_value listagg max max_by mean min min_by mode
        percentile_approx percentile_disc single_value some std stddev stddev_pop
        stddev_samp string_agg sum try_avg var_pop var_samp variance
    """,
    "percentiles": "median percentile percentile_cont",
    "statistics": """
        kurtosis regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
        skewness try_sum
    """,
    "stream_times": "current_watermark proctime",
    "windows": "cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number",
    "system": """
        current_catalog current_database current_schema current_user monotonically_increasing_id session_user
        system_user user version
    """,
    "iceberg": """
        system.bucket system.day system.days system.hour system.hours system.iceberg_version system.month
        system.months system.truncate system.year system.years
    """,
    "higher": """
        aggregate array_sort exists explode explode_outer filter forall inline inline_outer json_tuple map_filter
        map_zip_with posexplode posexplode_outer reduce stack transform transform_keys transform_values zip_with
    """,
}
"""The modules with functions, and the names of the functions in each."""


@cache
def _subject_of() -> dict[str, str]:
    return {name: subject for subject, names in SUBJECTS.items() for name in names.split()}


@cache
def functions_of(subject: str) -> dict[tuple[str, str], Function]:
    """The functions of one module, by the flavour's letter and the lower-case name."""
    table: tuple[Function, ...] = import_module(f"bergsql.engine.sql.functions.{subject}").FUNCTIONS
    return {(letter, name): f for f in table for letter in f.flavours for name in f.name.split()}


def function_named(name: str, flavour: Flavour) -> Function | None:
    """The function of that name, whatever its case.

    What only the other engine has is there too: its name can mean nothing else.
    """
    key = name.lower()
    subject = _subject_of().get(key)
    if subject is None:
        return None
    table, letter = functions_of(subject), flavour.value[0]
    return table.get((letter, key)) or _borrowed(table, key, letter, flavour)


def _borrowed(table: dict[tuple[str, str], Function], key: str, letter: str, flavour: Flavour) -> Function | None:
    found = table.get(("s" if letter == "f" else "f", key))
    if found is None:
        return None
    from bergsql.engine.sql.functions.known_names import known

    return None if known(key, flavour) else found


@cache
def functions(flavour: Flavour) -> dict[str, Function]:
    """All functions of a flavour, by lower-case name. Imports every subject."""
    found = {name: function_named(name, flavour) for name in _subject_of()}
    return {name: function for name, function in found.items() if function is not None}
