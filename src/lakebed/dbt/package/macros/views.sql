{#- Shows a table in dbt's database: its view, what it is, and the descriptions that the project asks to keep. -#}
{% macro show_view(relation, shown, described=none) %}
  {%- set node = described or model -%}
  {%- set keeps = node.config.persist_docs or {} -%}
  {%- do run_query('create or replace view ' ~ relation ~ ' as ' ~ shown.view) -%}
  {%- set about = [node.description if keeps.get('relation') else none, shown.comment] | select | join('\n\n') -%}
  {%- do run_query('comment on view ' ~ relation ~ ' is ' ~ duckdb_escape_comment(about)) -%}
  {%- set comments = {} -%}
  {%- do comments.update(shown.originals) -%}
  {%- if keeps.get('columns') -%}
    {%- for column in node.columns.values() if column.description -%}
      {%- for name in lakebed.same_name(relation, column.name) -%}
        {%- do comments.update({name: [column.description, shown.originals.get(name)] | select | join('\n\n')}) -%}
      {%- endfor -%}
    {%- endfor -%}
  {%- endif -%}
  {%- for name, comment in comments.items() -%}
    {%- do run_query('comment on column ' ~ relation ~ '.' ~ adapter.quote(name) ~ ' is ' ~ duckdb_escape_comment(comment)) -%}
  {%- endfor -%}
{% endmacro %}


{#- The view's own spelling of a column. -#}
{% macro same_name(relation, wanted) %}
  {%- set found = [] -%}
  {%- for column in adapter.get_columns_in_relation(relation) if column.name | lower == wanted | lower -%}
    {%- do found.append(column.name) -%}
  {%- endfor -%}
  {%- do return(found) -%}
{% endmacro %}


{#-
  Before a run: other writers may have committed to the tables of models and sources, and another machine may have made
  them. Each view is pointed at its table as it is now.
-#}
{% macro refresh_views() %}
  {%- if not execute -%}{%- do return('') -%}{%- endif -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized == 'lakebed' -%}
    {%- do lakebed.refresh_view(node, lakebed.words(node), false) -%}
  {%- endfor -%}
  {%- for source in graph.sources.values() if source.meta.lakebed_target or source.config.meta.lakebed_target -%}
    {%- set wanted = source.meta.lakebed_target or source.config.meta.lakebed_target -%}
    {%- do lakebed.refresh_view(source, {'lakebed_target': wanted}, true) -%}
  {%- endfor -%}
  {%- do return('') -%}
{% endmacro %}


{% macro refresh_view(node, config, is_source) %}
  {%- set name = node.identifier if is_source else node.alias -%}
  {%- set existing = adapter.get_relation(database=node.database, schema=node.schema, identifier=name) -%}
  {%- if existing is not none and existing.is_table -%}{%- do return('') -%}{%- endif -%}
  {%- set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=name, type='view') -%}
  {%- set request = {'model': node.unique_id, 'config': config, 'is_source': is_source, 'answer': {}} -%}
  {%- set columns = [] if existing is none or is_source else adapter.get_columns_in_relation(existing) -%}
  {%- do lakebed.ask('refresh', relation, request, columns) -%}
  {%- if request.answer.get('hide') and existing is not none -%}
    {%- do adapter.drop_relation(existing) -%}
  {%- elif request.answer.view -%}
    {%- if is_source -%}{%- do adapter.create_schema(relation) -%}{%- endif -%}
    {%- do lakebed.show_view(relation, request.answer, node) -%}
    {%- if existing is none -%}{%- do adapter.cache_added(relation) -%}{%- endif -%}
  {%- endif -%}
{% endmacro %}


{#- Whether the model adds to rows that are there: dbt's own is_incremental() knows its own materialization only. -#}
{% macro is_incremental() %}
  {%- if not execute or should_full_refresh() or model.config.materialized != 'lakebed' -%}{%- do return(false) -%}{%- endif -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- if existing is none -%}{%- do return(false) -%}{%- endif -%}
  {%- set request = lakebed.new_request(existing) -%}
  {%- do lakebed.ask('find', this, request) -%}
  {%- do return(request.answer.exists) -%}
{% endmacro %}
