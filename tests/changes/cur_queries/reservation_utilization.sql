SELECT
  SPLIT_PART(reservation_reservation_arn, '/', 2) AS lease_id,
  SUM(line_item_usage_amount) AS used,
  MAX(CAST(NULLIF(reservation_total_reserved_units, '') AS DOUBLE)) AS reserved,
  MIN(reservation_start_time) AS begins,
  MAX(reservation_end_time) AS ends
FROM costs
WHERE reservation_reservation_arn <> ''
GROUP BY 1
HAVING SUM(line_item_usage_amount) > 0
