package dynamostore

// ShardOf lets tests put deliveries into one partition.
var ShardOf = shardOf
