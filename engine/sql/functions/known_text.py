"""Text, bytes, hashes, JSON, CSV and XML: every function that Flink or Spark has (see :mod:`known_names`)."""

TEXT = """
ascii                          | fs | code of the first character
bit_length                     | s  | number of bits
btrim                          | fs | without the given characters (blanks) at both ends
char                           | s  | the character of a code
char_length, character_length  | fs | number of characters
charindex                      | s  | place of one text in another, from a start
chr                            | fs | the character of a code
collate, collation, collations | s  | collations | there is one collation, binary
concat                         | fs | texts (Spark: arrays, bytes) joined; NULL if one is
concat_ws                      | fs | texts joined with a separator, NULLs left out
contains                       | s  | whether a text holds another
decode                         | fs | bytes as text in a character set; Spark: CASE written as a call
elt                            | fs | the n-th of the arguments
encode                         | fs | text as bytes in a character set
endswith                       | fs | whether a text ends with another
find_in_set                    | s  | place of a text in a list with commas
format_number                  | s  | a number with thousands separators, or in a pattern
format_string                  | s  | arguments written in the places of a format (%s, %d …)
ilike, like                    | s  | LIKE as a call | x LIKE y does it
initcap                        | fs | each word with a capital
instr                          | fs | place of the first occurrence, from 1; 0 for none
is_alpha                       | f  | whether all characters are letters
is_decimal                     | f  | whether the text reads as a number
is_digit                       | f  | whether all characters are digits
is_valid_utf8                  | s  | whether bytes are UTF-8
lcase, lower                   | s  | small letters
left                           | fs | the first n characters
len, length                    | s  | number of characters or bytes
levenshtein                    | s  | edits that lead from one text to the other
locate                         | fs | place of one text in another, from a start
lower                          | f  | small letters
lpad                           | fs | filled up to a length on the left
ltrim                          | fs | without the given characters (blanks) on the left
luhn_check                     | s  | whether the digits end in Luhn's check digit
make_valid_utf8                | s  | bytes as text, what is wrong replaced
mask                           | s  | letters and digits replaced by X, x and n
octet_length                   | s  | number of bytes
overlay                        | fs | a part of a text replaced by place
position                       | fs | place of one text in another
printf                         | fs | arguments written in the places of a format (%s, %d …)
quote                          | s  | the text in quotes, as SQL writes it
randstr                        | s  | random letters and digits
regexp, regexp_like, rlike     | s  | whether a pattern is found
regexp                         | f  | whether a pattern is found
regexp_count                   | fs | how often a pattern is found
regexp_extract                 | fs | a group of the first match
regexp_extract_all             | fs | a group of all matches
regexp_instr                   | fs | place of the first match
regexp_replace                 | fs | all matches replaced; $1 is a group
regexp_substr                  | fs | the first match
repeat                         | fs | a text n times
replace                        | fs | all occurrences replaced
reverse                        | fs | characters (Spark: elements too) from back to front
right                          | fs | the last n characters
rpad                           | fs | filled up to a length on the right
rtrim                          | fs | without the given characters (blanks) on the right
sentences                      | s  | sentences as arrays of words | needs Java's rules for words and sentences
soundex                        | s  | code of how an English word sounds
space                          | s  | n blanks
split                          | fs | parts between matches of a pattern (Flink: a text)
split_index                    | f  | the n-th part, from 0
split_part                     | s  | the n-th part, from 1, negative from the end
startswith                     | fs | whether a text begins with another
str_to_map                     | fs | keys and values of a text as a map
substr, substring              | fs | a part by place and length
substring_index                | s  | what stands before the n-th separator
to_char, to_varchar            | s  | a number or a time in a pattern
to_number                      | s  | the number that a text holds in a pattern
translate                      | fs | characters replaced one by one
trim                           | fs | without the given characters (blanks) at both ends
try_to_number                  | s  | as TO_NUMBER; NULL where that fails
try_validate_utf8              | s  | bytes as text; NULL where they are not UTF-8
ucase                          | s  | capital letters
upper                          | fs | capital letters
uuid                           | fs | a random UUID
validate_utf8                  | s  | bytes as text; an error where they are not UTF-8
"""

