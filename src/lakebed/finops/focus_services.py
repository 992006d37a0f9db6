"""FOCUS's categories of AWS's services, by product code: one category and subcategory for each."""

OTHER = ("Other", "Other (Other)")

# A row for each category of FOCUS 1.2 that AWS sells something of; product codes as `lineItem/ProductCode` has them.
_BY_CATEGORY: dict[tuple[str, str], str] = {
    ("AI and Machine Learning", "Generative AI"): "AmazonBedrock AmazonBedrockService AmazonQ",
    ("AI and Machine Learning", "AI Platforms"): "AmazonSageMaker AmazonPersonalize AmazonForecast",
    ("AI and Machine Learning", "Bots"): "AmazonLex",
    ("AI and Machine Learning", "Natural Language Processing"): "comprehend translate AmazonPolly transcribe "
    "AmazonTextract AmazonKendra",
    ("AI and Machine Learning", "Other (AI and Machine Learning)"): "AmazonRekognition",
    ("Analytics", "Analytics Platforms"): "AmazonAthena AWSLakeFormation AmazonDataZone AWSCleanRooms",
    ("Analytics", "Business Intelligence"): "AmazonQuickSight",
    ("Analytics", "Data Processing"): "AWSGlue ElasticMapReduce AmazonKinesisAnalytics AWSDataExchange",
    ("Analytics", "Search"): "AmazonES AmazonCloudSearch",
    ("Analytics", "Streaming Analytics"): "AmazonKinesis AmazonKinesisFirehose AmazonMSK",
    ("Business Applications", "Communication"): "AmazonSES AmazonPinpoint AmazonConnect AmazonChimeBusiness",
    ("Business Applications", "Other (Business Applications)"): "AmazonWorkMail AmazonWorkDocs",
    ("Compute", "Virtual Machines"): "AmazonEC2 AmazonLightsail ComputeSavingsPlans AWSOutposts AWSVMWare",
    ("Compute", "Containers"): "AmazonECS AmazonEKS AmazonECR AmazonECRPublic AWSAppRunner",
    ("Compute", "Serverless Compute"): "AWSLambda AWSBatch AWSAppSync AmazonStates",
    ("Databases", "Relational Databases"): "AmazonRDS AmazonAurora AmazonAuroraDSQL",
    ("Databases", "NoSQL Databases"): "AmazonDynamoDB AmazonDocDB AmazonMCS AmazonNeptune AmazonTimestream",
    ("Databases", "Caching"): "AmazonElastiCache AmazonMemoryDB AmazonDAX",
    ("Databases", "Data Warehouses"): "AmazonRedshift",
    ("Developer Tools", "Continuous Integration and Deployment"): "CodeBuild AWSCodePipeline AWSCodeDeploy "
    "AWSCodeArtifact AWSCodeCommit AWSXRay",
    ("End User Computing", "Virtual Desktops"): "AmazonWorkSpaces AmazonAppStream AmazonWorkSpacesWeb",
    ("Identity", "Identity and Access Management"): "AmazonCognito AWSDirectoryService AWSIAM AWSIAMAccessAnalyzer",
    ("Integration", "Messaging"): "AWSQueueService AmazonSNS AWSEvents AmazonMQ",
    ("Integration", "API Management"): "AmazonApiGateway",
    ("Internet of Things", "IoT Platforms"): "AWSIoT AWSIoTGreengrass AWSIoTDeviceManagement AWSIoTAnalytics",
    ("Management and Governance", "Cost Management"): "AWSCostExplorer AWSBillingConductor AWSBudgets",
    ("Management and Governance", "Compliance"): "AWSConfig AWSCloudTrail awskms AWSSecretsManager",
    ("Management and Governance", "Other (Management and Governance)"): "AWSSystemsManager AWSServiceCatalog "
    "AWSCloudFormation",
    ("Management and Governance", "Observability"): "AmazonCloudWatch AmazonPrometheus AmazonGrafana",
    ("Management and Governance", "Support"): "AWSSupportBusiness AWSSupportEnterprise AWSSupportDeveloper "
    "AWSDeveloperSupport AWSPremiumSupport OCBPremiumSupport",
    ("Media", "Media Streaming"): "AWSElementalMediaConvert AWSElementalMediaLive AWSElementalMediaPackage AmazonIVS",
    ("Migration", "Data Migration"): "AWSDatabaseMigrationSvc AWSDataSync AWSTransfer AWSMigrationHub",
    ("Networking", "Content Delivery"): "AmazonCloudFront AWSGlobalAccelerator",
    ("Networking", "Network Connectivity"): "AmazonVPC AWSDirectConnect AWSDataTransfer AWSVpn",
    ("Networking", "Network Infrastructure"): "AmazonRoute53 AWSELB AWSNetworkFirewall AWSCloudMap",
    ("Security", "Threat Detection and Response"): "AmazonGuardDuty AmazonInspector AmazonInspectorV2 AmazonDetective "
    "AWSSecurityHub AmazonMacie awswaf AWSShield AWSFMS",
    ("Storage", "Object Storage"): "AmazonS3 AmazonGlacier AmazonS3GlacierDeepArchive",
    ("Storage", "File Storage"): "AmazonEFS AmazonFSx",
    ("Storage", "Backup Storage"): "AWSBackup AWSStorageGateway",
}
SERVICES: dict[str, tuple[str, str]] = {
    code: category for category, codes in _BY_CATEGORY.items() for code in codes.split()
}
