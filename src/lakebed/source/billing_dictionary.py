"""AWS's own dictionary of its bills, as data: the columns of CUR 2.0, and CUR's columns for attributes of products.

Names are those of AWS's finished formats (Athena, Parquet, CUR 2.0): `normalize_column_name(original, "athena")` of a
CUR header. `column_dictionary` makes types of what is known. Source: the Data Exports user guide, table dictionary of
CUR 2.0, and manifests of legacy CUR.
"""

from lakebed.schema.names import normalize_column_name


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Attributes of products as a CUR header spells them behind `product/`. CUR 2.0 has most of them in the map `product`.
PRODUCT_ATTRIBUTES: tuple[str, ...] = _words(
    "accountAssistance alarmType apiCalls architecturalReview architectureSupport attachmentType availability "
    "availabilityZone backupservice bestPractices brokerEngine bundle bundleDescription bundleGroup cacheEngine "
    "capacity capacitystatus caseSeverityresponseTimes category ciType classicnetworkingsupport clockSpeed "
    "component computeFamily computeType concurrencyscalingfreeusage connectionType contentType cputype "
    "currentGeneration customerServiceAndCommunities data databaseEdition databaseEngine dataTransferQuota "
    "datatransferout dedicatedEbsThroughput deploymentOption describes description directConnectLocation "
    "directorySize directoryType directoryTypeDescription durability ecu edition endpoint endpointType engine "
    "engineCode enhancedNetworkingSupported equivalentondemandsku eventType executionFrequency executionMode "
    "fileSystemType filesystemType findingGroup freeOverage freeQueryTypes freeTier freeUsageIncluded "
    "fromLocation fromLocationType fromRegionCode frontEnd gets gpu gpuMemory granularity graphqloperation "
    "groupDescription health includedServices indexingsource inputMode insightstype instance instanceFamily "
    "instanceName instanceSku instanceTypeFamily intelAvx2Available intelAvxAvailable intelTurboAvailable "
    "invocation io isshadow lambdaatedgeprice launchSupport license licenseModel locationType logsDestination "
    "marketoption maxIopsBurstPerformance maxIopsvolume maxThroughputvolume maxVolumeSize maximumExtendedStorage "
    "maximumStorageVolume memory memoryGib memorytype messageDeliveryFrequency messageDeliveryOrder meterMode "
    "minVolumeSize minimumStorageVolume networkPerformance normalizationSizeFactor operatingSystem operation "
    "operationsSupport opsItems order origin overageType overhead parameterType physicalCores physicalCpu "
    "physicalGpu physicalProcessor planType platopricingtype platousagetype platovolumetype portSpeed "
    "preInstalledSw pricingUnit pricingplan proactiveGuidance processorArchitecture processorFeatures productType "
    "programmaticCaseManagement protocol provider provisioned ptm qpu queueType ratetype recipient region "
    "requestDescription requestType resource resourceAssessment resourceEndpoint resourcePriceGroup resourceType "
    "rootvolume routingTarget routingType runningMode scanType servicename sizeFlex softwareIncluded softwareType "
    "standardGroup standardStorage standardStorageRetentionIncluded steps storage storageClass storageFamily "
    "storageMedia storageTier storageType subcategory subscriptionType subservice supportModes technicalSupport "
    "tenancy thirdpartySoftwareSupport tickettype tiertype timeWindow toLocation toLocationType toRegionCode "
    "trafficDirection training transactionType transferType type typeDescription updates usageFamily usageGroup "
    "usageVolume usagetype uservolume vcpu version virtualInterfaceType volumeApiName volumeType "
    "vpcnetworkingsupport whoCanOpenCases withActiveUsers"
)

_LATER_ATTRIBUTES = _words(
    "abdInstanceClass accessType elasticGraphicsType videoCodec videoFrameRate videoMemoryGib videoQualityLevel "
    "videoResolution"
)

