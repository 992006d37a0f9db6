SELECT COALESCE(NULLIF(resource_tags_user_cost_center, ''), 'unassigned') AS cost_center,
       TRY(CAST(ROUND(SUM(line_item_blended_cost), 2) AS VARCHAR)) AS shown
FROM costs
GROUP BY 1
UNION ALL
SELECT 'all', CAST(ROUND(SUM(line_item_blended_cost), 2) AS VARCHAR) FROM costs
