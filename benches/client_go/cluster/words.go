package main

// Words of names.
var (
	environments = []string{"prod", "prod", "prod", "staging", "dev", "qa", "platform"}
	words        = []string{
		"checkout", "catalog", "pricing", "search", "ledger", "billing", "identity", "profile", "shipping", "stock",
		"returns", "voucher", "media", "video", "thumbs", "mailer", "notify", "events", "audit", "fraud", "risk", "quotes",
		"orders", "basket", "review", "rating", "support", "chat", "routing", "maps", "geo", "weather", "reports", "export",
		"import", "sync", "scheduler", "tokens", "session", "gateway", "edge", "cache", "feature", "consent",
	}
	parts     = []string{"api", "worker", "web", "consumer", "cron", "grpc", "proxy", "store", "admin", "stream", "batch"}
	teams     = []string{"payments", "growth", "core", "data", "logistics", "trust", "mobile", "search", "platform", "insights"}
	languages = []string{"java", "go", "python", "node", "ruby", "rust", "dotnet"}
	tiers     = []string{"frontend", "backend", "middleware", "data", "batch"}
	hosts     = []string{"registry.example.com", "eu.images.example.net", "012345678901.dkr.ecr.eu-west-1.example.com"}
	variables = []string{
		"LOG_LEVEL", "HTTP_PORT", "DB_HOST", "DB_NAME", "DB_POOL_SIZE", "REDIS_URL", "KAFKA_BROKERS", "KAFKA_TOPIC",
		"FEATURE_FLAGS", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_RESOURCE_ATTRIBUTES", "REQUEST_TIMEOUT_MS", "RETRY_LIMIT",
		"CACHE_TTL", "UPSTREAM_URL", "AUTH_ISSUER", "AUTH_AUDIENCE", "BUCKET", "REGION", "JAVA_TOOL_OPTIONS", "GOMEMLIMIT",
		"NODE_OPTIONS", "MAX_CONNECTIONS", "WORKERS", "QUEUE_URL", "SENTRY_RELEASE", "TZ", "LANG", "RATE_LIMIT", "SHARD_COUNT",
	}
	secrets = []string{"DB_PASSWORD", "API_KEY", "SENTRY_DSN", "REDIS_PASSWORD", "SIGNING_KEY", "STRIPE_TOKEN"}
	fields  = [][2]string{
		{"POD_NAME", "metadata.name"}, {"POD_NAMESPACE", "metadata.namespace"}, {"POD_IP", "status.podIP"},
		{"NODE_NAME", "spec.nodeName"}, {"HOST_IP", "status.hostIP"},
	}
	processors = []string{"10m", "50m", "100m", "200m", "250m", "500m", "1", "2", "4"}
	memories   = []string{"64Mi", "128Mi", "256Mi", "512Mi", "768Mi", "1Gi", "2Gi", "4Gi"}
)
