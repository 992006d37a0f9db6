SELECT *
FROM costs
WHERE line_item_usage_account_id IN (SELECT DISTINCT bill_payer_account_id FROM costs)
