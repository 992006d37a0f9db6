WITH months AS (
  SELECT lakebed_period AS month, line_item_product_code AS service, SUM(line_item_unblended_cost) AS cost
  FROM costs
  GROUP BY 1, 2
)
SELECT now.service, now.cost, before.cost AS cost_before, now.cost - before.cost AS difference
FROM months AS now
LEFT JOIN months AS before ON before.service = now.service AND before.month = '2026-09'
WHERE now.month = '2026-10'
