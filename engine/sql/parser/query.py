"""Queries and expressions: a slice of the statement's tokens becomes a sqlglot tree.

One grammar for both flavours: sqlglot's Spark *parser* class (not its dialect, nor its tokenizer) is fed with tokens of
our lexer. Neither the Spark dialect nor any generator is imported. **The tree says what was written**: nothing in it
has been translated, renamed, case-folded or optimised. What it looks like (plan/ relies on this):

Calls
    Every call is ``exp.Anonymous(this=<name as written, str>, expressions=[…])``: aggregates, ``COUNT(*)`` (an
    ``exp.Star`` argument), ``IF(…)``, ``LEFT(…)``, ``DATE(x)`` and the constructors ``ROW(…)``, ``STRUCT(…)``,
    ``NAMED_STRUCT(…)``. No call ever is a typed node such as ``exp.Sum``; ``exp.func(name, *args, dialect="spark")``
    builds one where that is wanted. ``ARRAY[a, b]`` is ``Anonymous ARRAY(a, b)`` and ``MAP['k', v]`` is ``Anonymous MAP('k', v)``,
    just as Spark's ``array(…)`` and ``map(…)``. A dotted call ``c.system.bucket(4, x)`` is ``exp.Dot(…, Anonymous)``.
    Around a call: ``exp.Distinct`` as the only argument (``COUNT(DISTINCT a, b)``), ``exp.Order`` around the last
    argument (``LISTAGG(a ORDER BY b)``), ``exp.IgnoreNulls``/``exp.RespectNulls``, ``exp.Filter``, ``exp.WithinGroup``, ``exp.Window``.
    Calls with words inside are calls with commas: ``SUBSTRING(x FROM 1 FOR 2)`` is ``SUBSTRING(x, 1, 2)``, ``POSITION(a IN b)``
    is ``POSITION(a, b)``, ``OVERLAY(a PLACING b FROM 1 FOR 2)`` is ``OVERLAY(a, b, 1, 2)``, ``CEIL(x TO DAY)`` is ``CEIL(x, 'DAY')``
    (a string literal), ``JSON_OBJECT(KEY 'k' VALUE v)`` is ``JSON_OBJECT('k', v)``. ``TRIM(BOTH c FROM x)`` is ``exp.Trim`` (``TRIM(x)``
    and ``TRIM(a, b)`` are calls), ``EXTRACT(DAY FROM x)`` is ``exp.Extract``. Without parentheses, ``CURRENT_DATE``, ``CURRENT_TIMESTAMP``,
    ``LOCALTIMESTAMP`` and the like are sqlglot's nodes (``exp.CurrentDate`` …). Units such as the DAY of
    ``TIMESTAMPADD(DAY, 1, x)`` are columns.
Types
    ``CAST(x AS T)``, ``TRY_CAST(x AS T)`` and ``x::T`` are ``exp.Cast``/``exp.TryCast`` whose ``to`` is an opaque
    ``exp.DataType``: :func:`declared_type` gives our :class:`DataType` of it (parsed by type_names, so both
    flavours' names and ``ROW<…>``, ``TIMESTAMP_LTZ(3)``, ``BYTES``, ``INTERVAL DAY`` work; TIMESTAMP is by flavour).
Literals
    ``DATE '…'``, ``TIME '…'``, ``TIMESTAMP '…'``, ``TIMESTAMP_NTZ '…'``, ``TIMESTAMP_LTZ '…'`` are ``exp.Cast`` of a string with
    ``meta["literal"] is True``; in flink the type's precision is the number of fraction digits written. Spark's ``1L``, ``1S``, ``1Y``, ``1.0D``,
    ``1.0F``, ``1.5BD`` are ``exp.Cast`` of a number, ``meta["literal"]`` too. ``X'0aff'`` is ``exp.HexString(this="0aff")``. Intervals are
    ``exp.Interval``: ``INTERVAL '3' DAY``, ``INTERVAL '1-2' YEAR TO MONTH`` (its unit an ``exp.IntervalSpan``), spark ``interval '1 day 2 hours'``
    (no unit). Strings are unescaped values. ``?`` is refused.
Operators
    ``a || b`` ``exp.DPipe``; ``<=>`` ``exp.NullSafeEQ``; ``a DIV b`` ``exp.IntDiv``; ``/`` ``exp.Div``; ``%`` ``exp.Mod``; RLIKE ``exp.RegexpLike``;
    ``a[i]`` ``exp.Bracket`` with the index as written; ``x -> f(x)`` ``exp.Lambda``, whose own variables are bare identifiers. ``a IS NULL`` binds
    below comparison in both flavours; INTERSECT binds tighter than UNION.
Tables
    ``exp.Table(this, db, catalog)`` of ``exp.Identifier`` parts as written (more than three parts: ``this`` is an ``exp.Dot``).
    ``t$snapshots`` in or out of back quotes is one identifier. ``VERSION AS OF v``, ``FOR [SYSTEM_]VERSION AS OF v``, ``TIMESTAMP AS OF x``, ``FOR
    SYSTEM_TIME AS OF x`` are ``table.args["version"]``: ``exp.Version(this="VERSION"|"TIMESTAMP", kind="AS OF", expression)``.
    ``TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR))`` is an ``exp.Table`` whose ``this`` is ``Anonymous TUMBLE``: its table argument is
    ``Anonymous TABLE(<column t>, <columns of PARTITION BY …>)``, its descriptor ``Anonymous DESCRIPTOR(<columns>)``; named arguments are ``exp.Kwarg``.
    ``VALUES (…), (…)`` is ``exp.Values`` of ``exp.Tuple`` (``VALUES ROW(1, 2)`` and ``VALUES 1, 2`` too); ``TABLE t`` is ``SELECT * FROM t``. In spark,
    a comma between tables is a CROSS join, as Spark reads it.
Hints
    are not in the tree. ``/*+ OPTIONS(…) */`` behind a table is in ``Query.hints``: ``hint.after`` is the end of the table
    reference, ``span_of(table).end`` of the ``exp.Table`` it belongs to. Hints behind SELECT that only say how to run (BROADCAST …)
    are checked by name and dropped.
Places
    Identifiers, calls, literals, stars and types carry offsets into the *statement's* text (not the query's):
    :func:`span_of` gives a node's span, or that of its first part that has one.
"""
