"""Finding columns, giving ids, and every way to change a schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata import evolve
from bergsql.catalog.metadata.schema import Schema, assign_fresh_ids, assign_ids_like
from bergsql.catalog.metadata.schema_rules import check_schema
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    walk,
)

INT, LONG, STRING = parse_type("int"), parse_type("long"), parse_type("string")


def column(field_id: int, name: str, type_: IcebergType = INT, *, required: bool = False) -> NestedField:
    return NestedField(field_id, name, type_, required)


def nested() -> Schema:
    """id, who<first, last>, tags list<struct<x>>, props map<string, struct<y>>, and a column with dots."""
    return Schema(
        3,
        (
            column(1, "id", LONG, required=True),
            column(2, "who", StructType((column(5, "first", STRING), column(6, "Last", STRING)))),
            column(3, "tags", ListType(7, StructType((column(8, "x"),)), False)),
            column(4, "props", MapType(9, StringType(), 10, StructType((column(11, "y"),)), False)),
            column(12, "a.b"),
        ),
        (1,),
    )


@pytest.mark.parametrize(
    ("name", "field_id"),
    [
        ("id", 1),
        ("who.first", 5),
        ("tags.element", 7),
        ("tags.element.x", 8),
        ("tags.x", 8),
        ("props.key", 9),
        ("props.value.y", 11),
        ("props.y", 11),
        ("a.b", 12),
    ],
)
def test_names_lead_to_fields(name: str, field_id: int) -> None:
    found = nested().find(name)
    assert found is not None
    assert found.field_id == field_id


def test_names_of_fields() -> None:
    schema = nested()
    assert schema.name_of(8) == "tags.element.x"
    assert schema.name_of(99) is None
    parent = schema.parent_of(8)
    assert parent is not None
    assert parent.name == "element"
    assert schema.parent_of(1) is None
    assert schema.highest_field_id == 12
    assert schema.identifier_names == ("id",)
    assert Schema(0, ()).highest_field_id == 0


def test_case() -> None:
    schema = nested()
    assert schema.find("WHO.last") is None
    found = schema.find("WHO.last", case_sensitive=False)
    assert found is not None
    assert found.field_id == 6
    both = Schema(0, (column(1, "a"), column(2, "A")))
    exact = both.find("A", case_sensitive=False)
    assert exact is not None
    assert exact.field_id == 2
    assert Schema(0, (column(1, "aB"), column(2, "Ab"))).find("ab", case_sensitive=False) is None


def test_fresh_ids_go_level_by_level_as_javas_do() -> None:
    fresh, last = assign_fresh_ids(nested())
    ids = {fresh.name_of(f.field_id): f.field_id for f in walk(fresh.fields)}
    assert [ids[n] for n in ("id", "who", "tags", "props", "a.b")] == [1, 2, 3, 4, 5]
    assert [ids[n] for n in ("who.first", "who.Last", "tags.element", "tags.element.x")] == [6, 7, 8, 9]
    assert [ids[n] for n in ("props.key", "props.value", "props.value.y")] == [10, 11, 12]
    assert last == 12
    assert (fresh.schema_id, fresh.identifier_field_ids) == (0, (1,))


def test_replacing_keeps_the_ids_of_names_that_stay() -> None:
    new = Schema(0, (column(1, "new"), column(2, "who", StructType((column(3, "Last"), column(4, "age"))))), (1,))
    like, last = assign_ids_like(new, nested(), 40)
    ids = {like.name_of(f.field_id): f.field_id for f in walk(like.fields)}
    assert ids == {"new": 41, "who": 2, "who.Last": 6, "who.age": 42}
    assert last == 42
    assert like.identifier_field_ids == (41,)


# --- evolution -------------------------------------------------------------------------------------------------------


def names(schema: Schema) -> list[str | None]:
    return [schema.name_of(f.field_id) for f in walk(schema.fields)]


def test_add_at_the_end_in_front_and_behind() -> None:
    new = column(0, "z", ListType(0, INT, False))
    schema = nested()
    assert evolve.add_column(schema, new, 20).names[-1] == "z"
    assert evolve.add_column(schema, new, 20, after=evolve.FIRST).names[0] == "z"
    after = evolve.add_column(schema, new, 20, after="ID", case_sensitive=False)
    assert after.names[:2] == ("id", "z")
    added = after.find("z")
    assert added is not None
    assert added.field_id == 21
    element = after.find("z.element")
    assert element is not None
    assert element.field_id == 22
    assert schema == nested()


def test_add_inside_structs_lists_and_maps() -> None:
    schema = evolve.add_column(nested(), column(0, "mid", STRING), 20, parent=("who",), after="first")
    schema = evolve.add_column(schema, column(0, "x2"), 21, parent=("tags",))
    schema = evolve.add_column(schema, column(0, "x3"), 22, parent=("tags", "element"), after=evolve.FIRST)
    schema = evolve.add_column(schema, column(0, "y2"), 23, parent=("props",))
    schema = evolve.add_column(schema, column(0, "y3"), 24, parent=("props", "value"))
    assert names(schema) == [
        "id",
        "who",
        "who.first",
        "who.mid",
        "who.Last",
        "tags",
        "tags.element",
        "tags.element.x3",
        "tags.element.x",
        "tags.element.x2",
        "props",
        "props.key",
        "props.value",
        "props.value.y",
        "props.value.y2",
        "props.value.y3",
        "a.b",
    ]
    check_schema(schema, 2)


def test_drop_rename_move() -> None:
    schema = evolve.drop_column(nested(), ("who", "LAST"), case_sensitive=False)
    schema = evolve.rename_column(schema, ("tags", "x"), "y")
    schema = evolve.rename_column(schema, ("who",), "WHO")
    schema = evolve.move_column(schema, ("a.b",), evolve.FIRST)
    schema = evolve.move_column(schema, ("id",), "props")
    assert schema.names == ("a.b", "WHO", "tags", "props", "id")
    renamed = schema.find("tags.y")
    assert renamed is not None
    assert renamed.field_id == 8
    assert schema.find("who.Last", case_sensitive=False) is None


def test_types_docs_defaults_and_nullability() -> None:
    schema = evolve.change_type(nested(), ("tags", "x"), LONG, 2)
    schema = evolve.change_type(schema, ("a.b",), LONG, 2)
    schema = evolve.set_doc(schema, ("a.b",), "why")
    schema = evolve.set_write_default(schema, ("a.b",), 5)
    changed = schema.find("a.b")
    assert changed == NestedField(12, "a.b", LONG, False, "why", write_default=5)
    required = replace(schema, fields=(*schema.fields, column(30, "r", required=True)))
    assert evolve.set_nullable(required, ("r",)).fields[-1] == column(30, "r")


def test_the_key() -> None:
    keyed = evolve.set_identifier_fields(nested(), [("ID",)], case_sensitive=False)
    assert keyed.identifier_field_ids == (1,)
    assert evolve.set_identifier_fields(keyed, []).identifier_field_ids == ()
    with pytest.raises(BergError, match="Column 'id' is part of the key and cannot be NULL"):
        evolve.set_nullable(keyed, ("id",))
    with pytest.raises(BergError, match="Column 'idd' was not found"):
        evolve.set_identifier_fields(keyed, [("idd",)])


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (lambda s: evolve.add_column(s, column(0, "id"), 20), "ALREADY_EXISTS", "'id' already exists"),
        (lambda s: evolve.add_column(s, column(0, "ID"), 20), "ALREADY_EXISTS", "differs only in case from 'id'"),
        (lambda s: evolve.add_column(s, column(0, "n", required=True), 20), "INVALID", "NOT NULL"),
        (lambda s: evolve.add_column(s, column(0, "n"), 20, after="nope"), "NOT_FOUND", "'nope' was not found"),
        (lambda s: evolve.add_column(s, column(0, "n"), 20, parent=("id",)), "INVALID", "holds no columns"),
        (lambda s: evolve.add_column(s, column(0, "n"), 20, parent=("whom",)), "NOT_FOUND", "'whom' was not found"),
        (lambda s: evolve.drop_column(s, ("idx",)), "NOT_FOUND", "'idx' was not found"),
        (lambda s: evolve.drop_column(s, ("id",)), "INVALID", "key needs it"),
        (lambda s: evolve.drop_column(s, ("tags", "x")), "INVALID", "the only one"),
        (lambda s: evolve.drop_column(s, ("tags", "element")), "INVALID", "the only one"),
        (lambda s: evolve.drop_column(s, ("props", "key")), "INVALID", "keys of a map stay as they are"),
        (lambda s: evolve.drop_column(s, ("id", "x")), "NOT_FOUND", "'id.x' was not found"),
        (lambda s: evolve.rename_column(s, ("tags", "element"), "e"), "INVALID", "cannot be dropped, renamed"),
        (lambda s: evolve.rename_column(s, ("who",), "Tags"), "ALREADY_EXISTS", "there is such a column"),
        (lambda s: evolve.change_type(s, ("id",), INT, 2), "TYPE", "from long to int"),
        (lambda s: evolve.change_type(s, ("who",), INT, 2), "TYPE", "Cannot change the type of 'who'"),
        (lambda s: evolve.move_column(s, ("id",), "id"), "INVALID", "after itself"),
    ],
)
def test_changes_that_cannot_be(change: Callable[[Schema], Schema], code: str, says: str) -> None:
    with pytest.raises(BergError) as caught:
        change(nested())
    assert caught.value.code is ErrorCode(code)
    assert says in caught.value.message


def test_a_near_name_is_hinted() -> None:
    with pytest.raises(BergError) as caught:
        evolve.drop_column(nested(), ("tgas",))
    assert caught.value.hint == "Did you mean 'tags'?"


@pytest.mark.parametrize(
    ("old", "new", "version", "allowed"),
    [
        ("int", "long", 1, True),
        ("float", "double", 1, True),
        ("decimal(9, 2)", "decimal(11, 2)", 1, True),
        ("decimal(9, 2)", "decimal(11, 3)", 2, False),
        ("decimal(9, 2)", "decimal(8, 2)", 2, False),
        ("long", "int", 2, False),
        ("int", "double", 3, False),
        ("date", "timestamp", 2, False),
        ("date", "timestamp", 3, True),
        ("date", "timestamptz", 3, False),
        ("unknown", "string", 3, True),
        ("string", "string", 1, True),
    ],
)
def test_promotions(old: str, new: str, version: int, allowed: bool) -> None:
    assert evolve.can_promote(parse_type(old), parse_type(new), version) is allowed


@pytest.mark.parametrize(
    ("schema", "version", "says"),
    [
        (Schema(0, (column(1, "a"), column(2, "a"))), 2, "more than one column 'a'"),
        (Schema(0, (column(1, "s", StructType((column(2, "a"), column(3, "a")))),)), 2, "'s.a'"),
        (Schema(0, (column(1, "a"), column(1, "b"))), 2, "field id 1"),
        (Schema(0, (column(1, "a", parse_type("timestamp_ns")),)), 2, "timestamp_ns needs format version 3"),
        (Schema(0, (column(1, "a", parse_type("variant")),)), 1, "variant needs format version 3"),
        (Schema(0, (replace(column(1, "a"), initial_default=1),)), 2, "a default needs format version 3"),
        (Schema(0, (column(1, "a"),), (1,)), 2, "it may be NULL"),
        (Schema(0, (column(1, "a", parse_type("double"), required=True),), (1,)), 2, "compared safely"),
        (Schema(0, (column(1, "a", ListType(2, INT, True), required=True),), (1,)), 2, "not a primitive"),
        (Schema(0, (column(1, "a", ListType(2, INT, True), required=True),), (2,)), 2, "inside a list or map"),
        (Schema(0, (column(1, "s", StructType((column(2, "a", required=True),))),), (2,)), 2, "'s' may be NULL"),
        (Schema(0, (column(1, "a"),), (9,)), 2, "the field 9"),
    ],
)
def test_schemas_that_no_table_can_have(schema: Schema, version: int, says: str) -> None:
    with pytest.raises(BergError) as caught:
        check_schema(schema, version)
    assert says in caught.value.message


def test_version_3_has_them() -> None:
    check_schema(Schema(0, (replace(column(1, "a", parse_type("timestamp_ns")), initial_default="x"),)), 3)


def test_replaced_columns_keep_their_ids_and_values() -> None:
    wanted = (column(0, "new", STRING), column(0, "a.b", LONG), replace(column(0, "ID", LONG, required=True), doc="k"))
    schema = evolve.replace_columns(nested(), wanted, 20, 2, case_sensitive=False)
    assert [(f.field_id, f.name, f.type, f.doc) for f in schema.fields] == [
        (21, "new", STRING, None),
        (12, "a.b", LONG, None),
        (1, "id", LONG, "k"),
    ]


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (lambda s: evolve.replace_columns(s, [column(0, "who")], 20, 2, case_sensitive=True), "TYPE", "'who'"),
        (lambda s: evolve.replace_columns(s, [column(0, "who2")], 20, 2, case_sensitive=True), "INVALID", "key needs"),
        (lambda s: evolve.replace_columns(s, [column(0, "id", LONG)], 20, 2, case_sensitive=True), "INVALID", "NULL"),
        (lambda s: evolve.set_required(s, ("a.b",)), "INVALID", "cannot become NOT NULL"),
        (lambda s: evolve.set_doc(s, ("tags", "element"), "x"), "INVALID", "no comment"),
        (lambda s: evolve.change_type(s, ("who",), StructType((column(5, "first"),)), 2), "TYPE", "as a whole"),
        (lambda s: evolve.add_column(s, column(0, "z"), 20, parent=("props", "key")), "INVALID", "keys of a map"),
    ],
)
def test_what_alter_table_refuses(change: Callable[[Schema], Schema], code: str, says: str) -> None:
    with pytest.raises(BergError) as caught:
        change(nested())
    assert caught.value.code is ErrorCode(code)
    assert says in caught.value.message


def test_a_type_declared_as_it_is_changes_nothing() -> None:
    same = StructType((column(71, "first", STRING), column(72, "Last", STRING)))
    assert evolve.change_type(nested(), ("who",), same, 2) == nested()
    assert evolve.set_required(nested(), ("id",)) == nested()


def test_a_date_that_becomes_a_timestamp_takes_its_defaults_along() -> None:
    date = replace(column(1, "d", parse_type("date")), initial_default="2020-01-01", write_default="2021-01-01")
    (changed,) = evolve.change_type(Schema(0, (date,)), ("d",), parse_type("timestamp"), 3).fields
    assert (changed.initial_default, changed.write_default) == ("2020-01-01T00:00:00", "2021-01-01T00:00:00")


def test_a_field_is_found_by_its_path() -> None:
    assert evolve.field_at(nested(), ("PROPS", "key"), case_sensitive=False).field_id == 9
    assert evolve.field_at(nested(), ("a.b",)).field_id == 12
    with pytest.raises(BergError, match=r"Column 'a\.b' was not found"):
        evolve.field_at(nested(), ("a", "b"))


def test_names_that_two_fields_would_have() -> None:
    clash = Schema(0, (column(1, "a", StructType((column(2, "b"),))), column(3, "a.b")))
    with pytest.raises(BergError, match=r"'a\.b' is both a column and a field of a struct"):
        check_schema(clash, 2)