BYTES = """
aes_decrypt, try_aes_decrypt   | s  | bytes deciphered with AES | no cipher is on board
aes_encrypt                    | s  | bytes enciphered with AES | no cipher is on board
base64                         | s  | bytes as base64
bitmap_bit_position, bitmap_bucket_number | s | place of a number in Spark's bitmaps
bitmap_count                   | s  | number of bits that are set
bitmap_construct_agg, bitmap_or_agg, bitmap_and_agg | s | bitmaps of rows
crc32                          | s  | CRC-32 of bytes
from_base64                    | f  | text of base64
hash                           | s  | Murmur3 hash as Spark computes it
hex                            | fs | hexadecimal digits of a number, text or bytes
md5                            | fs | MD5, as hexadecimal digits
sha, sha1                      | s  | SHA-1, as hexadecimal digits
sha1                           | f  | SHA-1, as hexadecimal digits
sha2                           | fs | SHA-2 of a length in bits
sha256                         | f  | SHA-2 of that length
sha224, sha384, sha512         | f  | SHA-2 of that length
to_base64                      | f  | text as base64
to_binary                      | s  | text as bytes: of 'hex', 'utf-8' or 'base64'
try_to_binary                  | s  | as TO_BINARY; NULL where that fails
unbase64                       | s  | bytes of base64
unhex                          | fs | bytes of hexadecimal digits
xxhash64                       | s  | xxHash with 64 bits
"""

WEB = """
parse_url                      | fs | a part of a URL
try_parse_url                  | s  | as PARSE_URL; NULL where that fails
try_url_decode                 | s  | as URL_DECODE; NULL where that fails
url_decode, url_encode         | fs | percent signs read and written
url_decode_recursive           | f  | URL_DECODE until nothing changes
"""

JSON = """
from_csv                       | s  | a struct of a line of CSV
from_json                      | s  | a value of a type, read from JSON
get_json_object                | s  | what stands at a path, as text
json                           | f  | a text put into JSON_OBJECT as it is
json_array                     | f  | a JSON array of values
json_array_length              | s  | number of elements
json_arrayagg                  | f  | a JSON array of rows
json_exists                    | f  | whether something stands at a path
json_object                    | f  | a JSON object of keys and values
json_object_keys               | s  | the keys of an object
json_objectagg                 | f  | a JSON object of rows
json_query                     | f  | an array or object at a path
json_quote, json_unquote       | f  | a text as a JSON string, and back
json_string                    | f  | any value as JSON
json_tuple                     | s  | several fields of an object as columns
json_value                     | f  | a scalar at a path
parse_json, try_parse_json     | fs | a VARIANT of JSON | the type VARIANT is not there
is_variant_null, schema_of_variant, schema_of_variant_agg | s | VARIANT values | the type VARIANT is not there
to_variant_object, try_variant_get, variant_explode | s | VARIANT values | the type VARIANT is not there
variant_explode_outer, variant_get | s | VARIANT values | the type VARIANT is not there
schema_of_csv                  | s  | the type of a line of CSV
schema_of_json                 | s  | the type of a JSON text
to_csv                         | s  | a struct as a line of CSV
to_json                        | s  | a struct, map or array as JSON
from_xml, schema_of_xml, to_xml, xpath, xpath_boolean, xpath_double, xpath_float | s | XML | XML is not read here
xpath_int, xpath_long, xpath_number, xpath_short, xpath_string | s | XML | XML is not read here
from_avro, schema_of_avro, to_avro | s | Avro and Protobuf messages | messages are read by formats, not in expressions
from_protobuf, to_protobuf | s | Avro and Protobuf messages | messages are read by formats, not in expressions
"""

SECTIONS = {
    "Text": TEXT,
    "Bytes and hashes": BYTES,
    "URLs": WEB,
    "JSON, CSV, XML": JSON,
}
