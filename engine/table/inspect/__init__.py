"""Metadata tables: what a table's metadata and manifests say, as tables (Iceberg: "Inspecting tables").

Columns, types, names and values are those that Iceberg 1.10 gives in Spark. ``tables`` says what there is and reads it;
each other module is a family of them.
"""
