SELECT line_item_resource_id AS bucket,
       SUM(line_item_usage_amount) FILTER (WHERE line_item_usage_type LIKE '%TimedStorage%') AS stored,
       SUM(line_item_unblended_cost) AS cost
FROM costs AS c
WHERE c.line_item_product_code = 'AmazonS3'
GROUP BY 1
