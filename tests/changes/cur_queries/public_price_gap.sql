SELECT line_item_product_code, product_sku, product_servicecode, product_location,
       SUM(pricing_public_on_demand_cost - line_item_unblended_cost) AS saved
FROM costs
WHERE line_item_line_item_type IN ('DiscountedUsage', 'SavingsPlanCoveredUsage')
GROUP BY 1, 2, 3, 4
