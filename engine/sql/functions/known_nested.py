"""Arrays, maps, rows, lambdas, conditions, casts, the session: every function that Flink or Spark has."""

COLLECTIONS = """
aggregate, reduce              | s  | elements folded into one value by a lambda
array                          | fs | an array of values
array_append, array_prepend    | fs | with one more element at the end, at the front
array_compact                  | s  | without NULLs
array_concat                   | f  | arrays joined
array_contains                 | fs | whether a value is among the elements
array_distinct                 | fs | each element once
array_except                   | fs | elements of the first that the second lacks
array_insert                   | s  | with an element put in at a place
array_intersect                | fs | elements that both have
array_join                     | fs | elements as text with a separator
array_max, array_min           | fs | the greatest, the least element
array_position                 | fs | place of an element, from 1; 0 for none
array_remove                   | fs | without the elements that equal a value
array_repeat                   | s  | a value n times
array_reverse                  | f  | from back to front
array_size                     | s  | number of elements
array_slice                    | f  | elements from one place to another
array_sort                     | fs | in order; Spark: by a lambda that compares
array_union                    | fs | elements of both, each once
arrays_overlap                 | s  | whether two arrays share an element
arrays_zip                     | s  | arrays side by side, as an array of structs
cardinality                    | fs | number of elements or entries
element                        | f  | the only element
element_at                     | s  | element by place from 1, or value of a key
exists, forall                 | s  | whether a lambda holds for one, for all elements
explode, explode_outer         | s  | a row for each element
filter                         | s  | elements for which a lambda holds
flatten                        | s  | arrays in an array, joined
get                            | s  | element by place from 0; NULL outside
inline, inline_outer           | s  | a row for each struct of an array
map                            | fs | a map of keys and values in turn
map_concat                     | s  | maps joined
map_contains_key               | s  | whether a map has a key
map_entries                    | fs | entries as an array of rows
map_filter                     | s  | entries for which a lambda holds
map_from_arrays                | fs | a map of an array of keys and one of values
map_from_entries               | s  | a map of an array of structs
map_keys, map_values           | fs | the keys, the values
map_union                      | f  | maps joined, the later value wins
map_zip_with                   | s  | two maps joined by a lambda
named_struct                   | s  | a struct of names and values in turn
object_of, object_update       | f  | an object of a class | structured types are not there
posexplode, posexplode_outer   | s  | a row for each element, with its place
range                          | s  | numbers as a table
row                            | f  | a row of values
sequence                       | s  | numbers, dates or times from one to another
shuffle                        | s  | in random order
size                           | s  | number of elements or entries; -1 for NULL
slice                          | s  | n elements from a place
sort_array                     | s  | in order
stack                          | s  | values as n rows
struct                         | s  | a struct of columns
transform                      | s  | each element through a lambda
transform_keys, transform_values | s | each key, each value through a lambda
try_element_at                 | s  | as ELEMENT_AT; NULL outside
unnest                         | f  | a row for each element
zip_with                       | s  | two arrays joined by a lambda
fusion, intersection           | f  | multisets | the type MULTISET is not there
collect                        | f  | a multiset of the values | there is no type MULTISET, use ARRAY_AGG
"""

CONDITIONS = """
assert_true                    | s  | an error unless the condition holds
coalesce                       | fs | the first that is not NULL
equal_null                     | s  | equal, NULL taken as a value
greatest, least                | fs | the greatest, the least (Flink: NULL if one is; Spark: NULLs left out)
if                             | fs | one of two values
iff                            | s  | IF, as Databricks has it
ifnull                         | fs | the first, or the second if that is NULL
isnan                          | s  | whether it is NaN
isnotnull, isnull              | s  | whether it is NULL
nanvl                          | s  | the first, or the second if that is NaN
nullif                         | fs | NULL if both are equal, else the first
nullifzero, zeroifnull         | s  | NULL for 0, 0 for NULL
nvl                            | s  | the first, or the second if that is NULL
nvl2                           | s  | the second if the first is not NULL, else the third
raise_error                    | s  | an error with that message
typeof                         | fs | the name of the type
"""

CASTS = """
bigint, binary, boolean, date, decimal, double, float, int, smallint, string, timestamp, tinyint | s | CAST to that type
cast                           | s  | CAST as a call | CAST(x AS type) does it
"""

SESSION = """
current_catalog, current_database, current_user | fs | where the session is, and whose
current_schema, user           | s  | the current database, the user
input_file_block_length, input_file_block_start | s | the part of the file that is read | files are not read in blocks
input_file_name                | s  | the file that a row comes from | a scan does not tell the files of its rows
java_method, reflect, try_reflect | s | a call of a Java method | there is no JVM
monotonically_increasing_id    | s  | a number that grows from row to row
session_user                   | fs | the user
system_user                    | f  | the user
spark_partition_id             | s  | number of the task | rows are not dealt out to tasks
sql_keywords                   | s  | Spark's keywords, as a table
version                        | s  | the program's version
"""

SECTIONS = {
    "Arrays, maps, rows": COLLECTIONS,
    "Conditions": CONDITIONS,
    "Casts": CASTS,
    "Session": SESSION,
}
