SELECT
  line_item_usage_account_id,
  line_item_product_code,
  SUM(line_item_unblended_cost) AS untagged
FROM costs
WHERE COALESCE(resource_tags_user_environment, resource_tags_user_environment_1, '') = ''
  AND line_item_resource_id <> ''
GROUP BY line_item_usage_account_id, line_item_product_code
ORDER BY untagged DESC
LIMIT 50
