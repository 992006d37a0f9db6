WITH covered AS (
  SELECT line_item_product_code AS service,
         SUM(savings_plan_savings_plan_effective_cost) AS covered_cost
  FROM costs
  WHERE line_item_line_item_type = 'SavingsPlanCoveredUsage'
  GROUP BY 1
), on_demand AS (
  SELECT line_item_product_code AS service, SUM(line_item_unblended_cost) AS on_demand_cost
  FROM costs
  WHERE line_item_line_item_type = 'Usage' AND pricing_term = 'OnDemand'
  GROUP BY 1
)
SELECT COALESCE(c.service, o.service) AS service,
       c.covered_cost / NULLIF(c.covered_cost + o.on_demand_cost, 0) AS coverage
FROM covered c
FULL OUTER JOIN on_demand o ON c.service = o.service
