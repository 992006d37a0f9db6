SELECT
  bill_payer_account_id,
  line_item_usage_account_id,
  DATE_FORMAT(line_item_usage_start_date, '%Y-%m-%d') AS day_of_usage,
  SUM(CAST(line_item_unblended_cost AS DECIMAL(16, 8))) AS cost
FROM "cur_db"."costs"
WHERE line_item_usage_start_date BETWEEN TIMESTAMP '2026-10-01 00:00:00' AND TIMESTAMP '2026-10-31 23:59:59'
GROUP BY 1, 2, 3
ORDER BY day_of_usage, cost DESC
