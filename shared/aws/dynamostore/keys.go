package dynamostore

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"postino/shared/push"
)

// Partition keys say what an item is by their first letter. docs/dynamodb.md has
// the same table.
//
//	T#<topic>                  T                      a topic with its version and counts
//	S#<topic>                  <uuid>                 a subscription or its tombstone
//	E#<topic>#<endpoint hash>  E                      whose live subscription an endpoint is
//	K#<token hash>             K                      which subscription a token is for
//	D#<message>#<shard>        <subscription>#<gen>   a delivery's retry state
//	R#<subscription>           R                      the next free throttle slot
//	P#<name>                   P                      a large job that waits for its schedule
//	A#<key id>                 A                      an access key, its secret sealed

// Attribute names used in more than one place.
const (
	listPK  = "listPK" // index "listing"
	listSK  = "listSK"
	statePK = "statePK" // index "states"
	stateSK = "stateSK"
)

// What the indexes' partitions are called besides the deliveries' ones.
const (
	topicList    = "topics"        // listing, by ARN
	subList      = "subscriptions" // listing, live ones by ARN
	keyList      = "keys"          // listing, access keys by id
	lapsingState = "lapsing"       // states, by the time a tombstone or an unconfirmed subscription may go
)

func topicKey(arn string) (pk, sk string) { return "T#" + arn, "T" }

func subscriptionKey(arn string) (pk, sk string) {
	topic := push.TopicOf(arn)
	return "S#" + topic, strings.TrimPrefix(arn[len(topic):], ":")
}

// endpointKey is the item of which a live subscription holds the only one.
func endpointKey(s push.Subscription) (pk, sk string) {
	return "E#" + s.TopicARN + "#" + hashed(string(s.Protocol)+"|"+s.Endpoint), "E"
}

func tokenKey(token string) (pk, sk string) { return "K#" + hashed(token), "K" }

func slotKey(subscriptionARN string) (pk, sk string) { return "R#" + subscriptionARN, "R" }

func accessKey(id string) (pk, sk string) { return "A#" + id, "A" }

func payloadKey(name string) (pk, sk string) { return "P#" + name, "P" }

// shards is over how many partition keys the deliveries of one message, and each
// list of deliveries in an index, are spread. A partition takes about 1,000
// writes a second (DynamoDB developer guide, partition key design); a listing
// reads all shards side by side.
const shards = 8

func shardOf(parts ...string) string {
	h := fnv.New32a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return strconv.Itoa(int(h.Sum32() % shards))
}

// deliveryKey spreads a message's deliveries by subscription, so that all of a
// message, or of a message and a subscription, are found without an index.
func deliveryKey(k push.DeliveryKey) (pk, sk string) {
	return messagePK(k.MessageID, shardOf(k.Subscription)), k.Subscription + "#" + k.Generation
}

func messagePK(messageID, shard string) string { return "D#" + messageID + "#" + shard }

// parseDeliveryKey is deliveryKey's inverse.
func parseDeliveryKey(pk, sk string) (push.DeliveryKey, bool) {
	message, ok := strings.CutPrefix(pk, "D#")
	end, gen := strings.LastIndexByte(message, '#'), strings.LastIndexByte(sk, '#')
	if !ok || end < 0 || gen < 0 {
		return push.DeliveryKey{}, false
	}
	return push.DeliveryKey{Subscription: sk[:gen], MessageID: message[:end], Generation: sk[gen+1:]}, true
}

// The lists of deliveries: those of a subscription, and those of all by class.
func subscriptionDeliveries(subscriptionARN, shard string) string {
	return subscriptionARN + "#" + shard
}
func classDeliveries(class, shard string) string { return class + "#" + shard }

// classes are what lists tell apart; a claim does not move a record between them.
var classes = []string{"live", string(push.Delivered), string(push.Dead), string(push.Dropped)}

func classOf(s push.State) string {
	if s.Ended() {
		return string(s)
	}
	return "live"
}

// setLists puts a delivery into both lists: newest first, and the rest of the key
// settles the order within one instant.
func (i item) setLists(k push.DeliveryKey, state push.State, at time.Time) {
	shard, order := shardOf(k.MessageID, k.Subscription, k.Generation), text(listOrder(k, at))
	i[listPK], i[listSK] = text(subscriptionDeliveries(k.Subscription, shard)), order
	i[statePK], i[stateSK] = text(classDeliveries(classOf(state), shard)), order
}

// listedAt is the instant by which lists place a delivery: its end, and before
// that its first failure. A live one that moved with every attempt would cost four
// writes of the indexes each time, more than the attempt's own record.
func listedAt(d push.Delivery) time.Time {
	if d.State.Ended() || d.CreatedAt.IsZero() {
		return d.UpdatedAt
	}
	return d.CreatedAt
}

func listOrder(k push.DeliveryKey, at time.Time) string {
	return strings.Join([]string{instant(at), k.MessageID, push.Subscription{ARN: k.Subscription}.ID(), k.Generation}, "#")
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
