SELECT product_instance_type, product_region_code, pricing_term, pricing_unit,
       SUM(line_item_usage_amount) AS hours, SUM(line_item_unblended_cost) AS cost
FROM costs
WHERE line_item_product_code = 'AmazonEC2' AND line_item_operation LIKE 'RunInstances%'
GROUP BY GROUPING SETS ((product_instance_type, product_region_code, pricing_term, pricing_unit), ())
