SELECT line_item_resource_id, cost, position
FROM (
  SELECT line_item_resource_id,
         SUM(line_item_unblended_cost) AS cost,
         RANK() OVER (PARTITION BY line_item_product_code ORDER BY SUM(line_item_unblended_cost) DESC) AS position
  FROM costs
  WHERE line_item_resource_id <> ''
  GROUP BY line_item_resource_id, line_item_product_code
) ranked
WHERE position <= 10
