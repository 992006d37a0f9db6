-- What was used up in a month, with reservations and savings plans spread over the usage that they cover.
select
    lakebed_period as month,
    line_item_usage_account_id as account,
    sum(
        case line_item_line_item_type
            when 'DiscountedUsage' then reservation_effective_cost
            when 'SavingsPlanCoveredUsage' then savings_plan_savings_plan_effective_cost
            when 'SavingsPlanNegation' then 0
            when 'RIFee' then 0
            when 'SavingsPlanRecurringFee' then 0
            else line_item_unblended_cost
        end
    ) as cost,
    max(lakebed_delivery) as delivery
from {{ source('billing', 'costs') }}
{{ new_months() }}
group by all
