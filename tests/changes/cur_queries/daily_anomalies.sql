WITH days AS (
  SELECT DATE_TRUNC('day', line_item_usage_start_date) AS day, SUM(line_item_unblended_cost) AS cost
  FROM costs
  GROUP BY 1
), spread AS (
  SELECT day, cost, AVG(cost) OVER (ORDER BY day ROWS BETWEEN 7 PRECEDING AND 1 PRECEDING) AS usual
  FROM days
)
SELECT day, cost, usual FROM spread WHERE cost > 1.5 * usual
