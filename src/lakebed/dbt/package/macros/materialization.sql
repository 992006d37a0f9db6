{#-
  The model's rows go into a temporary table, from there into a file, and from there through Lakebed's plan and commit
  into the model's table. dbt's database gets a view on that table, or, where the target is `duckdb`, has the table itself.
-#}
{% materialization lakebed, adapter='duckdb', supported_languages=['sql'] %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set rows_relation = make_temp_relation(this) -%}
  {%- set request = lakebed.new_request(existing) -%}
  {%- do lakebed.ask('begin', this, request) -%}
  {%- set begun = request.answer -%}
  {%- set target_relation = this.incorporate(type='view' if begun.is_view else 'table') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% call statement('main') -%}
    {{ create_table_as(True, rows_relation, compiled_code) }}
  {%- endcall %}
  {%- do lakebed.check_contract(rows_relation) -%}

  {%- do request.update({'rows_relation': rows_relation.render()}) -%}
  {%- do lakebed.ask('prepare', this, request, adapter.get_columns_in_relation(rows_relation)) -%}
  {%- set prepared = request.answer -%}
  {%- do run_query(lakebed.copy_to(prepared.query, prepared.file)) -%}
  {%- do request.update({'rows': run_query('select count(*) from ' ~ rows_relation).rows[0][0]}) -%}
  {%- if prepared.digest_query -%}
    {%- do request.update({'digest': run_query(prepared.digest_query).rows[0][0]}) -%}
  {%- endif -%}
  {%- if begun.adopts -%}
    {%- do lakebed.ask('prepare_old', this, request, adapter.get_columns_in_relation(existing)) -%}
    {%- do run_query(lakebed.copy_to(request.answer.query, prepared.old_file)) -%}
  {%- endif -%}
  {%- do run_query('drop table ' ~ rows_relation) -%}
  {%- if existing is not none and existing.is_view and not begun.is_view -%}
    {%- do adapter.drop_relation(existing) -%}
  {%- endif -%}
  {#- What follows has a transaction of its own, which sees what Lakebed commits before it. -#}
  {%- do lakebed.commit() -%}

  {%- do lakebed.ask('write', this, request) -%}
  {%- set written = request.answer -%}

  {%- if begun.is_view -%}
    {%- if existing is not none and existing.is_table -%}
      {%- do lakebed.set_aside(existing, begun.adopts) -%}
    {%- endif -%}
    {%- do lakebed.show_view(target_relation, written) -%}
  {%- else -%}
    {%- do persist_docs(target_relation, model) -%}
  {%- endif -%}
  {%- if config.get('grants') -%}
    {%- do adapter.warn_once("grants are ignored by the materialization lakebed: DuckDB has no users") -%}
  {%- endif -%}
  {%- if written.acknowledge -%}
    {%- do run_query(written.acknowledge) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {%- do lakebed.commit() -%}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {%- do store_raw_result(name='main', message=written.message, code='OK', rows_affected=request.rows | string) -%}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{% macro new_request(existing) %}
  {%- set accepted = var('lakebed_accept', []) -%}
  {%- do return({
    'model': model.unique_id,
    'config': lakebed.words(model),
    'invocation_id': invocation_id,
    'full_refresh': should_full_refresh(),
    'accepted': model.name in ([accepted] if accepted is string else accepted),
    'existing': none if existing is none else existing.type | string,
    'is_source': false,
    'answer': {},
  }) -%}
{% endmacro %}


{#- A node's configuration. dbt fills in `on_schema_change: ignore` where nobody says anything; here new columns are added. -#}
{% macro words(node) %}
  {%- set said = dict(node.config) -%}
  {%- if 'on_schema_change' not in node.unrendered_config -%}
    {%- do said.update({'on_schema_change': none}) -%}
  {%- endif -%}
  {%- do return(said) -%}
{% endmacro %}


{#- The plugin answers in the dictionary that it is given. -#}
{% macro ask(step, relation, request, columns=[]) %}
  {%- if 'lakebed' not in (target.plugins or []) | map(attribute='alias') | list -%}
    {%- do exceptions.raise_compiler_error(
      "the plugin lakebed is not in the profile's target " ~ target.name ~ ": run `lakebed dbt init`, or add"
      ~ " plugins: [{module: lakebed.dbt.plugin, alias: lakebed}] to it") -%}
  {%- endif -%}
  {%- do adapter.store_relation('lakebed', relation, columns, '', step, request) -%}
{% endmacro %}


{% macro copy_to(query, file) %}
  copy ({{ query }}) to '{{ adapter.escape_sql_string(file) }}' (format parquet)
{% endmacro %}


{% macro commit() %}
  {%- if not adapter.disable_transactions() -%}
    {%- do adapter.commit() -%}
  {%- endif -%}
{% endmacro %}


{#- A table that dbt made before: its rows are in the new table, and it is kept for whoever doubts that. -#}
{% macro set_aside(existing, adopted) %}
  {%- set aside = existing.incorporate(path={'identifier': existing.identifier ~ '__before_lakebed'}) -%}
  {%- do adapter.rename_relation(existing, aside) -%}
  {%- set told = 'its rows are in the new table' if adopted else 'its rows were not taken: the target had rows already' -%}
  {{ log(existing ~ " is now " ~ aside ~ " (" ~ told ~ ")", info=True) }}
{% endmacro %}


{#- DuckDB keeps no constraints on temporary tables: those that a contract has on values are looked at here. -#}
{% macro check_contract(relation) %}
  {%- if not config.get('contract').enforced -%}{%- do return(none) -%}{%- endif -%}
  {%- set required = [] -%}
  {%- set others = model.constraints | map(attribute='type') | list -%}
  {%- for column in model.columns.values() -%}
    {%- for constraint in column.constraints or [] -%}
      {%- if constraint.type == 'not_null' -%}
        {%- do required.append(column.name) -%}
      {%- else -%}
        {%- do others.append(constraint.type) -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- for name in required -%}
    {%- set empty = run_query('select count(*) from ' ~ relation ~ ' where ' ~ adapter.quote(name) ~ ' is null').rows[0][0] -%}
    {%- if empty -%}
      {%- do exceptions.raise_compiler_error(
        "the contract of " ~ model.name ~ " says that " ~ name ~ " is not NULL, and " ~ empty ~ " rows have none") -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if others -%}
    {%- do adapter.warn_once(
      model.name ~ ": constraints of the materialization lakebed other than not_null are not enforced: "
      ~ (others | unique | join(', ')) ~ "; dbt's tests can check them") -%}
  {%- endif -%}
{% endmacro %}
