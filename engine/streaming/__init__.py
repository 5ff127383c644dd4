"""Streaming: jobs that run on, read increments, keep state, and lose or double nothing.

A query over an unbounded source is planned as a graph (``nodes.py``), whose nodes are carried out by operators on
micro-batches of changes (``changelog.py``). Sources and sinks are behind two small interfaces; what must outlive a
crash is in one store (``state``), and ``checkpoint.py`` alone says when something becomes durable.
"""
