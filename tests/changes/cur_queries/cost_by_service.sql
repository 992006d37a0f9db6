SELECT
  line_item_product_code,
  product_product_name,
  SUM(line_item_unblended_cost) AS unblended_cost
FROM costs
WHERE lakebed_period = '2026-10'
  AND line_item_line_item_type NOT IN ('Tax', 'Credit', 'Refund')
GROUP BY 1, 2
ORDER BY unblended_cost DESC;
