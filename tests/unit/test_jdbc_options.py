"""URLs and options of connector 'jdbc'."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.jdbc.options import Partitions, settings_of
from bergsql.engine.connectors.jdbc.url import Address, Dialect, parse_url

MYSQL = Address(Dialect.MYSQL, "h", 3306, "db", None, None, {})
VERIFIED = {"ssl": {"check_hostname": False, "verify_mode": "required"}}
POSTGRES = Address(Dialect.POSTGRES, "h", 5432, "db", None, None, {})


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("jdbc:mysql://h/db", MYSQL),
        ("jdbc:mariadb://h:3307/db", MYSQL._replace(port=3307)),
        ("JDBC:mysql://[::1]:1/db?useUnicode=true", None),
        ("jdbc:mysql://[::1]:1/db?useUnicode=true", MYSQL._replace(host="::1", port=1)),
        ("jdbc:mysql:///db", MYSQL._replace(host="localhost")),
        ("jdbc:mysql://u%40:p%2F%3A@h/db", MYSQL._replace(user="u@", password="p/:")),
        ("jdbc:mysql://h/db?user=u&password=p%26q", MYSQL._replace(user="u", password="p&q")),
        ("jdbc:mysql://h/db?connectTimeout=2500", MYSQL._replace(arguments={"connect_timeout": 2})),
        ("jdbc:mysql://h/db?connectTimeout=0&socketTimeout=0", MYSQL),
        ("jdbc:mysql://h/db?serverTimezone=GMT%2B8", MYSQL._replace(zone="GMT+8")),
        ("jdbc:mysql://h/db?sslMode=VERIFY_CA&useSSL=true", MYSQL._replace(arguments=VERIFIED)),
        ("jdbc:mysql://h/db?verifyServerCertificate=true&useSSL=true", MYSQL._replace(arguments=VERIFIED)),
        ("jdbc:mysql://h/db?sslMode=VERIFY_CA&useSSL=false", MYSQL._replace(arguments=VERIFIED)),
        (
            "jdbc:mysql://h/db?useSSL=false&verifyServerCertificate=true",
            MYSQL._replace(arguments={"ssl_disabled": True}),
        ),
        ("jdbc:postgresql://h/db?sslmode=disable&ssl=true", POSTGRES._replace(arguments={"sslmode": "disable"})),
        ("jdbc:postgresql://h/db?sslmode=never", None),
        ("jdbc:mysql://h:65536/db", None),
        ("jdbc:mysql://h/db?socketTimeout=-1", None),
        ("jdbc:mysql://h/db?useSSL=false&characterEncoding=UTF-8", MYSQL._replace(arguments={"ssl_disabled": True})),
        ("jdbc:mysql://h/db?servertimezone=Asia/Shanghai", MYSQL._replace(zone="Asia/Shanghai")),
        ("jdbc:mysql://h/db?zeroDateTimeBehavior=convertToNull", MYSQL._replace(zero_dates="NULL")),
        ("jdbc:postgresql://h/db?currentSchema=s,public", POSTGRES._replace(schema="s")),
        ("jdbc:postgresql://h/db?sslmode=require", POSTGRES._replace(arguments={"sslmode": "require"})),
        ("jdbc:sqlite:/a/b c.db", Address(Dialect.SQLITE, "", 0, "/a/b c.db", None, None, {})),
        ("jdbc:oracle:thin:@h", None),
        ("jdbc:mysql://h/db?connectTimeout=soon", None),
        ("jdbc:mysql://h/db?sslMode=maybe", None),
        ("jdbc:postgresql://h", None),
        ("jdbc:sqlite:", None),
        ("jdbc:sqlite:/a?mode=ro", None),
    ],
)
def test_urls(url: str, address: Address | None) -> None:
    if address is not None:
        assert parse_url(url) == address
        return
    with pytest.raises(BergError) as told:
        parse_url(url)
    assert told.value.code == "OPTION"


@pytest.mark.parametrize("place", ["u:se@cret@h/db", "u:se/cret@h/db", "u:se?cret@h/db", "u:se@c:ret@h:1/db"])
def test_a_password_that_is_not_written_as_it_must_be_is_not_shown(place: str) -> None:
    with pytest.raises(BergError) as told:
        parse_url(f"jdbc:mysql://{place}")
    assert "cret" not in f"{told.value.message}{told.value.hint}"


def test_users_of_options_go_before_those_of_the_url() -> None:
    options = {"url": "jdbc:postgresql://a:b@h/db?currentSchema=s", "table-name": "t", "username": "u"}
    settings = settings_of(options)
    assert (settings.address.user, settings.address.password) == ("u", "b")
    assert (settings.schema, settings.table) == ("s", "t")
    assert settings_of({**options, "table-name": "x.y"}).schema == "x"


@pytest.mark.parametrize(("number", "lower", "upper"), [(1, 0, 0), (3, 0, 9), (7, -5, 90), (100, 1, 3), (2, -3, -3)])
def test_ranges_are_of_equal_size_and_leave_nothing_out(number: int, lower: int, upper: int) -> None:
    ranges = Partitions("c", number, lower, upper).ranges
    assert [n for first, behind in ranges for n in range(first, behind)] == list(range(lower, upper + 1))
    sizes = [behind - first for first, behind in ranges]
    assert max(sizes) - min(sizes) <= 1
    assert len(ranges) == min(number, upper - lower + 1)
