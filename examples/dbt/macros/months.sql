{#- The months of the bill whose delivery the model does not hold yet. -#}
{% macro new_months() %}
  {%- if lakebed.is_incremental() -%}
    where lakebed_delivery not in (select delivery from {{ this }})
  {%- endif -%}
{% endmacro %}
