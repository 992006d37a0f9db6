SELECT bill_invoice_id, bill_billing_entity, line_item_legal_entity,
       SUM(IF(line_item_line_item_type = 'Credit', line_item_unblended_cost, 0)) AS credits,
       SUM(IF(line_item_line_item_type = 'Tax', line_item_unblended_cost, 0)) AS tax,
       SUM(discount_total_discount) AS discounts
FROM costs
GROUP BY bill_invoice_id, bill_billing_entity, line_item_legal_entity
