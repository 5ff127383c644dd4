"""What is a secret, and that nothing of one is left in what may be shown."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from bergsql.catalog.secrets import MASK, is_secret_key, mask_text, mask_value


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "jdbc.password",
        "connection.PASSWORD",
        "credential",
        "token",
        "s3.secret-access-key",
        "s3.access-key-id.secret",
        "fs.s3a.access.key",
        "fs.azure.account.key.acct.dfs.core.windows.net",
        "fs.azure.sas.container.account",
        "client-secret",
        "apiKey",
        "api-key",
        "apikey",
        "properties.sasl.jaas.config",
        "ssl.keystore.password",
        "keystore.pass",
        "truststorePass",
        "header.Authorization",
        "SharedAccessKey",
        "AccountKey",
        "X-Amz-Signature",
        "token-endpoint.password",
        "avro-confluent.basic-auth.user-info",
    ],
)
def test_secret_keys(key: str) -> None:
    assert is_secret_key(key)
    assert mask_value(key, "geheim") == MASK
    assert mask_value(key, "${env:X}") == "${env:X}"
    assert mask_value(key, "${env:X}geheim") == MASK


@pytest.mark.parametrize(
    "key",
    [
        *(
            "url",
            "user",
            "warehouse",
            "key.format",
            "token-refresh-enabled",
            "key.fields",
            "s3.access-key-id",
            "primary",
        ),
        *("SharedAccessKeyName", "fs.s3a.aws.credentials.provider", "bypass", "write.metadata.compression-codec"),
        *("partition.sources", "rest.auth.type", "s3.signature-version", "encryption.key-id"),
    ],
)
def test_keys_that_are_none(key: str) -> None:
    assert not is_secret_key(key)
    assert mask_value(key, "x") == "x"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("jdbc:mysql://u:p@h:3306/db?useSSL=false", f"jdbc:mysql://{MASK}@h:3306/db?useSSL=false"),
        ("jdbc:mysql://h/db?user=u&password=p&x=1", f"jdbc:mysql://h/db?user=u&password={MASK}&x=1"),
        ("mongodb://u:a:b@c@h/db", f"mongodb://{MASK}@h/db"),
        ("mongodb://u:p@h:27017,g:27017/db", f"mongodb://{MASK}@h:27017,g:27017/db"),
        ("https://u:a/b@h/db", f"https://{MASK}@h/db"),
        ("https://TOKEN@h/", f"https://{MASK}@h/"),
        ("https://TOKEN:@h/", f"https://{MASK}@h/"),
        ("jdbc:sqlserver://h;user=u;password=p;x=y", f"jdbc:sqlserver://h;user=u;password={MASK};x=y"),
        ("https://h/cb?access_token=abc#top", f"https://h/cb?access_token={MASK}#top"),
        ("https://h/cb#access_token=abc", f"https://h/cb#access_token={MASK}"),
        ("https://h/?sig=a&auth=b&code=c&x=d", f"https://h/?sig={MASK}&auth={MASK}&code={MASK}&x=d"),
        ("/tmp/x?sig=a", f"/tmp/x?sig={MASK}"),
        ("postgres://u:${env:PW}@h/db", "postgres://u:${env:PW}@h/db"),
        ("abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"),
        ("http://h:8080/a@b", "http://h:8080/a@b"),
        ("s3://bucket/key=1/x", "s3://bucket/key=1/x"),
        ("a = 1", "a = 1"),
        ("code = 5", "code = 5"),
    ],
)
def test_urls(url: str, shown: str) -> None:
    assert mask_text(url) == shown
    assert mask_value("url", url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("WITH ('user'='u', 'password'='p''q')", f"WITH ('user'='u', 'password'='{MASK}')"),
        (
            "WITH ('a.basic-auth.credentials-source'='USER_INFO', 'a.basic-auth.user-info' = 'u:S3C')",
            f"WITH ('a.basic-auth.credentials-source'='USER_INFO', 'a.basic-auth.user-info' = '{MASK}')",
        ),
        ("'x'='password','y.password' /* it */ ='S3C'", f"'x'='password','y.password' /* it */ ='{MASK}'"),
        ("{'user': 'token', 'password': 'S3C'}", f"{{'user': 'token', 'password': '{MASK}'}}"),
        ("map('password', 'S3C', 'x', 'y')", f"map('password', '{MASK}', 'x', 'y')"),
        ("SET 'a.token' = 'x y';", f"SET 'a.token' = '{MASK}';"),
        ('"password" = "p\\"q", x = 1', f'"password" = "{MASK}", x = 1'),
        ("SET spark.x.secret=abc", f"SET spark.x.secret={MASK}"),
        ("SET spark.x.secret = a, b c; SELECT 1", f"SET spark.x.secret = {MASK}; SELECT 1"),
        ("'password' = 'never closed", f"'password' = '{MASK}"),
        ("'password'='${env:PW}'", "'password'='${env:PW}'"),
        ("'password' /* here */ = r'x'", f"'password' /* here */ = '{MASK}'"),
        ("'password' = 'a' 'b'", f"'password' = '{MASK}'"),
        ("TBLPROPERTIES ('password' 'x')", f"TBLPROPERTIES ('password' '{MASK}')"),
        ("OPTIONS (password 'x')", f"OPTIONS (password '{MASK}')"),
        ("map('password', 'x')", f"map('password', '{MASK}')"),
        ("('a=', 'password'='x')", f"('a=', 'password'='{MASK}')"),
        ("It's wrong: 'password'='x'", f"It's wrong: 'password'='{MASK}'"),
        ("'url'='jdbc:mysql://u:p@h/db?password=x'", f"'url'='jdbc:mysql://{MASK}@h/db?password={MASK}'"),
        ("'url'='jdbc:mysql://u:p''q@h/db'", f"'url'='jdbc:mysql://{MASK}@h/db'"),
        ("'jaas'='L required password=''x'' u=\"v\";'", f"'jaas'='L required password=''{MASK}'' u=\"v\";'"),
        ("'json'='{\"password\": \"x\"}'", f"'json'='{{\"password\": \"{MASK}\"}}'"),
        ("'c'='Endpoint=sb://h/;SharedAccessKey=a=b='", f"'c'='Endpoint=sb://h/;SharedAccessKey={MASK}'"),
        ("'h'='Authorization: Bearer a.b'", f"'h'='Authorization: Bearer {MASK}'"),
        ("('warehouse'='/x?sig=a&b=1', 'x'='y')", f"('warehouse'='/x?sig={MASK}&b=1', 'x'='y')"),
        ("SELECT * FROM t WHERE name = 'token'", "SELECT * FROM t WHERE name = 'token'"),
        ("Unexpected token 'x'.", "Unexpected token 'x'."),
    ],
)
def test_statements(text: str, shown: str) -> None:
    assert mask_text(text) == shown
    assert mask_text(shown) == shown


HEAD, TAIL = "Hd8x", "x3Tq"
"""Neither may be left of a secret that is made of both."""


def secrets(alphabet: some.SearchStrategy[str]) -> some.SearchStrategy[str]:
    return some.text(alphabet, max_size=12).map(lambda middle: HEAD + middle + TAIL)


ANY = secrets(some.characters(codec="utf-8"))
IN_A_URL = secrets(some.characters(codec="ascii", categories=("L", "N"), include_characters="-._~!$*+,()%=:|"))
PARAMETERS = some.sampled_from(
    ["sig", "X-Amz-Signature", "X-Amz-Credential", "Signature", "auth", "access_token", "code", "api_key", "password"]
)
KEYS = some.sampled_from(
    [
        "password",
        "a.b.token",
        "fs.s3a.access.key",
        "fs.azure.sas.c",
        "x.pass",
        "sasl.jaas.config",
        "AccountKey",
        "apikey",
    ]
)
BEFORE = some.sampled_from(
    ["", "SELECT 'a=', ", "it's ", "'x'='y', ", "-- don't\n", "a = 'b' AND ", '"', "('k'='it''s', "]
)


def doubled(secret: str, quote: str) -> str:
    return secret.replace("\\", "\\\\").replace(quote, quote * 2)


def nothing_is_left(text: str) -> None:
    shown = mask_text(text)
    assert HEAD not in shown
    assert TAIL not in shown
    assert MASK in shown


def test_a_quote_in_a_secret_behind_a_string_that_ends_like_a_key() -> None:
    shown = mask_text("""SELECT 'a=', "password"="Hd8x'x3Tq", 'z'='1')""")
    assert shown == f"""SELECT 'a=', "password"="{MASK}", 'z'='1')"""


@given(ANY, KEYS, some.sampled_from(["'", '"']), some.sampled_from(["=", " = ", "=>", "\n =\n"]), BEFORE)
@example(f"{HEAD}'; x{TAIL}", "password", "'", "=", "it's ")
def test_nothing_is_left_of_an_option(secret: str, key: str, quote: str, equals: str, before: str) -> None:
    if before.count(quote) % 2:
        before = ""  # a string that is never closed turns what is inside and outside around
    nothing_is_left(f"{before}{quote}{key}{quote}{equals}{quote}{doubled(secret, quote)}{quote}, 'z'='1')")


@given(ANY, KEYS)
def test_nothing_is_left_of_the_value_of_a_key(secret: str, key: str) -> None:
    assert mask_value(key, secret) == MASK


@given(IN_A_URL, PARAMETERS, some.sampled_from("?&#"), BEFORE)
def test_nothing_is_left_of_a_parameter(secret: str, name: str, lead: str, before: str) -> None:
    url = f"https://h/p{'?a=b' if lead == '&' else ''}{lead}{name}={secret}&z=1"
    nothing_is_left(f"{before} 'url'='{url}'")
    nothing_is_left(f"Cannot read {url} now.")
    assert HEAD not in mask_value("warehouse", url)
    assert TAIL not in mask_value("warehouse", url)


@given(IN_A_URL, some.sampled_from(["", "u:", ":"]), some.sampled_from(["", ":x-oauth-basic"]), BEFORE)
def test_nothing_is_left_of_the_user_part(secret: str, name: str, after: str, before: str) -> None:
    url = f"https://{name}{secret}{after}@h:1/p"
    nothing_is_left(f"{before} 'url'='{url}'")
    nothing_is_left(f"Cannot read {url} now.")


@given(secrets(some.characters(codec="ascii", categories=("L", "N"), include_characters="+/=")), BEFORE)
def test_nothing_is_left_of_connection_strings_and_headers(secret: str, before: str) -> None:
    for text in (f"N=a;AccountKey={secret};E=core", f"SharedAccessKey={secret}", f"Bearer {secret}"):
        nothing_is_left(f"{before} 'c'='{text}'")
        nothing_is_left(f"No answer to {text}")
        assert HEAD not in mask_value("c", text)
        assert TAIL not in mask_value("c", text)
