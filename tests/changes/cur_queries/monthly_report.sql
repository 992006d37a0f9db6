CREATE OR REPLACE VIEW monthly_report AS
SELECT lakebed_period AS month, line_item_currency_code AS currency, SUM(line_item_unblended_cost) AS cost
FROM costs
GROUP BY lakebed_period, line_item_currency_code;

SELECT month, SUM(cost) FROM monthly_report GROUP BY month;
