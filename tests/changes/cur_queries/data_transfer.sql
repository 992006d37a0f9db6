SELECT
  CASE
    WHEN line_item_usage_type LIKE '%-DataTransfer-In-Bytes%' THEN 'in'
    WHEN line_item_usage_type LIKE '%-DataTransfer-Out-Bytes%' THEN 'out'
    WHEN line_item_usage_type LIKE '%-DataTransfer-Regional-Bytes%' THEN 'between zones'
    ELSE 'other'
  END AS direction,
  SUM(line_item_usage_amount) AS gigabytes,
  SUM(line_item_unblended_cost) AS cost
FROM costs
WHERE product_product_family = 'Data Transfer' OR line_item_usage_type LIKE '%DataTransfer%'
GROUP BY 1
