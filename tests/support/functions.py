"""Every function that a flavour has."""

from bergsql.engine.sql.functions.registry import functions as functions
