select
    lakebed_period as month,
    coalesce(resource_tags_user_environment, 'untagged') as environment,
    line_item_usage_type as usage_type,
    sum(line_item_unblended_cost) as cost,
    sum(line_item_usage_amount) as usage,
    (sum(line_item_unblended_cost) / nullif(sum(line_item_usage_amount), 0))::double as unit_cost,
    max(lakebed_delivery) as delivery
from {{ source('billing', 'costs') }}
{{ new_months() }}
group by all
