"""Dates, times and intervals: every function that Flink or Spark has (see :mod:`known_names`)."""

TIMES = """
add_months                     | s  | a date n months later
convert_timezone               | s  | a time on another time zone's clock
convert_tz                     | f  | a time on another time zone's clock, as text
curdate                        | s  | today
current_date                   | fs | today
current_row_timestamp, current_time, localtime | f | now
current_timestamp, localtimestamp, now | fs | now
current_timezone               | s  | the session's time zone
current_watermark              | f  | how far a stream's event time has come; NULL in a batch
source_watermark | f | the watermark of a source | watermarks of sources are not there
date_add, date_sub             | s  | a date n days later, earlier
date_diff, datediff            | s  | days from one date to another
date_format                    | fs | a time in a pattern
date_from_unix_date            | s  | the date n days after 1970-01-01
date_part, datepart            | s  | a part of a time
date_trunc                     | s  | a time cut to a unit
dateadd                        | s  | a date n days later
day, weekday, weekofyear       | s  | a part of a date
dayname, monthname             | s  | short names of day and month
dayofmonth, dayofweek, dayofyear, hour, minute, month, quarter, second, year | fs | a part of a time
week                           | f  | a part of a date
extract                        | fs | a part of a time
from_unixtime                  | fs | seconds since 1970 as text
from_utc_timestamp, to_utc_timestamp | s | a time of UTC on a time zone's clock, and back
hop, hop_end, hop_proctime, hop_rowtime, hop_start, session_end | f | windows of streams | windows are for streams
session, session_proctime, session_rowtime, session_start, tumble | f | windows of streams | windows are for streams
tumble_end, tumble_proctime, tumble_rowtime, tumble_start, descriptor | f | windows of streams | windows are for streams
proctime                       | f  | the time at which a row is processed
last_day                       | s  | the month's last day
make_date                      | s  | a date of year, month and day
make_dt_interval, make_interval, make_ym_interval, try_make_interval | s | an interval of its parts
make_time, time_diff, time_trunc, time, to_time, try_to_time | s | times of day
make_timestamp, make_timestamp_ltz, make_timestamp_ntz | s | a timestamp of its parts
try_make_timestamp, try_make_timestamp_ltz, try_make_timestamp_ntz | s | as MAKE_TIMESTAMP; NULL where that fails
months_between                 | s  | months from one date to another, with a fraction
next_day                       | s  | the next Monday, Tuesday …
session_window, window, window_time | s | windows of time
timestamp_micros, timestamp_millis, timestamp_seconds | s | the time n units after 1970
timestampadd, timestampdiff    | fs | a time n units later; units between two
to_date                        | fs | a date, read in a pattern
to_timestamp                   | fs | a timestamp, read in a pattern
to_timestamp_ltz               | fs | a timestamp with time zone
to_timestamp_ntz               | s  | a timestamp without time zone
to_unix_timestamp              | s  | seconds since 1970
trunc                          | s  | a date cut to a unit
try_to_date, try_to_timestamp  | s  | as TO_DATE, TO_TIMESTAMP; NULL where that fails
unix_date, unix_micros, unix_millis, unix_seconds | s | days, … seconds since 1970
unix_timestamp                 | fs | seconds since 1970
"""

SECTIONS = {"Dates and times": TIMES}
