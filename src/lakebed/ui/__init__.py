"""The explorer: lineage, schema and deliveries in the browser. What it shows, the public functions say."""

from lakebed.extras import Extra

EXPLORER = Extra("ui", ("starlette", "uvicorn"))