# CUR 2.0: a fixed list of columns, four of them maps.
CUR2_MAPS: tuple[str, ...] = ("cost_category", "discount", "product", "resource_tags")
CUR2_COLUMNS: tuple[str, ...] = tuple(
    sorted(
        [
            *CUR2_MAPS,
            *(
                f"{category}_{name}"
                for category, names in {
                    "bill": "bill_type billing_entity billing_period_end_date billing_period_start_date invoice_id "
                    "invoicing_entity payer_account_id payer_account_name",
                    "discount": "bundled_discount total_discount",
                    "identity": "line_item_id time_interval",
                    "line_item": "availability_zone blended_cost blended_rate currency_code legal_entity "
                    "line_item_description line_item_type net_unblended_cost net_unblended_rate normalization_factor "
                    "normalized_usage_amount operation product_code resource_id tax_type unblended_cost "
                    "unblended_rate usage_account_id usage_account_name usage_amount usage_end_date usage_start_date "
                    "usage_type",
                    "pricing": "currency lease_contract_length offering_class public_on_demand_cost "
                    "public_on_demand_rate purchase_option rate_code rate_id term unit",
                    "product": "comment fee_code fee_description from_location from_location_type from_region_code "
                    "instance_family instance_type instancesku location location_type operation pricing_unit "
                    "product_family region_code servicecode sku to_location to_location_type to_region_code usagetype",
                    "reservation": "amortized_upfront_cost_for_usage amortized_upfront_fee_for_billing_period "
                    "availability_zone effective_cost end_time modification_status "
                    "net_amortized_upfront_cost_for_usage net_amortized_upfront_fee_for_billing_period "
                    "net_effective_cost net_recurring_fee_for_usage "
                    "net_unused_amortized_upfront_fee_for_billing_period net_unused_recurring_fee net_upfront_value "
                    "normalized_units_per_reservation number_of_reservations recurring_fee_for_usage reservation_a_r_n "
                    "start_time subscription_id total_reserved_normalized_units total_reserved_units "
                    "units_per_reservation unused_amortized_upfront_fee_for_billing_period "
                    "unused_normalized_unit_quantity unused_quantity unused_recurring_fee upfront_value",
                    "savings_plan": "amortized_upfront_commitment_for_billing_period end_time instance_type_family "
                    "net_amortized_upfront_commitment_for_billing_period net_recurring_commitment_for_billing_period "
                    "net_savings_plan_effective_cost offering_type payment_option purchase_term "
                    "recurring_commitment_for_billing_period region savings_plan_a_r_n savings_plan_effective_cost "
                    "savings_plan_rate start_time total_commitment_to_date used_commitment",
                    "split_line_item": "actual_usage net_split_cost net_unused_cost parent_resource_id "
                    "public_on_demand_split_cost public_on_demand_unused_cost reserved_usage split_cost split_usage "
                    "split_usage_ratio unused_cost",
                }.items()
                for name in names.split()
            ),
        ]
    )
)

# What a query on a CUR may ask for: CUR 2.0's columns but its maps, and every attribute of a product as a column.
CUR_COLUMNS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(name for name in CUR2_COLUMNS if name not in CUR2_MAPS),
            *(
                normalize_column_name(f"product/{name}", "athena")
                for name in (*PRODUCT_ATTRIBUTES, *_LATER_ATTRIBUTES, "ProductName", "group", "region")
            ),
        )
    )
)

# Columns that AWS has renamed: where a report has one of the two only, it stands for both.
RENAMED: dict[str, str] = {"product_region": "product_region_code", "product_region_code": "product_region"}

# The names are the specification's for legacy CUR, CUR 2.0's own, and FOCUS's in the same form. What is in none of the
# three lists is text: rates too, which real manifests declare as String.
KNOWN_DECIMALS = frozenset(
    f"{prefix}_{name}"
    for prefix, names in {
        "line_item": "blended_cost net_unblended_cost normalization_factor normalized_usage_amount unblended_cost "
        "usage_amount",
        "pricing": "public_on_demand_cost",
        "reservation": "amortized_upfront_cost_for_usage amortized_upfront_fee_for_billing_period effective_cost "
        "net_amortized_upfront_cost_for_usage net_amortized_upfront_fee_for_billing_period net_effective_cost "
        "net_recurring_fee_for_usage net_unused_amortized_upfront_fee_for_billing_period net_unused_recurring_fee "
        "net_upfront_value recurring_fee_for_usage unused_amortized_upfront_fee_for_billing_period "
        "unused_normalized_unit_quantity unused_quantity unused_recurring_fee upfront_value",
        "savings_plan": "amortized_upfront_commitment_for_billing_period "
        "net_amortized_upfront_commitment_for_billing_period net_recurring_commitment_for_billing_period "
        "net_savings_plan_effective_cost recurring_commitment_for_billing_period savings_plan_effective_cost "
        "savings_plan_rate total_commitment_to_date used_commitment",
        "split_line_item": "actual_usage net_split_cost net_unused_cost public_on_demand_split_cost "
        "public_on_demand_unused_cost reserved_usage split_cost split_usage split_usage_ratio unused_cost",
        "discount": "bundled_discount total_discount",
    }.items()
    for name in names.split()
) | {
    "billed_cost",
    "commitment_discount_quantity",
    "consumed_quantity",
    "contracted_cost",
    "contracted_unit_price",
    "effective_cost",
    "list_cost",
    "list_unit_price",
    "pricing_currency_contracted_unit_price",
    "pricing_currency_effective_cost",
    "pricing_currency_list_unit_price",
    "pricing_quantity",
}
KNOWN_DATETIMES = frozenset(
    {
        "bill_billing_period_end_date",
        "bill_billing_period_start_date",
        "billing_period_end",
        "billing_period_start",
        "charge_period_end",
        "charge_period_start",
        "line_item_usage_end_date",
        "line_item_usage_start_date",
    }
)
KNOWN_MAPS = frozenset(
    {
        "cost_category",
        "discount",
        "product",
        "resource_tags",
        "sku_price_details",
        "tags",
        "x_cost_categories",
        "x_discounts",
    }
)

# CUR 2.0 has amounts in it.
KNOWN_NUMBER_MAPS = frozenset({"discount"})
