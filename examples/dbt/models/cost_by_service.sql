select
    lakebed_period as month,
    coalesce(product_servicecode, line_item_product_code) as service,
    sum(line_item_unblended_cost) as cost,
    count(*) as lines,
    max(lakebed_delivery) as delivery
from {{ source('billing', 'costs') }}
{{ new_months() }}
group by all
