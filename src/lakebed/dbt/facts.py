"""What the plugin needs to be installed."""

from lakebed.extras import Extra

DBT = Extra("dbt", ("dbt.adapters.duckdb",))
